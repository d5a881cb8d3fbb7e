// Command coverage prints the statement coverage of each package in a profile
// and fails when one of agent/… or store stays below a percentage.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// block is a run of statements; a profile may list it once per test binary.
type block struct {
	statements int
	covered    bool
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: coverage PROFILE MINIMUM-PERCENT")
		os.Exit(2)
	}
	least, err := strconv.ParseFloat(os.Args[2], 64)
	if err == nil {
		err = report(os.Args[1], least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func report(profile string, least float64) error {
	blocks, err := read(profile)
	if err != nil {
		return err
	}
	all, covered := map[string]int{}, map[string]int{}
	for place, b := range blocks {
		pkg := path.Dir(place[:strings.LastIndexByte(place, ':')])
		all[pkg] += b.statements
		if b.covered {
			covered[pkg] += b.statements
		}
	}
	var low []string
	for _, pkg := range slices.SortedFunc(maps.Keys(all), cmp.Compare) {
		percent := 100 * float64(covered[pkg]) / float64(all[pkg])
		fmt.Printf("%6.1f%%  %s\n", percent, pkg)
		if percent < least {
			low = append(low, pkg)
		}
	}
	if len(low) > 0 {
		return fmt.Errorf("below %.0f%%: %s", least, strings.Join(low, ", "))
	}
	return nil
}

// read merges the lines "file:place statements count" of a profile.
func read(profile string) (map[string]block, error) {
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	blocks := map[string]block{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) != 3 {
			continue // the mode line
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		b := blocks[fields[0]]
		b.statements, b.covered = n, b.covered || fields[2] != "0"
		blocks[fields[0]] = b
	}
	return blocks, nil
}
