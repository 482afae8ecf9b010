package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number writes a figure with three digits that count, and thousands apart.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return thousands(int64(math.Round(v)))
	case a >= 10:
		return trim(fmt.Sprintf("%.1f", v))
	default:
		return trim(fmt.Sprintf("%.2f", v))
	}
}

// Count writes a number of rows in words.
func Count(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%d million", n/1_000_000)
	default:
		return thousands(int64(n))
	}
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
