package doctor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	const link = "postgres://x@127.0.0.1:1/x"
	for want, o := range map[string]doctor.Options{
		"Options.DatabaseURL is empty":            {},
		"Options.Schema: 64 bytes":                {DatabaseURL: link, Schema: strings.Repeat("x", 64)},
		"Options.Schema: must":                    {DatabaseURL: link, Schema: "a\x00"},
		"Options.MaxBytes is negative":            {DatabaseURL: link, MaxBytes: -1},
		`Options.Skip: there is no check "fsink"`: {DatabaseURL: link, Skip: []string{"fsync", "fsink"}},
		"Options.SampleBytes is negative":         {DatabaseURL: link, SampleBytes: -1},
		"Options.MaxClockDifference is -1ns":      {DatabaseURL: link, MaxClockDifference: -1},
		"Options.MaxSweepAge is 1ns":              {DatabaseURL: link, MaxSweepAge: 1},
		"Options.StuckAfter is -1s":               {DatabaseURL: link, StuckAfter: -time.Second},
		"Options.Timeout is 1µs":                  {DatabaseURL: link, Timeout: time.Microsecond},
		"the database URL cannot be understood":   {DatabaseURL: "postgres://me:s3:cret@x:y/z"},
		"percent-encoded":                         {DatabaseURL: "postgres://me:/s3cret@127.0.0.1:1/x"},
		"stopped before the check database":       {DatabaseURL: link},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		if !strings.Contains(want, "stopped") {
			ctx = t.Context()
		}
		_, err := doctor.Run(ctx, o)
		require.ErrorContains(t, err, want)
		require.True(t, strings.HasPrefix(err.Error(), "dedupe: doctor: "), err)
		require.NotContains(t, err.Error(), "cret")
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	report := func(statuses ...doctor.Status) (r doctor.Report) {
		for _, s := range statuses {
			r.Results = append(r.Results, doctor.Result{Status: s})
		}
		return r
	}
	require.False(t, report(doctor.OK, doctor.Skipped, doctor.Warning).Failed(false))
	require.True(t, report(doctor.OK, doctor.Warning).Failed(true))
	require.False(t, report(doctor.OK, doctor.Skipped).Failed(true))
	require.True(t, report(doctor.OK, doctor.Failure).Failed(false))
	require.True(t, report(doctor.Unknown).Failed(false))
	require.Equal(t, 2, report(doctor.OK, doctor.Warning, doctor.OK).Count(doctor.OK))
}
