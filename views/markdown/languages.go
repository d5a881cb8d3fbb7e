package markdown

import (
	"fmt"
	"strings"
)

// languages lists the lexers there are with the names they go by: the first is the one other lexers refer to.
var languages = [...]struct{ file, names string }{
	{"bash", "Bash bash sh zsh ksh shell shellscript"}, {"c", "C c h"}, {"clojure", "Clojure clojure clj cljs edn"},
	{"cmake", "CMake cmake"}, {"console", "Console console shell-session bash-session terminal"},
	{"cpp", "C++ c++ cpp cxx cc hpp arduino"}, {"csharp", "C# c# csharp cs dotnet"}, {"css", "CSS css"}, {"dart", "Dart dart"},
	{"diff", "Diff diff udiff patch"}, {"docker", "Docker docker dockerfile containerfile"},
	{"elixir", "Elixir elixir ex exs"}, {"erlang", "Erlang erlang erl"}, {"fish", "Fish fish"}, {"go", "Go go golang"},
	{"graphql", "GraphQL graphql gql"}, {"groovy", "Groovy groovy gradle"}, {"haskell", "Haskell haskell hs"}, {"hcl", "HCL hcl"},
	{"html", "HTML html xhtml htm vue svelte"}, {"ini", "INI ini cfg conf dosini systemd editorconfig"}, {"java", "Java java"},
	{"javascript", "Javascript javascript js mjs cjs node"}, {"json", "JSON json jsonc json5 jsonl ndjson"},
	{"jsx", "JSX jsx react"}, {"julia", "Julia julia jl"}, {"kotlin", "Kotlin kotlin kt kts"}, {"lua", "Lua lua"},
	{"makefile", "Makefile makefile make mk"}, {"nginx", "Nginx nginx"}, {"nix", "Nix nix"},
	{"objc", "Objective-C objective-c objectivec objc obj-c"}, {"ocaml", "OCaml ocaml ml"}, {"perl", "Perl perl pl"},
	{"php", "PHP php"}, {"powershell", "PowerShell powershell pwsh ps1 posh"}, {"properties", "Properties properties dotenv env"},
	{"protobuf", "Protobuf protobuf proto"}, {"python", "Python python py python3 py3"}, {"r", "R r"},
	{"ruby", "Ruby ruby rb"}, {"rust", "Rust rust rs"}, {"scala", "Scala scala"}, {"scss", "SCSS scss sass less"},
	{"sql", "SQL sql sqlite mysql postgresql postgres psql plpgsql"}, {"swift", "Swift swift"}, {"terraform", "Terraform terraform tf"},
	{"toml", "TOML toml"}, {"typescript", "TypeScript typescript ts tsx"}, {"viml", "VimL viml vim vimscript"},
	{"xml", "XML xml svg xsl xslt rss plist"}, {"yaml", "YAML yaml yml"}, {"zig", "Zig zig"},
}

// maxLanguage bounds the label of a block of code, in bytes.
const maxLanguage = 40

// cleanLanguage is the name of a language as the block is labelled with it.
func cleanLanguage(info string) string {
	info = strings.TrimSuffix(strings.TrimPrefix(info, "{"), "}")
	info = strings.TrimPrefix(info, ".")
	if len(info) > maxLanguage {
		return ""
	}
	return info
}

// knownLanguage says whether there is a lexer. It keeps unknown names from the registry, which would take them for file names.
func knownLanguage(lang string) bool {
	lang = strings.ToLower(lang)
	for i := range languages {
		for names := languages[i].names; names != ""; {
			name, rest, _ := strings.Cut(names, " ")
			if strings.EqualFold(name, lang) {
				return true
			}
			names = rest
		}
	}
	return false
}

// chromaPanic is what a lexer panicked with, as an error.
type chromaPanic struct{ value any }

// Error implements error.
func (p chromaPanic) Error() string { return fmt.Sprint("lexer panicked: ", p.value) }
