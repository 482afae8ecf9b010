package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Names of fields that others than the table below speak of.
const (
	offField           = "off"
	retentionField     = "retention"
	takeoverField      = "takeover"
	verifyTimeoutField = "verify_timeout"
	waitLimitField     = "wait_limit"
	maxOverrunField    = "max_overrun"
)

// Kinds of YAML values that fields ask for, in words.
const (
	kindText    = "text"
	kindInteger = "a number"
	kindBool    = "true or false"
)

// field is one setting that a file can make.
type field struct {
	name string
	// read understands a value, and returns what it does to a policy.
	read func(text, kind string) (func(*activity.Policy), error)
	// given tells whether code has set the field: to anything but zero.
	given func(activity.Policy) bool
	// text shows the field's value; zero as the default that it stands for.
	text func(activity.Policy) string
}

// fields are all that a file can set: every field of activity.Policy but its
// functions. docs/configuration.md describes them in this order.
var fields = []field{
	fieldOf(offField, func(p *activity.Policy) *bool { return &p.Off }, readBool, strconv.FormatBool),
	enumField("scope", func(p *activity.Policy) *activity.Scope { return &p.Scope },
		activity.ScopeWorkflowID, activity.ScopeExecution, activity.ScopeRun),
	durationField(retentionField, time.Minute, func(p *activity.Policy) *time.Duration { return &p.Retention },
		activity.DefaultRetention.String()),
	enumField(takeoverField, func(p *activity.Policy) *store.TakeoverPolicy { return &p.Takeover },
		store.Reexecute, store.Refuse, store.Verify),
	durationField(verifyTimeoutField, 0, func(p *activity.Policy) *time.Duration { return &p.VerifyTimeout },
		activity.DefaultVerifyTimeout.String()),
	enumField("on_other_execution", func(p *activity.Policy) *store.OtherExecution { return &p.OnOtherExecution },
		store.RefuseOther, store.ReplayOther),
	fieldOf("require_header", func(p *activity.Policy) *bool { return &p.RequireHeader }, readBool, strconv.FormatBool),
	fieldOf("max_result_bytes", func(p *activity.Policy) *int { return &p.MaxResultBytes }, readBytes, bytesText),
	durationField(waitLimitField, 0, func(p *activity.Policy) *time.Duration { return &p.WaitLimit },
		activity.DefaultWaitLimit.String()),
	durationField(maxOverrunField, 0, func(p *activity.Policy) *time.Duration { return &p.MaxOverrun },
		"twice start-to-close, from 1m0s to 1h0m0s"),
	enumField("on_store_error", func(p *activity.Policy) *activity.OnStoreError { return &p.OnStoreError },
		activity.FailClosed, activity.RunUnprotected),
}

// unlimited is how a file writes that results have no limit.
const unlimited = "unlimited"

func fieldNames() []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// fieldOf makes a field from where it stands in a policy and its two forms.
func fieldOf[T comparable](name string, at func(*activity.Policy) *T, read func(text, kind string) (T, error), text func(T) string) field {
	return field{
		name: name,
		read: func(value, kind string) (func(*activity.Policy), error) {
			v, err := read(value, kind)
			return func(p *activity.Policy) { *at(p) = v }, err
		},
		given: func(p activity.Policy) bool {
			var zero T
			return *at(&p) != zero
		},
		text: func(p activity.Policy) string { return text(*at(&p)) },
	}
}

func durationField(name string, least time.Duration, at func(*activity.Policy) *time.Duration, zero string) field {
	read := func(text, kind string) (time.Duration, error) {
		d, err := readDuration(text, kind)
		if err == nil && d < least {
			err = fmt.Errorf("%v is too short: want %v or more", d, least)
		}
		return d, err
	}
	return fieldOf(name, at, read, func(d time.Duration) string {
		if d == 0 {
			return zero
		}
		return d.String()
	})
}

// readDuration understands what time.ParseDuration does, above zero: zero would
// silently mean the default.
func readDuration(text, kind string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case kind == kindInteger && text != "0":
		return 0, fmt.Errorf("%s has no unit: write \"%ss\", \"%sm\" or \"%sh\"", text, text, text, text)
	case err != nil && strings.ContainsAny(text, "dw") && strings.Trim(text, "0123456789.dw") == "":
		return 0, fmt.Errorf("%q: days and weeks are no units, since not every day has 24 hours: write hours, as \"168h\" for a week", text)
	case err != nil && durationForm.MatchString(text):
		return 0, fmt.Errorf("%q is too long: want %dh or less", text, math.MaxInt64/int64(time.Hour))
	case err != nil:
		return 0, fmt.Errorf("%q is no duration: want a number and a unit of ms, s, m or h, such as \"72h\" or \"1h30m\"", text)
	case d < 0:
		return 0, fmt.Errorf("%v is negative", d)
	case d == 0:
		return 0, errors.New("zero is no value: leave the field out for its default")
	}
	return d, nil
}

// durationForm is what time.ParseDuration understands, unless it is too long.
var durationForm = regexp.MustCompile(`^[+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

func readBool(text, kind string) (bool, error) {
	if kind != kindBool {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return strings.EqualFold(text, "true"), nil
}

func readBytes(text, kind string) (int, error) {
	if text == unlimited {
		return -1, nil
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if kind != kindInteger || err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no size: want a number of bytes of 1 or more, or %s", text, unlimited)
	}
	return n, nil
}

func bytesText(n int) string {
	switch {
	case n < 0:
		return unlimited
	case n == 0:
		n = activity.DefaultMaxResultBytes
	}
	return strconv.Itoa(n)
}

// enumField makes a field of a few values, the first being the default.
func enumField[T ~string](name string, at func(*activity.Policy) *T, values ...T) field {
	read := func(text, _ string) (T, error) {
		if !slices.Contains(values, T(text)) {
			names := make([]string, 0, len(values))
			for _, v := range values {
				names = append(names, string(v))
			}
			return "", fmt.Errorf("%q is no value of it: want %s", text, strings.Join(names, ", "))
		}
		return T(text), nil
	}
	return fieldOf(name, at, read, func(v T) string { return string(cmp.Or(v, values[0])) })
}
