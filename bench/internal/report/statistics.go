package report

import (
	"maps"
	"math"
	"slices"
)

func sorted(values map[int]float64) []float64 { return slices.Sorted(maps.Values(values)) }

// median returns the middle of sorted values, NaN of none.
func median(values []float64) float64 {
	n := len(values)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return values[n/2]
	default:
		return (values[n/2-1] + values[n/2]) / 2
	}
}

// interval returns the order statistics of sorted values that hold the median of
// what they were drawn from with at least 95 % probability, whatever its
// distribution, and that probability. Below six values it is lower: the extremes
// are returned.
func interval(values []float64) (low, high, confidence float64) {
	n := len(values)
	if n == 0 {
		return math.NaN(), math.NaN(), 0
	}
	// The median lies outside the k-th value from either end when k or fewer
	// of n fair coins show heads.
	tail, term := 0.0, math.Pow(0.5, float64(n))
	k := 0
	confidence = 1 - 2*term
	for i := range n / 2 {
		tail += term
		term *= float64(n-i) / float64(i+1)
		if 1-2*tail < 0.95 {
			break
		}
		k, confidence = i, 1-2*tail
	}
	return values[k], values[n-1-k], confidence
}

// ratios divides figures of the same round.
func ratios(of, to map[int]float64) []float64 {
	var found []float64
	for round, a := range of {
		if b, ok := to[round]; ok && b != 0 {
			found = append(found, a/b)
		}
	}
	slices.Sort(found)
	return found
}

// best returns the largest of several figures, round by round.
func best(several ...map[int]float64) map[int]float64 {
	found := map[int]float64{}
	for _, values := range several {
		for round, v := range values {
			found[round] = max(found[round], v)
		}
	}
	return found
}

// Percentile returns the smallest of sorted values that a share p of them does
// not exceed.
func Percentile[T any](values []T, p float64) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	return values[min(max(int(math.Ceil(p*float64(len(values))))-1, 0), len(values)-1)]
}
