package migrations

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestAll(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	for i, m := range all {
		if m.Version != i+1 || m.Name == "" || len(m.Checksum) != 64 || m.Up == "" || m.Down == "" {
			t.Errorf("migration %d is %+v", i, m.Name)
		}
	}
}

func TestRead(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	cases := map[string]struct {
		files fstest.MapFS
		want  string // in the error; "" for none
	}{
		"in order":        {fstest.MapFS{"0002_b.up.sql": file("B"), "0002_b.down.sql": file("b"), "0001_a.up.sql": file("A"), "0001_a.down.sql": file("a")}, ""},
		"none":            {fstest.MapFS{}, ""},
		"a gap":           {fstest.MapFS{"0002_b.up.sql": file("B"), "0002_b.down.sql": file("b")}, "0001 is missing"},
		"no way back":     {fstest.MapFS{"0001_a.up.sql": file("A")}, "both an up and a down"},
		"no way forward":  {fstest.MapFS{"0001_a.down.sql": file("a")}, "both an up and a down"},
		"two names":       {fstest.MapFS{"0001_a.up.sql": file("A"), "0001_b.down.sql": file("b")}, "two names"},
		"an unknown name": {fstest.MapFS{"1_a.up.sql": file("A")}, "is not named"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := Read(c.files)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range all {
				if m.Version != i+1 || m.Up != strings.ToUpper(m.Name) || m.Down != m.Name {
					t.Errorf("migration %d is %+v", i, m)
				}
			}
		})
	}
}
