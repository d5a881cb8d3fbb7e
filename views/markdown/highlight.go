package markdown

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

//go:generate go run ./gen

// lexersZip holds the files of the folder lexers.
//
//go:embed lexers.zip
var lexersZip []byte

// Bounds on highlighting: a lexer's regular expressions pass some hundred kilobytes a second, and slow down on long lines.
const (
	maxHighlight     = 200 << 10
	maxHighlightLine = 4 << 10
	maxOpenHighlight = 8 << 10 // while the code is still arriving: longer code gets its colours at the end
)

// highlighter colours code. Lexers are read from their files when first asked for, and what was coloured lately is kept: a page
// that is opened again shows the same code.
type highlighter struct {
	registry func() *chroma.LexerRegistry
	recent   codeCache
}

func newHighlighter() *highlighter {
	return &highlighter{registry: sync.OnceValue(newRegistry)}
}

// newRegistry knows every language by name and loads none.
func newRegistry() *chroma.LexerRegistry {
	registry := chroma.NewLexerRegistry()
	for _, l := range languages {
		names := strings.Fields(l.names)
		lexer := &lazyLexer{file: l.file + ".xml", config: &chroma.Config{Name: names[0], Aliases: names}}
		registry.Register(lexer)
	}
	return registry
}

// lazyLexer is a lexer that is built on first use. It implements chroma.Lexer.
type lazyLexer struct {
	file     string
	config   *chroma.Config
	registry *chroma.LexerRegistry
	once     sync.Once
	lexer    *chroma.RegexLexer
	err      error
}

// Config implements chroma.Lexer.
func (l *lazyLexer) Config() *chroma.Config { return l.config }

// Tokenise implements chroma.Lexer.
func (l *lazyLexer) Tokenise(o *chroma.TokeniseOptions, text string) (chroma.Iterator, error) {
	l.once.Do(func() { l.lexer, l.err = l.load() })
	if l.err != nil {
		return nil, l.err
	}
	return l.lexer.Tokenise(o, text)
}

// load reads the lexer's definition.
func (l *lazyLexer) load() (*chroma.RegexLexer, error) {
	files, err := zip.NewReader(bytes.NewReader(lexersZip), int64(len(lexersZip)))
	if err != nil {
		return nil, fmt.Errorf("open embedded lexers: %w", err)
	}
	lexer, err := chroma.NewXMLLexer(files, l.file)
	if err != nil {
		return nil, err
	}
	lexer.SetRegistry(l.registry)
	return lexer, nil
}

// SetRegistry implements chroma.Lexer.
func (l *lazyLexer) SetRegistry(r *chroma.LexerRegistry) chroma.Lexer {
	l.registry = r
	return l
}

// SetAnalyser implements chroma.Lexer; languages are never guessed.
func (l *lazyLexer) SetAnalyser(func(string) float32) chroma.Lexer { return l }

// AnalyseText implements chroma.Lexer.
func (l *lazyLexer) AnalyseText(string) float32 { return 0 }

// append appends code as HTML, coloured if the language is known and the code within bounds.
func (h *highlighter) append(dst []byte, lang string, code []byte) []byte {
	if lang == "" || len(code) > maxHighlight || longestLine(code) > maxHighlightLine || !knownLanguage(lang) {
		return appendEscaped(dst, code)
	}
	key := codeKey(lang, code)
	if html, ok := h.recent.get(key); ok {
		return append(dst, html...)
	}
	tokens, err := h.tokens(lang, string(code))
	if err != nil {
		slog.Warn("highlighting failed", slog.String("language", lang), slog.Any("error", err))
		return appendEscaped(dst, code)
	}
	at := len(dst)
	dst = appendTokens(dst, tokens, len(code))
	h.recent.put(key, string(dst[at:]))
	return dst
}

func (h *highlighter) tokens(lang, code string) (tokens []chroma.Token, err error) {
	defer func() {
		if r := recover(); r != nil { // chroma panics on what its definitions did not foresee
			err = chromaPanic{r}
		}
	}()
	if !strings.HasSuffix(code, "\n") {
		code += "\n" // in many definitions only that ends a comment or a string; what is beyond the code is not written
	}
	lexer := h.registry().Get(lang)
	return chroma.Tokenise(lexer, &chroma.TokeniseOptions{State: "root"}, code)
}

// appendTokens joins neighbours of one class. size is the length of the code: the tokens may have a line end more.
func appendTokens(dst []byte, tokens []chroma.Token, size int) []byte {
	open := ""
	for _, t := range tokens {
		value := t.Value[:min(len(t.Value), size)]
		size -= len(value)
		class := tokenClass(t.Type)
		if strings.TrimSpace(value) == "" && (open == "" || !strings.Contains(value, "\n")) {
			class = open
		}
		if class != open {
			if open != "" {
				dst = append(dst, "</span>"...)
			}
			if class != "" {
				dst = append(dst, `<span class="`+class+`">`...)
			}
			open = class
		}
		dst = appendEscaped(dst, value)
	}
	if open != "" {
		dst = append(dst, "</span>"...)
	}
	return dst
}

// tokenClass returns the class of a token: chroma's short name of its kind, coarsened to what the theme tells apart, "" for none.
func tokenClass(t chroma.TokenType) string {
	switch t {
	case chroma.KeywordType, chroma.NameClass, chroma.NameNamespace, chroma.NameException:
		return "nc"
	case chroma.KeywordConstant, chroma.NameConstant:
		return "no"
	case chroma.NameFunction, chroma.NameFunctionMagic, chroma.NameDecorator:
		return "nf"
	case chroma.NameBuiltin, chroma.NameBuiltinPseudo:
		return "nb"
	case chroma.NameTag, chroma.NameEntity:
		return "nt"
	case chroma.NameAttribute, chroma.NameProperty, chroma.NameLabel:
		return "na"
	case chroma.NameVariable, chroma.NameVariableInstance, chroma.NameVariableGlobal, chroma.NameVariableClass:
		return "nv"
	case chroma.CommentPreproc, chroma.CommentPreprocFile:
		return "cp"
	case chroma.GenericDeleted:
		return "gd"
	case chroma.GenericInserted:
		return "gi"
	case chroma.GenericHeading, chroma.GenericSubheading:
		return "gh"
	case chroma.LiteralStringRegex, chroma.LiteralStringEscape, chroma.LiteralStringInterpol:
		return "se"
	}
	switch {
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t.InCategory(chroma.Literal):
		return "s"
	}
	return ""
}

func longestLine(code []byte) int {
	longest := 0
	for len(code) > 0 {
		i := bytes.IndexByte(code, '\n')
		if i < 0 {
			i = len(code) - 1
		}
		longest = max(longest, i+1)
		code = code[i+1:]
	}
	return longest
}
