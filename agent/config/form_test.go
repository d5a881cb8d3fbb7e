package config

import "testing"

func TestForms(t *testing.T) {
	for form, cases := range map[string]map[string]bool{
		formHost: {
			"ash.example.org": true, "box": true, "box_2.local": true, "192.168.1.5": true, "fd00::2": true,
			"": false, "Ash.example.org": false, "http://ash": false, "ash:8080": false, "a..b": false, ".a": false, "a b": false, "a/b": false, "ä": false,
		},
		formLAN: {
			LANOff: true, LANOn: true, "192.168.1.5": true, "192.168.1.5:8080": true, "fd00::2": true, "[fd00::2]:80": true, "0.0.0.0": true, "100.64.0.1": true,
			"": false, "true": false, "ON": false, "box": false, "127.0.0.1": false, "[::1]:80": false, "::ffff:127.0.0.1": false, "224.0.0.1": false, "192.168.1.5:0": false, "192.168.1.5:99999": false,
		},
	} {
		for s, fine := range cases {
			if err := checkForm(form, s); (err == nil) != fine {
				t.Errorf("%s %q: %v", form, s, err)
			}
		}
	}
}
