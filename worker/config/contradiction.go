package config

import (
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// contradictions notes settings that are right alone and make no sense together, among
// those that could be read: a typo must not bring complaints of its consequences.
func (r *reader) contradictions() {
	r.contradictory(r.config.defaults, section{})
	for _, s := range r.config.activities {
		r.contradictory(s, r.config.defaults)
	}
}

// contradictory looks at one section, on top of the defaults. It reports only what a
// setting of the section itself takes part in.
func (r *reader) contradictory(s, defaults section) {
	var p activity.Policy
	for _, one := range defaults.settings {
		one.apply(&p)
	}
	knows := func(field string) bool {
		_, says := s.settings[field]
		return says || s.knows(field) && defaults.knows(field)
	}
	for _, one := range s.settings {
		one.apply(&p)
	}
	if p.Off {
		for _, f := range fields {
			if one, ok := s.settings[f.name]; ok && f.name != offField {
				r.error.add(one.at, s.path+"."+f.name, "does nothing, since %s.%s is true: remove one of the two", s.path, offField)
			}
		}
		return
	}
	retention := p.Retention
	if retention == 0 {
		retention = activity.DefaultRetention
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{verifyTimeoutField, p.VerifyTimeout}, {waitLimitField, p.WaitLimit}, {maxOverrunField, p.MaxOverrun},
	} {
		one, own := s.settings[d.name]
		at, ownRetention := s.settings[retentionField]
		switch {
		case d.value <= retention, !knows(d.name), !knows(retentionField):
		case own:
			r.error.add(one.at, s.path+"."+d.name, "%v is longer than the %s of %v: the record could be gone before", d.value, retentionField, retention)
		case ownRetention:
			r.error.add(at.at, s.path+"."+retentionField, "%v is shorter than the %s of %v, which %s sets: the record could be gone before",
				retention, d.name, d.value, defaultsKey)
		}
	}
	takeover, says := s.settings[takeoverField]
	if timeout, ok := s.settings[verifyTimeoutField]; ok && says && p.Takeover != store.Verify {
		r.error.add(timeout.at, s.path+"."+verifyTimeoutField, "does nothing under %s %s (line %d): remove it",
			takeoverField, p.Takeover, takeover.at.line)
	}
}
