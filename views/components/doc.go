// Package components holds the pieces of which Ash's pages are made, and the
// fragments the event stream sends: a message, a tool call, the composer, the
// list of conversations, a notice. A page and the stream render the same
// component, so what streams in looks the same after a reload.
//
// Components take plain structs shaped like the screen. Times are shown in the
// zone they carry and compared with the Now that comes with them; HTML is
// written as it stands only where a field says that it is already safe.
package components
