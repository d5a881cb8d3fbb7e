package web

// doorRoutes are where people come in, and where who is in says who else may.
func doorRoutes(r Routes) []route {
	if r.SignIn == nil {
		return nil
	}
	return []route{
		{get, signIn, door, r.SignIn.Show},
		{post, signIn, door, r.SignIn.SignIn},
		{get, "/pair", door, r.SignIn.PairForm},
		{get, "/pair/:link", door, r.SignIn.PairForm},
		{post, "/pair", door, r.SignIn.Pair},
		{get, "/pair/wait", door, r.SignIn.Wait},
		{post, "/pair/wait", door, r.SignIn.Collect},
		{get, "/trust", open, r.Trust.Show},
		{get, "/trust/ash.crt", open, r.Trust.Certificate},
		{post, "/sign-out", page, r.SignIn.SignOut},

		{get, "/settings/doors", page, r.Doors.Show},
		{post, "/settings/doors/passphrase", page, r.Doors.Passphrase},
		{post, "/settings/doors/open", page, r.Doors.Open},
		{post, "/settings/doors/close", page, r.Doors.Close},
		{post, "/settings/doors/pair", page, r.Doors.Pair},
		{get, "/settings/doors/claims", page, r.Doors.Claims},
		{post, "/settings/doors/claims/:claim", page, r.Doors.Confirm},
		{post, "/settings/doors/devices/:device/sign-out", page, r.Doors.SignOut},
		{post, "/settings/doors/sign-out-all", page, r.Doors.SignOutAll},
		{post, "/settings/doors/https", slow, r.Doors.HTTPS}, // it may make the vault
		{post, "/settings/doors/certificate", page, r.Doors.Certificate},
		{post, "/settings/doors/here", page, r.Doors.Here},
		{post, "/settings/doors/names", page, r.Doors.Names},
		{post, "/settings/doors/tailscale", page, r.Doors.Tailscale},
	}
}
