package store

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// insertRow stores a row struct as bun's insert would, by a fixed statement. The columns are those
// bun reads from its tags, so that what is written and what is read back cannot drift apart.
func insertRow(ctx context.Context, tx bun.IDB, row any) error {
	table, value := tableOf(tx, row)
	var names, places strings.Builder
	args := make([]any, 0, len(table.Fields))
	for _, f := range table.Fields {
		if f.AutoIncrement {
			continue // SQLite numbers it
		}
		if len(args) > 0 {
			names.WriteString(", ")
			places.WriteString(", ")
		}
		names.WriteString(string(f.SQLName))
		places.WriteByte('?')
		args = append(args, argument(f, value))
	}
	text := "INSERT INTO " + string(table.SQLName) + " (" + names.String() + ") VALUES (" + places.String() + ")"
	_, err := fixed(tx, text, args...).Exec(ctx)
	return err
}

// insertRows stores rows of one table, all in one statement. A statement that reaches a full-text index through a trigger writes a piece of that
// index, so that many rows stored one by one cost several times as much, and so does every search after them.
func insertRows[T any](ctx context.Context, tx bun.IDB, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	var names, places []string
	values := make([][]any, len(rows))
	for i := range rows {
		table, value := tableOf(tx, &rows[i])
		for _, f := range table.Fields {
			if f.AutoIncrement {
				continue // SQLite numbers it
			}
			if i == 0 {
				places = append(places, "value ->> "+strconv.Itoa(len(names)))
				names = append(names, string(f.SQLName))
			}
			values[i] = append(values[i], argument(f, value))
		}
	}
	list, err := toJSON(values)
	if err != nil {
		return err
	}
	table, _ := tableOf(tx, &rows[0])
	text := "INSERT INTO " + string(table.SQLName) + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(places, ", ") +
		" FROM json_each(?1) ORDER BY key"
	_, err = fixed(tx, text, list).Exec(ctx)
	return err
}

// updateRow stores the named columns of the row whose id is that of row.
func updateRow(ctx context.Context, tx bun.IDB, row any, columns ...string) error {
	table, value := tableOf(tx, row)
	var text strings.Builder
	text.WriteString("UPDATE " + string(table.SQLName) + " SET ")
	args := make([]any, 0, len(columns)+1)
	for i, name := range columns {
		f, err := table.Field(name)
		if err != nil {
			return err
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(string(f.SQLName) + " = ?")
		args = append(args, argument(f, value))
	}
	id, err := table.Field("id")
	if err != nil {
		return err
	}
	text.WriteString(" WHERE id = ?")
	_, err = fixed(tx, text.String(), append(args, argument(id, value))...).Exec(ctx)
	return err
}

// tableOf returns what bun knows of a row struct, and the struct that row points to.
func tableOf(tx bun.IDB, row any) (*schema.Table, reflect.Value) {
	value := reflect.ValueOf(row).Elem()
	return tx.NewSelect().DB().Table(value.Type()), value
}

// argument is the value of a field as it is bound; one that is nullzero is NULL when there is none.
func argument(f *schema.Field, row reflect.Value) any {
	if f.NullZero && f.HasZeroValue(row) {
		return nil
	}
	return f.Value(row).Interface()
}
