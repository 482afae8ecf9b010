package config

import (
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// contradictions notes settings that are right alone and make no sense together.
func (r *reader) contradictions() {
	r.contradictory(r.config.defaults, activity.Policy{})
	var defaults activity.Policy
	for _, s := range r.config.defaults.settings {
		s.apply(&defaults)
	}
	for _, s := range r.config.activities {
		r.contradictory(s, defaults)
	}
}

// contradictory looks at one section, on top of the policy that it begins with.
// It reports only what a setting of the section itself takes part in.
func (r *reader) contradictory(s section, p activity.Policy) {
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
		case d.value <= retention:
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
