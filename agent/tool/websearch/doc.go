// Package websearch is the tool web_search: a query to Brave Search (with a
// key), to a SearXNG server of the person's choice, or to DuckDuckGo's page without scripts.
//
// The query is text that the model composed and that leaves the machine, so the call is a send (threats.md 6). Results
// are what strangers wrote: each search carries an untrusted label for the search engine and one for every
// host in its results. Keys are asked for at the last step and go to their vendor's host alone.
//
// Sources: Brave Search API reference (api-dashboard.search.brave.com), SearXNG search API
// (docs.searxng.org/dev/search_api.html). DuckDuckGo's page has no reference; when it changes, the tool says so.
package websearch
