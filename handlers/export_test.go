package handlers

// Cell is what makes a text safe in a spreadsheet.
var Cell = cell
