package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"ash/agent"
)

// shape tells how often a section may stand in the file.
type shape uint8

const (
	plain  shape = iota // [server]
	named               // [providers.NAME]
	listed              // [[catalog]], told apart by ref
)

// schema is the declaration of Config in a form that can be walked.
type schema struct {
	sections []*section
}

// section is a field of Config.
type section struct {
	name   string
	doc    string
	shape  shape
	index  int // of the field in Config
	fields []*field
}

// field is a key of a section.
type field struct {
	Key
	leaf     string // the name within its section
	index    int    // of the field in the section's struct
	form     string
	min, max string
}

// newSchema reads the tags of Config. It panics when a tag is wrong, which the
// package's tests exclude.
func newSchema() *schema {
	s := new(schema)
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		sec := &section{name: f.Tag.Get("key"), doc: f.Tag.Get("doc"), index: i}
		row := f.Type
		switch f.Type.Kind() {
		case reflect.Map:
			sec.shape, row = named, f.Type.Elem()
		case reflect.Slice:
			sec.shape, row = listed, f.Type.Elem()
		}
		for j := range row.NumField() {
			sec.fields = append(sec.fields, newField(sec, row.Field(j), j))
		}
		s.sections = append(s.sections, sec)
	}
	return s
}

func newField(sec *section, f reflect.StructField, index int) *field {
	tag := f.Tag
	leaf := tag.Get("key")
	out := &field{
		leaf: leaf, index: index,
		form: tag.Get("form"), min: tag.Get("min"), max: tag.Get("max"),
		Key: Key{
			Type:    typeOf(f.Type),
			Default: tag.Get("default"),
			Unset:   tag.Get("unset"),
			Sample:  tag.Get("sample"),
			Choices: strings.Fields(tag.Get("one_of")),
			Doc:     tag.Get("doc"),
			Restart: tag.Get("restart") == "yes",
		},
	}
	switch sec.shape {
	case plain:
		out.Name = sec.name + "." + leaf
		out.Env = envName(sec.name, leaf)
	case named:
		out.Name = sec.name + ".NAME." + leaf
		out.Env = envName(sec.name, "name", leaf)
	case listed:
		out.Name = sec.name + ".REF." + leaf
	}
	out.Allowed = out.allowed()
	return out
}

func typeOf(t reflect.Type) Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[agent.ModelRef]():
		return TypeText
	case reflect.TypeFor[int]():
		return TypeInteger
	case reflect.TypeFor[float64]():
		return TypeNumber
	case reflect.TypeFor[bool]():
		return TypeBoolean
	case reflect.TypeFor[time.Duration]():
		return TypeDuration
	case reflect.TypeFor[agent.MicroDollars]():
		return TypeDollars
	case reflect.TypeFor[[]string](), reflect.TypeFor[[]agent.ModelRef]():
		return TypeList
	}
	panic(fmt.Sprintf("config: no type of setting for %v", t))
}

// envName returns the environment variable of a key. Parts hold no underscore
// where that could be read two ways: names of providers have only dashes.
func envName(parts ...string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(strings.Join(parts, "_"), "-", "_"))
}

const envPrefix = "ASH_"

func (s *schema) section(name string) *section {
	for _, sec := range s.sections {
		if sec.name == name {
			return sec
		}
	}
	return nil
}

func (s *section) field(leaf string) *field {
	for _, f := range s.fields {
		if f.leaf == leaf {
			return f
		}
	}
	return nil
}

// checkName says why name cannot be a provider or a catalog entry.
func (s *section) checkName(name string) error {
	switch s.shape {
	case named:
		return checkProviderName(name)
	case listed:
		_, err := parseRef(name)
		return err
	}
	return nil
}

const maxProviderName = 32 // bytes; it stands before every model's name

func checkProviderName(name string) error {
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-')
	}
	if name == "" || len(name) > maxProviderName || strings.IndexFunc(name, bad) >= 0 || name[0] == '-' {
		return fmt.Errorf("a provider's name is 1 to %d of a-z, 0-9 and -, and does not begin with -", maxProviderName)
	}
	return nil
}

// defaultProvider returns the settings of a provider that nothing mentions.
func (s *schema) defaultProvider() Provider {
	var p Provider
	s.section("providers").fillDefaults(reflect.ValueOf(&p).Elem(), "")
	return p
}

// fillDefaults sets the fields of row, a struct of the section, that have a
// default. It panics on a default that its own declaration does not allow.
func (s *section) fillDefaults(row reflect.Value, home string) {
	for _, f := range s.fields {
		if f.Default == "" {
			continue
		}
		if err := f.assign(row.Field(f.index), f.split(f.Default), home); err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", f.Name, err))
		}
	}
}
