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

// inputDomain does the same for what children are started with.
const inputDomain = "dedupe input 1\x00"

// digest tells calls with equal arguments from others. It holds no secret, so
// whoever reads the history can confirm a guess of the arguments. The activity
// type stands in it so that equal arguments of two types do not look alike.
func digest(activityType string, args []any) (string, *canonical.Error) {
	sum, err := digestOf(domain, activityType, args, canonical.Exact)
	if err != nil {
		var problem *canonical.Error
		if !errors.As(err, &problem) {
			problem = &canonical.Error{Reason: "it cannot be encoded", Err: err}
		}
		return "", problem
	}
	return sum, nil
}

// input tells children that are started with equal arguments from others, and is empty
// where it cannot. A new field that is still empty changes nothing: it is compared, and
// names nothing.
func input(childType string, args []any) string {
	sum, err := digestOf(inputDomain, childType, args, canonical.Lenient)
	if err != nil {
		return ""
	}
	return sum
}

func digestOf(domain, typ string, args []any, mode canonical.Mode) (string, error) {
	form := make([]byte, 0, 512)
	form = append(append(append(form, domain...), typ...), 0)
	form, err := canonical.Append(form, args, mode)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}
