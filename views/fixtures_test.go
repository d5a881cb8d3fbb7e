package views_test

import (
	"maps"
	"time"

	"github.com/a-h/templ"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

var now = time.Date(2027, 2, 11, 9, 20, 0, 0, time.UTC)

const thread = agent.ID("0195a7b1-0000-7000-8000-00000000aaaa")

func page(title string, s layouts.Section) layouts.Page {
	return layouts.Page{Title: title, Section: s, CSRF: "token", Waiting: 1}
}

func id(n byte) agent.ID {
	return agent.ID("0195a7b1-0000-7000-8000-0000000000" + string("0123456789abcdef"[n>>4]) + string("0123456789abcdef"[n&15]))
}

func rows() components.ThreadList {
	row := func(n byte, title, snippet string, ago time.Duration) components.ThreadRow {
		return components.ThreadRow{ID: id(n), Title: title, Snippet: snippet, Updated: now.Add(-ago)}
	}
	l := components.ThreadList{Now: now, Current: thread, Rows: []components.ThreadRow{
		row(0xf0, "House rules", "Quiet after ten, bins on Tuesday.", 72*time.Hour),
		{ID: thread, Title: "Lisbon in March", Snippet: "It now wants to run a command…", Updated: now, Waiting: 1},
		row(0xf1, "Tax folder clean-up", "Done. 41 files sorted by year.", time.Hour),
		row(0xf2, "Letter to the landlord", "Here is a calmer version of the second paragraph", 24*time.Hour),
		row(0xf3, "Why is the build slow?", "The cache key changes on every commit.", 26*time.Hour),
		row(0xf4, "Reading list", "Added two, removed one.", 5*24*time.Hour),
		row(0xf5, "Sourdough, attempt 4", "Hydration 72 % suits your flour", 20*24*time.Hour),
		row(0xf6, "", "", 70*24*time.Hour),
	}}
	l.Rows[0].Pinned = true
	l.Rows[2].Running = true
	return l
}

const answer = `<p>You said you both sleep badly on busy streets, and that Tomás is allergic to feathers, so I looked at guesthouses on side streets in <strong>Graça</strong> and <strong>Estrela</strong>.</p>
<ul><li><strong>Casa da Estrela</strong>: courtyard rooms, no feathers on request, about €96 a night</li><li><strong>Graça 28</strong>: top floor, tram 28 stops at 23:00, about €84</li></ul>`

const rich = `<h2>Compared</h2><div class="table" tabindex="0"><table><thead><tr><th>Place</th><th>Street</th><th class="right">Night</th><th class="right">Walk to the river</th><th>Feathers</th></tr></thead><tbody><tr><td>Casa da Estrela</td><td>courtyard</td><td class="right">€96</td><td class="right">18 min</td><td>none on request</td></tr><tr><td>Graça 28</td><td>tram until 23:00</td><td class="right">€84</td><td class="right">25 min</td><td>unknown</td></tr></tbody></table></div>
<p>The distance is the great circle, <code>haversine</code>, good to about half a per cent:</p>
<figure class="code"><figcaption><span>go</span><button type="button" class="copy" data-copy="">Copy</button></figcaption><pre tabindex="0"><code>// Distance returns kilometres between two points on the sphere.
func Distance(a, b Point) float64 {
	h := hav(b.Lat-a.Lat) + math.Cos(a.Lat)*math.Cos(b.Lat)*hav(b.Lon-a.Lon) // a line long enough to scroll sideways
	return 2 * 6371 * math.Asin(math.Sqrt(h))
}</code></pre></figure>
<p>with <span class="math" data-math="inline">\operatorname{hav}\theta = \sin^2\frac{\theta}{2}</span>, so that</p><p><span class="math" data-math="block">d = 2r \arcsin\sqrt{\operatorname{hav}(\varphi_2-\varphi_1) + \cos\varphi_1\cos\varphi_2\operatorname{hav}(\lambda_2-\lambda_1)}</span></p>
<ol><li>Ask for the courtyard side.<ul><li>second floor or higher</li><li>not above the kitchen</li></ul></li><li>Book by <a href="https://example.org">the page of the house</a>, it is cheaper.</li></ol>
<ul><li class="task"><input type="checkbox" checked="" disabled=""> dates settled</li><li class="task"><input type="checkbox" disabled=""> room booked</li></ul>
<blockquote><p>Quiet is worth the extra ten minutes.</p></blockquote>`

func user(n byte, text string, at time.Time) components.Message {
	return components.Message{ID: id(n), Thread: thread, Role: agent.RoleUser, State: agent.MessageComplete, Text: text, Created: at, Siblings: 1, Index: 1, CSRF: "token"}
}

func reply(n byte, html string, at time.Time) components.Message {
	return components.Message{
		ID: id(n), Thread: thread, Role: agent.RoleAssistant, State: agent.MessageComplete, HTML: html, Text: "source", Created: at,
		Model: "anthropic/claude-sonnet", Siblings: 1, Index: 1, CSRF: "token",
		Usage: agent.Usage{Input: 1900, Output: 240, CacheRead: 1500, Cost: 11_000, FirstToken: 420 * time.Millisecond, Duration: 3200 * time.Millisecond},
	}
}

func call(n byte, state agent.CallState) components.Call {
	return components.Call{
		ID: id(n), Thread: thread, Name: "shell", Title: "Run a command", State: state, CSRF: "token", Binding: "b1",
		Payload: "mkdir -p travel && cp plan.md travel/lisbon-2027-03.md", Kind: agent.EffectExecute,
	}
}

func conversation() []components.Message {
	at := now.Add(-8 * time.Minute)
	first := user(1, "Find us a quiet place in Lisbon for the second week of March and put the plan into my notes.", at)
	first.Files = []components.File{{Name: "flights.pdf", Size: 48_200, Media: "application/pdf", URL: "/attachments/aa/flights.pdf"}}
	first.Siblings, first.Index, first.Previous = 2, 2, id(0x90)

	one := reply(2, answer, at.Add(time.Second))
	read := call(0x31, agent.CallFinished)
	read.Name, read.Kind, read.Title, read.Target, read.Payload = "web_fetch", agent.EffectFetch, "Read 2 pages", "casadaestrela.example", ""
	read.Arguments, read.From = `{"urls": ["https://casadaestrela.example/rooms"]}`, []string{"casadaestrela.example"}
	read.Duration, read.Output = 1400*time.Millisecond, "Rooms\nCourtyard, second floor…"
	one.Thinking, one.ThinkingFor = "<p>They sleep badly near streets. Side streets, then feathers.</p>", 2300*time.Millisecond
	one.Calls = []components.Call{read}

	two := reply(3, "<p>I would take Casa da Estrela. Here is the note I would save:</p>", at.Add(2*time.Second))
	ask := call(0x32, agent.CallWaiting)
	ask.Why = "This answer read a page that is not yours. Runs in the sandbox, without network."
	ask.Sources = []string{"casadaestrela.example"}
	ask.Offers = []components.Offer{{Rule: "r", Label: "Read the web in this conversation", Thread: true}}
	ask.Fields = []components.Field{{Name: "text.command", Value: ask.Payload}}
	two.Calls = []components.Call{ask}
	return []components.Message{first, one, two}
}

func states() []components.Message {
	at := now.Add(-7 * time.Minute)
	m := reply(5, "<p>Every state a call can be in:</p>", at)
	code := 2
	for i, s := range []agent.CallState{
		agent.CallProposed, agent.CallApproved, agent.CallStarted, agent.CallFinished, agent.CallFailed, agent.CallStopped,
		agent.CallDenied, agent.CallSuperseded, agent.CallCancelled, agent.CallUnknown,
	} {
		c := call(byte(0x40+i), s)
		switch s {
		case agent.CallStarted:
			c.Output = "copying…\n1 of 3 files"
		case agent.CallFailed:
			c.Output, c.Exit, c.Duration = "cp: cannot stat 'plan.md': No such file or directory", &code, 80*time.Millisecond
		case agent.CallFinished:
			c.Duration, c.Target, c.Output = 300*time.Millisecond, "travel/", "1 file copied"
		case agent.CallDenied:
			c.Decided, c.Reason = "You said no at 09:14.", "Not into that folder."
		}
		m.Calls = append(m.Calls, c)
	}
	q := call(0x4e, agent.CallWaiting)
	q.Name, q.Kind, q.Title, q.Question, q.Payload, q.Asked = "ask_person", agent.EffectAsk, "A question for you", true, "", "Which of the two weeks?"
	q.Choices = []string{"8 to 14 March", "15 to 21 March"}
	m.Calls = append(m.Calls, q)
	return []components.Message{user(4, "Show me", at), m}
}

func ended() []components.Message {
	at := now.Add(-25 * time.Hour)
	cut := reply(7, "<p>The second week of March is usually 11 to 18 °C with a few showers; evenings want a</p>", at)
	cut.State, cut.Failure = agent.MessageCut, &agent.Failure{Code: agent.CodeUnavailable, Public: "The connection to Anthropic broke off."}
	stopped := reply(9, "<p>In short: mild, a few</p>", at.Add(time.Minute))
	stopped.State = agent.MessageStopped
	failed := reply(11, "", now.Add(-time.Minute))
	failed.State, failed.Head = agent.MessageFailed, true
	failed.Failure = &agent.Failure{Code: agent.CodeDenied, Public: "Anthropic refused the key. Check it under Settings → Models, then try again."}
	failed.Attempts = []components.Attempt{{Model: "ollama/qwen3", Number: 1, Failed: "does not answer on localhost:11434.", Next: "anthropic/claude-sonnet"}}
	failed.Usage = agent.Usage{}
	failed.Text = ""
	last := user(10, "And how warm will it be?", now.Add(-2*time.Minute))
	last.After = &components.Summary{ID: id(0x70), Thread: thread, HTML: "<p>They plan a week in Lisbon and prefer quiet streets.</p>", CSRF: "token"}
	return []components.Message{user(6, "How warm will it be?", at), cut, user(8, "Shorter, please", at.Add(30*time.Second)), stopped, last, failed}
}

func chat(messages []components.Message) pages.Chat {
	components.MarkDays(messages, now)
	p := page("Lisbon in March", layouts.Chat)
	p.Stream = "/chat/" + string(thread) + "/events?since=b-1"
	return pages.Chat{
		Page: p, Screen: pages.ScreenConversation, List: rows(),
		Head:         components.ThreadHead{ID: thread, Title: "Lisbon in March", Model: "claude-sonnet", Spent: 41_000, CSRF: "token"},
		Conversation: components.Conversation{Thread: thread, Messages: messages, CSRF: "token"},
		Composer:     composer(),
	}
}

func composer() components.Composer {
	return components.Composer{
		Thread: thread, Form: string(id(0x80)), MaxFile: 25_000_000, CSRF: "token",
		Models: []components.ModelChoice{
			{Value: "", Title: "claude-sonnet"}, {Value: "anthropic/claude-opus", Title: "claude-opus", Group: "Anthropic"},
			{Value: "ollama/qwen3", Title: "qwen3", Group: "Ollama", Off: "not running"},
		},
	}
}

func streaming() pages.Chat {
	at := now.Add(-time.Minute)
	open := reply(0x22, "<p>Second week of March is usually 11–18 °C with a few showers; evenings want a jacket</p>", at.Add(time.Second))
	open.State = agent.MessageOpen
	c := chat(append(append([]components.Message{user(0x10, "What did we say?", at.Add(-time.Hour)), reply(0x11, rich, at.Add(-time.Hour))}, user(0x21, "And how warm will it be?", at)), open))
	waits := user(0x23, "Also: umbrellas?", at.Add(2*time.Second))
	waits.State = agent.MessageQueued
	c.Conversation.Queued = []components.Message{waits}
	c.Composer.Running = true
	c.Composer.Chips = []components.File{{Name: "map.png", Size: 320_000, Hash: "aa"}, {Name: "film.mkv", Size: 900_000_000, Problem: "Too large: at most 25 MB"}}
	return c
}

func unfinished() pages.Chat {
	m := user(12, "And how warm will it be?", now)
	m.Head, m.Unfinished = true, true
	return chat([]components.Message{m})
}

func long() pages.Chat {
	c := chat(states())
	c.Conversation.Earlier = c.Conversation.Messages[0].ID
	return c
}

func emptyChat(offline bool) pages.Chat {
	c := chat(nil)
	c.Head, c.Offline, c.Conversation.Thread, c.Composer.Thread = components.ThreadHead{}, offline, "", ""
	c.List.Current = ""
	return c
}

func listScreen() pages.Chat {
	c := emptyChat(false)
	c.Screen = pages.ScreenList
	return c
}

func frame(section string) pages.SettingsFrame {
	return pages.SettingsFrame{Page: page("Settings", layouts.Settings), Section: section}
}

func models() pages.Models {
	return pages.Models{
		SettingsFrame: frame("models"), Default: "anthropic/claude-sonnet",
		Defaults: []components.ModelChoice{{Value: "anthropic/claude-sonnet", Title: "claude-sonnet"}},
		Kinds:    []pages.Choice{{Value: "openai", Title: "OpenAI-compatible"}, {Value: "anthropic", Title: "Anthropic"}, {Value: "ollama", Title: "Ollama"}},
		Providers: []pages.Provider{
			{Name: "anthropic", Title: "Anthropic", Kind: "Anthropic", Model: "claude-sonnet", Key: pages.KeyState{Present: true, Source: "environment variable ANTHROPIC_API_KEY"}, First: true, Origin: "config.toml", Test: &pages.TestResult{OK: true, Text: "Answered “ready”.", Duration: 830 * time.Millisecond, Models: []string{"claude-opus", "claude-sonnet"}}},
			{Name: "home", Title: "home", Kind: "OpenAI-compatible", BaseURL: "http://192.168.1.20:8080/v1", Model: "qwen3-30b-a3b", Local: true, Origin: "config.toml", Test: &pages.TestResult{Text: "Nothing answers at 192.168.1.20:8080. Is the server running?"}},
			{Name: "mistral", Title: "Mistral", Kind: "OpenAI-compatible", Model: "mistral-large", Last: true, Origin: "config.toml", Key: pages.KeyState{Problem: "The file ~/keys/mistral can be read by others (0644). Make it 0600."}},
			{Name: "offline", Title: "Offline", Kind: "Built in", Local: true, Fixed: true},
		},
	}
}

func general() pages.General {
	return pages.General{SettingsFrame: frame("general"), File: "~/.ash/config.toml", Shown: 5, Groups: []pages.SettingGroup{
		{Section: "chat", Title: "Chat", Settings: []pages.Setting{
			{Key: "chat.temperature", Doc: "How freely the model chooses its words, 0 to 2. Empty leaves it to the provider.", Kind: pages.SettingNumber, Value: "3", Default: "", Origin: "config.toml", Problem: "chat.temperature must be a number from 0 to 2."},
			{Key: "chat.max_context_messages", Doc: "At most this many messages of history are sent.", Kind: pages.SettingNumber, Value: "200", Default: "200", Origin: "default"},
			{Key: "chat.titles", Doc: "Let the model name conversations.", Kind: pages.SettingBool, Value: "true", Default: "true", Origin: "default"},
		}},
		{Section: "server", Title: "Server", Settings: []pages.Setting{
			{Key: "server.listen", Doc: "Where the pages are served.", Kind: pages.SettingText, Value: "127.0.0.1:8081", Default: "127.0.0.1:8080", Origin: "ASH_SERVER_LISTEN", Fixed: true, Restart: true},
			{Key: "log.level", Doc: "How much is written to the log.", Kind: pages.SettingChoice, Value: "info", Default: "info", Choices: []string{"debug", "info", "warn", "error"}, Origin: "default"},
		}},
	}}
}

func identityFiles() []pages.IdentityFile {
	return []pages.IdentityFile{
		{Slug: "soul", Name: "SOUL.md", Purpose: "Who Ash is: its character, its tone, what it will not do.", Tokens: 412, Versions: 7, Changed: now.Add(-30 * time.Hour)},
		{Slug: "user", Name: "USER.md", Purpose: "Who you are: what Ash should always know.", Tokens: 96, Versions: 2},
		{Slug: "tools", Name: "TOOLS.md", Purpose: "How Ash uses its tools.", Tokens: 180, Versions: 1},
	}
}

func diff() []components.DiffLine {
	return []components.DiffLine{
		{Op: components.DiffSame, Text: "# Ash", Old: 1, New: 1},
		{Op: components.DiffSame, Text: "", Old: 2, New: 2},
		{Op: components.DiffRemoved, Text: "You are cheerful and chatty.", Old: 3},
		{Op: components.DiffAdded, Text: "You are calm. You say what you know and what you do not.", New: 3},
		{Op: components.DiffGap, Text: "14 lines are the same"},
		{Op: components.DiffAdded, Text: "- Never use exclamation marks.", New: 18},
	}
}

func identity(conflict bool) pages.Identity {
	p := pages.Identity{
		Page: page("SOUL.md", layouts.Settings), Files: identityFiles(), File: identityFiles()[0], Base: "v7", Tokens: 412, Budget: 2000, MaxLength: 100_000,
		Text:    "# Ash\n\nYou are calm. You say what you know and what you do not.\n\n- Plain words\n- Never use exclamation marks.\n",
		Preview: "<h1>Ash</h1><p>You are calm. You say what you know and what you do not.</p><ul><li>Plain words</li><li>Never use exclamation marks.</li></ul>",
		History: []pages.Version{
			{ID: id(0xa3), Created: now.Add(-30 * time.Hour), Source: "saved here", Size: 1650, Current: true, Added: 2, Removed: 1},
			{ID: id(0xa2), Created: now.Add(-80 * time.Hour), Source: "changed in another editor", Size: 1610, Added: 12},
			{ID: id(0xa1), Created: now.Add(-900 * time.Hour), Source: "as delivered", Size: 1200},
		},
	}
	if conflict {
		p.Conflict = &pages.Conflict{Mine: p.Text, Theirs: "# Ash\n", Source: "another editor", At: now, Base: "v8", Lines: diff()}
	} else {
		p.Diff = &pages.Diff{Version: p.History[1], Lines: diff()}
	}
	return p
}

func setup(looking bool) pages.Setup {
	s := pages.Setup{Page: layouts.Page{Title: "Welcome", CSRF: "token"}, Looking: looking, Kinds: models().Kinds}
	if looking {
		return s
	}
	s.Found = []pages.FoundModel{
		{Provider: "ollama", Title: "Ollama", Where: "localhost:11434", Local: true, Models: []string{"qwen3:8b", "gemma3:12b"}},
		{Provider: "anthropic", Title: "Anthropic", Where: "key in ANTHROPIC_API_KEY", Models: []string{"claude-sonnet"}},
		{Provider: "lmstudio", Title: "LM Studio", Where: "localhost:1234", Local: true, Note: "It runs, but no model is loaded. Load one there, then look again."},
	}
	s.Chosen, s.Test = s.Found[0], &pages.TestResult{OK: true, Text: "qwen3:8b answered.", Duration: 1200 * time.Millisecond}
	return s
}

func hits() []components.Hit {
	return []components.Hit{
		{Thread: thread, Title: "Lisbon in March", Created: now.Add(-48 * time.Hour), Snippet: []agent.SnippetPart{{Text: "Lisbon", Match: true}, {Text: " in March"}}},
		{Thread: thread, Message: id(1), Role: agent.RoleUser, Title: "Lisbon in March", Created: now, Snippet: []agent.SnippetPart{{Text: "Find us a quiet place in "}, {Text: "Lisbon", Match: true}, {Text: " for the second week of March and put the plan into my notes."}}},
		{Thread: id(0xf4), Message: id(2), Role: agent.RoleAssistant, Title: "Reading list", Created: now.Add(-400 * time.Hour), Snippet: []agent.SnippetPart{{Text: "…“Night Train to "}, {Text: "Lisbon", Match: true}, {Text: "” by Pascal Mercier…"}}},
	}
}

// fixtures are all pages in the states worth looking at, by name.
func fixtures() map[string]templ.Component {
	failed := pages.Failure{Page: page("Not found", ""), Status: 404, Public: "That conversation does not exist, or no longer does.", Trace: "5f2c9a"}
	failed.Notices = []components.Notice{{Kind: components.NoticeInfo, Text: "“Tax folder clean-up” is deleted.", Undo: &components.Undo{Label: "Undo", Action: "/chat/x/restore", CSRF: "token"}}, {Kind: components.NoticeError, Text: "The disk is full. Free some space, then send it again."}}
	all := memoryFixtures()
	maps.Copy(all, map[string]templ.Component{
		"chat":          chat(conversation()).Show(),
		"chat-states":   chat(states()).Show(),
		"chat-cards":    chat(cards()).Show(),
		"inbox":         inbox(false).Show(),
		"inbox-empty":   inbox(true).Show(),
		"tools":         tools().Show(),
		"tools-thread":  toolsWithout().Show(),
		"runs":          history().Show(),
		"record":        record().Show(),
		"chat-killed":   unfinished().Show(),
		"chat-long":     long().Show(),
		"chat-ended":    chat(ended()).Show(),
		"chat-stream":   streaming().Show(),
		"chat-empty":    emptyChat(false).Show(),
		"chat-offline":  emptyChat(true).Show(),
		"chat-list":     listScreen().Show(),
		"models":        models().Show(),
		"general":       general().Show(),
		"identities":    pages.IdentityLinks{SettingsFrame: frame("identity"), Files: identityFiles()}.Show(),
		"appearance":    pages.Appearance{SettingsFrame: frame("appearance")}.Show(),
		"about":         pages.About{SettingsFrame: frame("about"), Version: "0.1.0", Commit: "ea4cc9b", Go: "go1.26", Home: "~/.ash", Database: 48_000_000, Threads: 212, Messages: 12_480, Started: now, Spent: 1_240_000}.Show(),
		"identity":      identity(false).Show(),
		"identity-race": identity(true).Show(),
		"setup":         setup(false).Show(),
		"setup-looking": setup(true).Show(),
		"search":        pages.Search{Page: page("Search", layouts.Chat), Query: "lisbon", Hits: hits(), Capped: true}.Show(),
		"failure":       failed.Show(),
		"vault":         vaultPage().Show(),
		"vault-none":    pages.Vault{Page: page("Vault", layouts.Vault)}.Show(),
		"vault-locked":  pages.Vault{Page: page("Vault", layouts.Vault), Exists: true, Incoming: 1, Unlock: components.Unlock{Key: "vault", To: "/vault/unlock", Problem: "That is not the passphrase of the vault.", Phrase: true, CSRF: "token"}}.Show(),
		"vault-amiss":   pages.Vault{Page: page("Vault", layouts.Vault), Exists: true, Problem: &pages.VaultProblem{Text: "The folder is open to others. Run:", Command: "chmod -R go= /home/me/.ash/vault"}}.Show(),
		"vault-new":     pages.VaultNew{Page: page("Add a secret", layouts.Vault), Known: []pages.KnownSecret{{Name: "provider/anthropic", Title: "Anthropic"}}, Name: "provider/anthropic", Title: "Anthropic", Hosts: "api.anthropic.com", Problem: "Paste the value: it is empty."}.Show(),
		"vault-one":     pages.VaultOne{Page: page("tool/brave", layouts.Vault), VaultSecret: vaultSecrets()[1], Now: now, Problem: "There is no such host.", About: "bind"}.Show(),
		"menu":          pages.ThreadMenu{Page: page("Lisbon", layouts.Chat), Head: components.ThreadHead{ID: thread, Title: "Lisbon in March", CSRF: "token"}}.Show(),
		"edit":          pages.EditMessage{Page: page("Edit", layouts.Chat), Message: conversation()[0], Form: "f"}.Show(),
	})
	return all
}

func vaultSecrets() []pages.VaultSecret {
	return []pages.VaultSecret{
		{Name: "provider/anthropic", Hosts: []string{"api.anthropic.com"}, Users: []string{"provider/anthropic"}, Version: 2, Added: now, Former: true},
		{Name: "tool/brave", Hosts: []string{"api.search.brave.com"}, Users: []string{"tool/brave"}, Version: 1, Added: now, Waits: true, WaitsAt: now, Extra: true},
	}
}

func vaultPage() pages.Vault {
	return pages.Vault{
		Page: page("Vault", layouts.Vault), Exists: true, Unlocked: true, Secrets: vaultSecrets(), Since: now, LocksAt: now, Now: now,
		Notes: []string{"The copy for the recovery phrase is damaged."},
	}
}
