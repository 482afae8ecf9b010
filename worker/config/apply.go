package config

import (
	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Apply returns the options with the file's policies joined to those of code,
// and changes neither. Each field of a policy is taken from the first of these
// that sets it:
//
//  1. the file, under the activity type,
//  2. code, in Options.Policies; a field that is zero there is not set,
//  3. the file's defaults,
//  4. the default of the field.
//
// What a file cannot say (Verify, Fingerprint, IsFinal) comes from code. A
// verifier of a type that the file gives another takeover is left out.
//
// The policies of types that only the file names have their Source set. If such
// a type is not registered on any worker, that is a warning at worker start, so
// that several workers can share a file; for a type in code it stays an error.
//
// Its error is an [*Error] for types that have takeover verify from the file,
// are named in code and have no Verify there. A type that only the file names is
// looked at when a worker that has it starts.
func (c *Config) Apply(options activity.Options) (activity.Options, error) {
	policies := map[string]activity.Policy{}
	problems := &Error{File: c.file}
	for name, p := range options.Policies {
		s, _ := c.section(name)
		if s.settings == nil {
			s = section{name: name, path: defaultsKey, at: c.defaults.at}
		}
		policies[name] = c.join(s, p, problems)
	}
	for _, s := range c.activities {
		if _, inCode := options.Policies[s.name]; !inCode {
			p := c.merge(s, activity.Policy{})
			p.Source = c.place(s.at)
			policies[s.name] = p
		}
	}
	if len(problems.Problems) > 0 {
		return activity.Options{}, problems.sorted()
	}
	options.Policies = policies
	return options, nil
}

// join merges a policy of code with a section, and minds its verifier.
func (c *Config) join(s section, code activity.Policy, problems *Error) activity.Policy {
	p := c.merge(s, code)
	takeover, own := s.settings[takeoverField]
	if own && p.Takeover != store.Verify {
		p.Verify = nil
	}
	if p.Off || p.Takeover != store.Verify || p.Verify != nil || code.Takeover == store.Verify {
		return p
	}
	if !own {
		takeover = c.defaults.settings[takeoverField]
	}
	problems.add(takeover.at, s.path+"."+takeoverField, "verify asks a function of code, and Options.Policies[%q].Verify is not set", s.name)
	return p
}

// merge fills a policy of code from a section and from the defaults.
func (c *Config) merge(s section, p activity.Policy) activity.Policy {
	for _, f := range fields {
		if own, ok := s.settings[f.name]; ok {
			own.apply(&p)
		} else if fallback, ok := c.defaults.settings[f.name]; ok && !f.given(p) {
			fallback.apply(&p)
		}
	}
	return p
}
