package activity

import "slices"

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

// sealedError keeps the marks within from being taken for the activity's own: they
// speak of an effect inside it.
type sealedError struct{ err error }

func (s *sealedError) Error() string { return s.err.Error() }
func (s *sealedError) Unwrap() error { return s.err }

// seal returns an error whose marks are gone or hidden.
func seal(err error) error {
	if err, marked := withoutMark(err); !marked {
		return err
	}
	err, _ = withoutMark(err)
	if marked(err) {
		return &sealedError{err}
	}
	return err
}

// withoutMark tells whether the error is marked, and takes the mark off where
// it stands on top: Temporal looks at the outermost error.
func withoutMark(err error) (error, bool) { //nolint:revive // the error is what it works on, not how it fails
	found := marked(err)
	for {
		switch top := err.(type) { //nolint:errorlint // only the outermost
		case *noEffectError:
			err = top.err
		case *sealedError:
			err = top.err
		default:
			return err, found
		}
	}
}

// marked looks for a mark that is not sealed.
func marked(err error) bool {
	switch e := err.(type) { //nolint:errorlint // each error of the chain is looked at
	case nil, *sealedError:
		return false
	case *noEffectError:
		return true
	case interface{ Unwrap() error }:
		return marked(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), marked)
	}
	return false
}
