// Package views is Ash's interface: templates that turn plain structs, shaped
// like the screen, into HTML. It knows neither Echo nor the store; handlers fill
// the structs, static holds style and script.
//
//	layouts     the frame: head, navigation, notices, palette, the stream's anchor
//	pages       one struct with a Show method per page, and the fragments pages load
//	components  the pieces, and the fragments of the event stream (Stream…)
//	markdown    Markdown → safe HTML
//
// Text is escaped by the templates. Fields called HTML, Preview or Thinking are
// written as they stand: they must come from package markdown. Times are shown in the zone
// they carry.
//
// A large component that several places show is marked //go:noinline: a template is a closure, and the compiler would give each of
// those places a copy of its whole markup.
//
// # Document contract
//
// Ids are fixed; the event stream and app.js rely on them. <short> is
// components.Short(id), the last 12 characters of an id.
//
//	#stream            empty, outside all that is swapped; hx-sse:connect to Page.Stream
//	#conversation      all that StreamConversation replaces: #earlier, #messages, #queued
//	#messages          articles id="m-<message id>" data-at="<created, unix ms>", in order of data-at
//	#queued            messages that wait for the running turn, same ids
//	#b-<short>         body of an answer: what markdown's patches address, beforeend or outerHTML
//	#k-<short>         its reasoning
//	#x-<short>         its tool calls
//	#g-<short>         one decision about those that wait: components.DecideAll, empty when there are fewer than two
//	#s-<short>         its status: attempts, waiting dots, how it ended badly
//	#a-<short>         actions and receipt
//	#c-<call id>       the card of a tool call
//	#o-<short of call> live output of a running call: text, beforeend
//	#composer-action   the Send/Stop slot
//	#thread-list       rows id="t-<thread id>" data-at="<sort key>", highest first
//	#thread-head       title and menu above the conversation
//	#l-<call id>       what a helper does, inside the card of the call that began it
//	#inbox             entries id="w-<short of call>" data-at="<asked, unix ms>", longest waiting first
//	#record            the card on the page of one call
//	#badge-rail, #badge-tab  approvals and questions waiting anywhere
//	#vault-rail, #vault-tab    whether the vault is open
//	#announce          what a screen reader is to say
//	#notices           toasts
//	#models, #p-<provider>, #r-<provider>, #set-<key>, #preview, #tokens, #diff, #offers
//	                   what forms of Settings, Identity and Setup replace
//	#sw-<tool>, #rule-<short>, #build
//	                   what forms of Tools replace; #build asks for itself while the image is built
//
// An answer streams like this: StreamUpsert with State open; patches for #b- and
// #k-; StreamStatus when a provider is tried; StreamCall per call; StreamClosed at the end
// (or StreamUpsert with the final message, when the reader cannot be trusted to have it all).
// A card that waits has a form for each way to decide, so that Enter in a field presses no other's button. The
// hidden field place (components.Place) says where the card stands, and the answer is made for that place.
//
// Everything is keyed by id, so a fragment that arrives twice shows once, except
// patches of markdown, which the stream must not repeat.
//
// Named events of the stream are DOM events on #stream, data is JSON:
//
//	ash:done  {"thread","title","text"}  an answer is complete, or an approval waits ("asks":true):
//	          title badge and notification while the tab is in the background
//	ash:turn  {"running":bool}           optional: the turn's state, for Esc and ↑
//	ash:bye   {}                         the server is stopping
//	ash:out   {}                         the device was signed out: app.js leaves for /sign-in, as after any answer with 401
//	ash:beat  {}                         a sign of life; any other message is one too
//
// # Requests
//
// Every form works without JavaScript: it posts and gets a redirect (303) or a page. With it the same
// request carries HX-Request: true and gets fragments. Forms with hx-swap="none" want only
// <hx-partial>/<hx-upsert> fragments, or nothing (204) when the stream brings the change.
// The id of a form travels as "form": in hx-vals, and in a noscript input (components.FormID).
// Failures answer with their status and components.ErrorFragment. All POST forms have _csrf; scripted
// uploads send X-CSRF-Token. While the stream is connected, what an answer to a POST says of messages and calls that
// are on the page already, and of the Send/Stop slot, is left out: the stream's order is the truth.
//
//	GET  /chat                                pages.Chat, Screen list; ?archived=1; ?after=<cursor> with HX-Request: components.RowPage
//	GET  /chat/new                            pages.Chat, Screen conversation, zero Head.ID
//	POST /chat                                first message: form, text, attachment…, files…, model → HX-Redirect or 303 to /chat/{thread}
//	GET  /chat/{thread}                       pages.Chat; ?before=<message> with HX-Request: components.EarlierPage; ?at=<message>
//	GET  /chat/{thread}/events?since=         the stream; GET /events?since= on pages without a conversation
//	GET  /chat/{thread}/menu                  components.ThreadMenu with HX-Request, else pages.ThreadMenu
//	POST /chat/{thread}/messages              form, text, attachment ("<hash>/<name>", repeated), files (no script) → StreamUpsert, StreamTurn
//	POST /chat/{thread}/stop
//	POST /chat/{thread}/head                  message: show that variant → StreamConversation
//	POST /chat/{thread}/model                 model
//	POST /chat/{thread}/title | pin | archive | delete | restore   title | pinned=1/0 | archived=1/0 | deleted=1 → StreamThread…, StreamHead, StreamNotice with Undo
//	POST /chat/{thread}/summaries/{summary}   disabled=1/0
//	GET  /chat/{thread}/messages/{message}/text    text/plain: the source, for Copy
//	GET  /chat/{thread}/messages/{message}/edit    pages.EditForm with HX-Request, else pages.EditMessage
//	POST /chat/{thread}/messages/{message}/edit    form, text
//	POST /chat/{thread}/messages/{message}/regenerate | continue
//	POST /chat/{thread}/messages/{message}/unlock   passphrase; 422 components.UnlockForm
//	POST /chat/{thread}/messages/{message}/key      key, passphrase, memory; 422 components.KeyInPlace
//	POST /chat/{thread}/calls/{call}/decide   binding, place, and decision=approve (answer, to a question) | deny (reason) | always (rule)
//	                                          | edit (text.<name>, json.<name> or arguments) → StreamCall, StreamAll; by place StreamLane, the inbox's
//	                                          entry, #record. 409 or 422 with a notice when it does not count; 409 with the card as it is now
//	POST /chat/{thread}/messages/{message}/decide   decision=approve|deny, binding.<call> for each call → the same; 409 when some were left
//	POST /chat/{thread}/calls/{call}/undo     → StreamCall
//	POST /attachments                         file (one), X-CSRF-Token → components.Chip (with Problem and 4xx when refused)
//	GET  /search?q=                           pages.Search; from the list (HX-Target div#thread-list): components.Rows
//	GET  /palette?q=                          components.PaletteResults
//	GET  /vault                               pages.Vault; POST /vault/unlock passphrase, back → 303, or 422 with the form; POST /vault/lock
//	GET  /vault/new?name=                     pages.VaultNew; POST name, value or lines, hosts, users, extra, passphrase (of a vault to be made)
//	GET  /vault/secret?name=                  pages.VaultOne; POST /vault/rotate value or lines, extra | confirm | revert | bind hosts, users | delete,
//	                                          each with name → 303, or 422 with what was wrong. No answer ever holds a value.
//	GET  /memory                              without memory: pages.MemoryLater
//	GET  /memory?tab=&q=&entity=&source=&status=&from=&until=&after=   pages.Memory; tab=core|facts|episodes|patterns|waiting
//	GET  /memory/new                          pages.MemoryNew; POST text, kind, about → 303 to the fact, or 422 with the form
//	GET  /memory/facts/{fact}                 pages.MemoryFact; POST …/correct text, kind, seen (409 with Mine) | expire expires, seen
//	                                          | pin pinned=1/0, back | retire | revive
//	GET  /memory/entities?name=&kind=&after=  pages.MemoryEntities; /memory/entities/{entity}?status=all pages.MemoryEntity
//	POST /memory/proposals/{proposal}         decision=approve|edit|dismiss, text, place=inbox → takes #p-<short> away
//	GET  /memory/forget?fact=|message=|thread=   pages.MemoryForget; POST the same and trace (repeated) → 303 to /memory
//	POST /memory/forgettings/{id}/undo | finish
//	GET  /memory/runs?kind=&after=            pages.MemoryRuns; /memory/runs/{run} pages.MemoryRunPage; POST …/undo
//	GET  /memory/growth?span=3m|3y            pages.MemoryGrowth
//	GET  /memory/notes?folder=&after=&deleted=   pages.Notes; GET /memory/notes/file?path= pages.Note; /memory/notes/link?to= resolves a wiki link
//	POST /memory/notes/new folder, name | file path, base, text (409 pages.Note with Conflict) | rename path, base, to | delete path, base
//	                                          | restore note | vouch path, base | preview text
//	GET  /inbox                               pages.Inbox; GET /inbox/events?since=&shown= is its stream: the house's, with entries
//	GET  /tools?thread=                       pages.Tools
//	POST /tools/{tool}/policy                 verdict=allow|ask|deny|"", thread → pages.ToolSwitch
//	POST /tools/{tool}/try                    <input>.<name> for each argument → HX-Redirect or 303 to the conversation
//	POST /tools/rules/{rule}/revoke           → takes #rule-<short> away
//	POST /tools/folders                       path, do=add|remove|writable|readonly|own|disown → HX-Redirect or 303
//	POST /tools/sandbox/build                 pages.BuildPanel; GET asks how far it is
//	GET  /tools/runs?tool=&state=&text=&thread=&from=&until=&after=   pages.Runs; /tools/runs.csv the same as a table
//	GET  /tools/runs/{call}                   pages.Record
//	POST /stop                                every turn, command and helper ends → StreamNotice
//	GET  /settings/{section}                  see pages.SettingsSections; /settings is models, with the list first on a phone
//	POST /settings/models                     kind, name, base_url, model → Models.Chain
//	POST /settings/models/default             model → Models.Chain
//	POST /settings/models/{name}/move         direction=up|down → Models.Chain;  /remove → Models.Chain
//	POST /settings/models/{name}/test         pages.TestOutcome;  /key  key, passphrase, memory=1 (with key "": forgets) → pages.ProviderCard
//	GET  /settings/general?q=&changed=        pages.General; with HX-Request General.Found
//	POST /settings/general                    key, value (the last one counts) or reset=1, place → pages.SettingRow; 303 to /settings/{place}, or 422 with its page
//	GET  /settings/tokens                     pages.Tokens; POST name, scope (repeated), expires, until → Tokens.Part with the secret; /{token}/revoke → Tokens.Part
//	GET  /settings/data                       pages.Data; POST …/export → the archive; …/snapshots snapshot (repeated)
//	GET  /settings/data/delete                pages.DeleteEverything; POST word → pages.Deleted, and the server ends
//	POST /settings/theme                      theme=system|light|dark → 204 for scripts, else 303
//	GET  /identity/{soul|user|tools}          pages.Identity
//	POST /identity/{slug}                     base, text → 303 with Saved, or 409 pages.Identity with Conflict
//	POST /identity/{slug}/preview             text → pages.PreviewFragment
//	GET  /identity/{slug}/versions/{id}       pages.DiffView with HX-Request, else pages.Identity with Diff
//	POST /identity/{slug}/restore             version
//	GET  /setup                               pages.Setup;  GET /setup/found → Setup.Offers
//	POST /setup/test                          provider, model, base_url, kind, key, passphrase, memory → pages.SetupOutcome;  POST /setup/skip
//	GET  /sign-in?back=                       pages.SignIn; POST passphrase, back → 303, or the page with 401, 429 (Retry-After), 422
//	POST /sign-out                            this device leaves
//	GET  /pair, /pair/{link}                  pages.Pair; POST /pair code | link, name → 303 to /pair/wait, or the page with 401, 429, 422
//	GET  /pair/wait                           pages.PairWait; POST asks: PairWait.State, or the session and the way in
//	GET  /settings/doors?offer=               pages.Doors; POST …/open new | close | passphrase old, new | here ask | names (names) | https on | tailscale on, logins
//	POST /settings/doors/pair                 Pairing.Panel; GET …/claims?offer=&stage=&until= 204 while nothing changed
//	POST /settings/doors/claims/{claim}       answer=yes|no, offer → Pairing.Panel
//	POST /settings/doors/devices/{device}/sign-out | sign-out-all
//	GET  /healthz                             asked by app.js when it doubts the connection
//	GET  /static/…                            static.Handler
package views
