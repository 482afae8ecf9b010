package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// domain separates these digests from all others. It changes when the form of
// arguments changes, and with it the key of every call counted by arguments.
const domain = "dedupe arguments 1\x00"

// digest tells calls with equal arguments from others. It holds no secret, so
// whoever reads the history can confirm a guess of the arguments. The activity
// type stands in it so that equal arguments of two types do not look alike.
func digest(activityType string, args []any) (string, *canonical.Error) {
	form := make([]byte, 0, 512)
	form = append(append(append(form, domain...), activityType...), 0)
	form, err := canonical.Append(form, args, canonical.Exact)
	if err != nil {
		var problem *canonical.Error
		if !errors.As(err, &problem) {
			problem = &canonical.Error{Reason: "it cannot be encoded", Err: err}
		}
		return "", problem
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}
