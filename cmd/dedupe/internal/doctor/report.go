package doctor

// Severity says what a check's findings count as.
type Severity string

// The severities.
const (
	// Fails: what the library promises does not hold, or workers do not start.
	Fails Severity = "failure"
	// Warns: it holds, but something needs a human or will need one.
	Warns Severity = "warning"
)

func (s Severity) status() Status { return Status(s) }

// Status is how a check ended.
type Status string

// The states of a result.
const (
	// OK: nothing was found.
	OK Status = "ok"
	// Warning and Failure: something was found, and the check's severity.
	Warning Status = Status(Warns)
	Failure Status = Status(Fails)
	// Unknown: the check itself failed. It counts as a failure, since nobody
	// knows.
	Unknown Status = "unknown"
	// Skipped: the check needs something that is not there or was not asked for.
	Skipped Status = "skipped"
)

// Result is what came of one check.
type Result struct {
	// Check is the check's name.
	Check string `json:"check"`
	// Status is how it ended.
	Status Status `json:"status"`
	// Findings says what was found, or why nothing was looked at. Empty if OK.
	Findings []string `json:"findings"`
	// Remedy says what to do. Empty if there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Report is what came of all checks, in their order.
type Report struct {
	// Results has one result for each of [Checks].
	Results []Result `json:"results"`
}

// Count returns how many checks ended so.
func (r Report) Count(status Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == status {
			n++
		}
	}
	return n
}

// Failed tells whether a check failed, could not be made, or, if strict, warned.
func (r Report) Failed(strict bool) bool {
	return r.Count(Failure)+r.Count(Unknown) > 0 || strict && r.Count(Warning) > 0
}
