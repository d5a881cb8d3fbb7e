// Package pages holds Ash's pages, each a plain struct shaped like the screen
// and the template that shows it.
package pages
