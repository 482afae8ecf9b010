package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// The two blocks of a file.
const (
	defaultsKey   = "defaults"
	activitiesKey = "activities"
)

// reader fills a Config and notes what is wrong. It walks the tree instead of
// decoding into structs, because a decoder stops at its first error.
type reader struct {
	config *Config
	error  *Error
}

func (r *reader) read(text []byte) {
	start := position{1, 1}
	if !utf8.Valid(text) {
		r.error.add(start, "", "the file is not UTF-8")
		return
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return
	}
	switch {
	case len(file.Docs) == 0 || len(file.Docs) == 1 && file.Docs[0].Body == nil:
		r.error.add(start, "", "the file is empty: give it a block %q or %q", activitiesKey, defaultsKey)
		return
	case len(file.Docs) > 1:
		at := start
		if second := file.Docs[1]; second.Start != nil {
			at = position{second.Start.Position.Line, second.Start.Position.Column}
		}
		r.error.add(at, "", "the file holds more than one document: only one is read")
		return
	}
	blocks := 0
	r.entries(file.Docs[0].Body, "", start, func(key string, at position, value ast.Node) {
		blocks++
		switch key {
		case defaultsKey:
			r.config.defaults = r.section("", key, at, value)
		case activitiesKey:
			r.activities(at, value)
		default:
			r.error.add(at, key, "no such block: want %s or %s", defaultsKey, activitiesKey)
		}
	})
	if blocks == 0 && len(r.error.Problems) == 0 {
		r.error.add(start, "", "the file says nothing: give it a block %q or %q", activitiesKey, defaultsKey)
	}
	r.contradictions()
}

// syntax notes what keeps the text from being YAML.
func (r *reader) syntax(err error) {
	at, text := position{1, 1}, err.Error()
	var yamlErr yaml.Error
	if errors.As(err, &yamlErr) {
		text = yamlErr.GetMessage()
		if t := yamlErr.GetToken(); t != nil && t.Position != nil {
			at = position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
		}
	}
	r.error.add(at, "", "no YAML: %s (an activity type that is * or begins with it needs quotes: %q)", text, activity.AnyActivity)
}

func (r *reader) activities(at position, block ast.Node) {
	names := 0
	r.entries(block, activitiesKey, at, func(name string, at position, value ast.Node) {
		names++
		if name == "" {
			r.error.add(at, activitiesKey, "an activity type has no empty name")
			return
		}
		r.config.activities = append(r.config.activities, r.section(name, activitiesKey+"."+name, at, value))
	})
	if names == 0 && len(r.error.Problems) == 0 {
		r.error.add(at, activitiesKey, "names no activity type")
	}
}

// section reads one block of settings. An empty one is a policy of defaults.
func (r *reader) section(name, path string, at position, block ast.Node) section {
	s := section{name: name, path: path, at: at, settings: map[string]setting{}}
	if _, empty := block.(*ast.NullNode); empty && name != "" {
		return s
	}
	before := len(r.error.Problems)
	r.entries(block, path, at, func(key string, at position, value ast.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		switch {
		case i < 0:
			r.error.add(at, path+"."+key, "no such field: want one of %s", strings.Join(fieldNames(), ", "))
			return
		case key == offField && name == "":
			r.error.add(at, path+"."+key, "stands under an activity type only: a default that protects nothing would hide every missing policy")
			return
		}
		text, kind, ok := scalar(value)
		if !ok {
			r.error.add(orAt(value, at), path+"."+key, "is %s, want a single value", kind)
			return
		}
		apply, err := fields[i].read(text, kind)
		if err != nil {
			r.error.add(positionOf(value), path+"."+key, "%v", err)
			return
		}
		s.settings[key] = setting{at: at, apply: apply}
	})
	s.partial = len(r.error.Problems) > before
	return s
}

// entries calls each for the entries of a block whose name stands at a place,
// each key once.
func (r *reader) entries(block ast.Node, path string, at position, each func(key string, at position, value ast.Node)) {
	m, ok := block.(ast.MapNode)
	if !ok {
		_, kind, _ := scalar(block)
		r.error.add(orAt(block, at), path, "is %s, want a block of names and values", kind)
		return
	}
	seen := map[string]position{}
	for it := m.MapRange(); it.Next(); {
		key, at := it.Key().GetToken().Value, positionOf(it.Key())
		if _, isText := it.Key().(*ast.StringNode); !isText {
			r.error.add(at, path, "the name %s is %s, want text; put it in quotes if it is meant", key, nodeKind(it.Key()))
			continue
		}
		if first, twice := seen[key]; twice {
			r.error.add(at, strings.TrimPrefix(path+"."+key, "."), "stands twice, first in line %d", first.line)
			continue
		}
		seen[key] = at
		each(key, at, it.Value())
	}
}

// scalar returns the text of a single value, and in any case what the node is.
func scalar(n ast.Node) (text, kind string, ok bool) {
	kind = nodeKind(n)
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, kind, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return v.GetToken().Value, kind, true
	}
	return "", kind, false
}

// nodeKind says in words what a node is.
func nodeKind(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.StringNode, *ast.LiteralNode:
		return kindText
	case *ast.IntegerNode:
		return kindInteger
	case *ast.FloatNode:
		return "a fraction"
	case *ast.BoolNode:
		return kindBool
	case ast.MapNode:
		return "a block"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return fmt.Sprintf("an anchor or alias, which are not understood (what is common goes into %q)", defaultsKey)
	default:
		return "of a kind that is not understood"
	}
}

// orAt is where a value stands, or its name if there is none.
func orAt(n ast.Node, name position) position {
	if nodeKind(n) == "empty" {
		return name
	}
	return positionOf(n)
}

func positionOf(n ast.Node) position {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{1, 1}
	}
	p := n.GetToken().Position
	if m, ok := n.(ast.MapNode); ok && n.GetToken().Value == ":" {
		// A block's own token is the colon of its first entry.
		if it := m.MapRange(); it.Next() {
			return positionOf(it.Key())
		}
	}
	return position{max(p.Line, 1), max(p.Column, 1)}
}
