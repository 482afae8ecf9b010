package config

import (
	"fmt"
	"slices"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// BuiltIn is the source of a value that nothing in the file sets.
const BuiltIn = "default"

// Setting is one field of a policy as it is in force.
type Setting struct {
	// Field is its name in the file.
	Field string `json:"field"`
	// Value is its value as the file would write it.
	Value string `json:"value"`
	// Source is where the value comes from: a file and its line, or [BuiltIn].
	Source string `json:"source"`
}

// Effective is what the file says of one activity type.
type Effective struct {
	// Activity is the activity type.
	Activity string `json:"activity"`
	// Source is where its policy stands: a file and its line, with "*" before it
	// if it is the one for the rest. Empty: the file has none, and unless code
	// has one the type is not deduplicated.
	Source string `json:"source"`
	// Settings are all fields, in the order of docs/configuration.md. A type
	// that is off has that field alone, and one without a policy has none.
	Settings []Setting `json:"settings"`
}

// Defaults tells what a policy has whose own block sets nothing, be it in the
// file or in code.
func (c *Config) Defaults() []Setting {
	return slices.DeleteFunc(c.settings(section{}), func(s Setting) bool { return s.Field == offField })
}

// Explain tells what the file gives activity types, and where each value comes
// from; code can add to it, as [Config.Apply] says. Without names it explains
// all that the file names.
func (c *Config) Explain(activities ...string) []Effective {
	if len(activities) == 0 {
		activities = c.Activities()
	}
	all := make([]Effective, 0, len(activities))
	for _, name := range activities {
		e := Effective{Activity: name, Settings: []Setting{}}
		s, ok := c.section(name)
		if ok {
			e.Source = c.place(s.at)
		} else if s, ok = c.section(activity.AnyActivity); ok {
			e.Source = fmt.Sprintf("%q %s", activity.AnyActivity, c.place(s.at))
		}
		if ok {
			e.Settings = c.settings(s)
		}
		all = append(all, e)
	}
	return all
}

func (c *Config) settings(s section) []Setting {
	p := c.merge(s, activity.Policy{})
	var all []Setting
	for _, f := range fields {
		source := BuiltIn
		if one, ok := s.settings[f.name]; ok {
			source = c.place(one.at)
		} else if one, ok := c.defaults.settings[f.name]; ok {
			source = c.place(one.at)
		}
		all = append(all, Setting{Field: f.name, Value: f.text(p), Source: source})
		if p.Off {
			break // which comes first
		}
	}
	return all
}

// Unknown returns a warning for each activity type that the file names and the
// list does not: most often a typo, or a type that was renamed in code.
func (c *Config) Unknown(activities []string) []Problem {
	warnings := &Error{File: c.file}
	for _, s := range c.activities {
		if s.name != activity.AnyActivity && !slices.Contains(activities, s.name) {
			warnings.add(s.at, s.path, "names an activity type that is not in the list: its policy protects nothing")
		}
	}
	return warnings.sorted().Problems
}
