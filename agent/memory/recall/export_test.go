package recall

import (
	"reflect"
	"unsafe"
)

// Set changes one weight of an engine, by name.
func Set(e *Engine, name string, value float64) {
	f := reflect.ValueOf(&e.weights).Elem().FieldByName(name)
	*(*float64)(unsafe.Pointer(f.UnsafeAddr())) = value
}

// Names are the weights.
func Names() map[string]float64 {
	w := standard()
	v := reflect.ValueOf(w)
	all := map[string]float64{}
	for i := range v.NumField() {
		all[v.Type().Field(i).Name] = v.Field(i).Float()
	}
	return all
}
