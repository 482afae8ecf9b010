package activity

import "errors"

// noEffectError carries an author's word that the body had no effect.
type noEffectError struct{ err error }

func (n *noEffectError) Error() string { return n.err.Error() }
func (n *noEffectError) Unwrap() error { return n.err }

// NoEffect marks an error with the author's word that this execution had no
// effect: the provider refused the card, the connection was never made. The call
// can then run again under every takeover policy, unless an earlier execution
// may have had an effect, and with a new provider key, since providers replay
// their refusals for a known one. The mark counts wherever it stands in a chain
// of errors. NoEffect(nil) is nil.
//
// A non-retryable application error is such a word too, but keeps the provider
// key: do not return one where you cannot tell, under Refuse and Verify above all.
func NoEffect(err error) error {
	if err == nil {
		return nil
	}
	return &noEffectError{err}
}

// withoutMark tells whether the error is marked, and takes the mark off where
// it stands on top: Temporal looks at the outermost error.
func withoutMark(err error) (error, bool) {
	var mark *noEffectError
	marked := errors.As(err, &mark)
	for {
		top, ok := err.(*noEffectError) //nolint:errorlint // only the outermost
		if !ok {
			return err, marked
		}
		err = top.err
	}
}
