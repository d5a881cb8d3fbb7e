package web

// settingsParts are the sections of Settings beside models, identity and appearance.
func settingsParts(r Routes) []route {
	h := r.Settings
	return []route{
		{get, "/settings/memory", page, h.Memory},
		{get, "/settings/tools", page, h.Tools},
		{get, "/settings/about/licences", page, h.Licences},
		{get, "/settings/tokens", page, r.Tokens.Show},
		{post, "/settings/tokens", page, r.Tokens.Create},
		{post, "/settings/tokens/:token/revoke", page, r.Tokens.Revoke},
		{get, "/settings/data", page, r.Data.Show},
		{post, "/settings/data/export", download, r.Data.Export},
		{post, "/settings/data/snapshots", page, r.Data.DeleteSnapshots},
		{get, "/settings/data/delete", page, r.Data.DeleteForm},
		{post, "/settings/data/delete", page, r.Data.Delete},
	}
}
