package store

import (
	"fmt"
	"testing"
	"time"
)

func TestSizesOfMemory(t *testing.T) {
	f := newFixture(t)
	for i := range 300 {
		f.keep(fmt.Sprintf("Jar number %d holds cumin, pepper and salt from the market.", i), "Jar")
	}
	for more := true; more; {
		var err error
		more, err = f.CatchUp(f.ctx, 1000)
		f.ok(err)
	}
	today := now()
	one, err := f.MeasureMemory(f.ctx, today.AddDate(0, 0, -2))
	f.ok(err)
	if one.Words < 20_000 || one.Words >= one.Store || one.Noted != 0 || one.Notes != 0 || one.Vectors != 0 {
		t.Errorf("measured %+v", one)
	}
	for range 2 { // a day has one
		_, err = f.MeasureMemory(f.ctx, today)
		f.ok(err)
	}
	list, err := f.MemoryRoom(f.ctx, today.AddDate(0, 0, -3))
	f.ok(err)
	if len(list) != 2 || !list[0].Taken.Equal(today.AddDate(0, 0, -2)) || list[1].Store == 0 {
		t.Errorf("kept %+v", list)
	}
	if list, err = f.MemoryRoom(f.ctx, today.Add(-time.Hour)); err != nil || len(list) == 0 || len(list) > 2 {
		t.Errorf("kept since an hour ago %+v, %v", list, err)
	}
}
