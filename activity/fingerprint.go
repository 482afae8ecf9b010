package activity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// fingerprintVersion is the version of the canonical form and of its digest.
const fingerprintVersion = "v1"

// Fingerprinter is for types of arguments that know best what tells two of their
// values apart: types whose content JSON does not see, or sees too much of. Equal
// bytes mean the same request, and must stay equal from one release to the next.
// It counts where the type, or a pointer to it, is an argument itself; fields of
// arguments are asked for JSON only. Policy.Fingerprint comes first, where the
// policy has one. What is counted by arguments is not affected.
//
// A struct that has the method from an embedded field only, with other fields
// beside it, is refused: two requests that differ in those would look alike. Give
// it a method of its own, or tag the other fields dedupe:"-".
type Fingerprinter interface {
	// DedupeFingerprint returns the bytes. They are digested, and not stored.
	DedupeFingerprint() ([]byte, error)
}

// canonicalForm is what tells two requests apart.
func canonicalForm(p Policy, args []any) (form []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			form, err = nil, fmt.Errorf("dedupe: the fingerprint function panicked: %v", value)
		}
	}()
	if p.Fingerprint != nil {
		return p.Fingerprint(args)
	}
	own := make([]any, len(args))
	for i, arg := range args {
		f := fingerprinter(arg)
		if f == nil {
			own[i] = arg
			continue
		}
		if lender := lenderOf(reflect.TypeOf(arg)); lender != "" {
			return nil, fmt.Errorf("dedupe: argument %d (%T): the embedded %s lends it a DedupeFingerprint method, "+
				"which does not know the other fields: give %[2]T a method of its own, or tag them dedupe:\"-\"", i+1, arg, lender[1:])
		}
		b, err := f.DedupeFingerprint()
		if err != nil {
			return nil, fmt.Errorf("dedupe: argument %d (%T): %w", i+1, arg, err)
		}
		own[i] = canonical.Own(b)
	}
	return canonical.Append(nil, own, canonical.Lenient)
}

// withoutValues is an error's text as it may stand in histories and logs: encoders
// quote the values that they cannot encode.
func withoutValues(err error) string {
	var c *canonical.Error
	if errors.As(err, &c) {
		return c.Summary()
	}
	var p *converterPanic
	if errors.As(err, &p) {
		return p.summary()
	}
	return err.Error()
}

var fingerprinterType = reflect.TypeFor[Fingerprinter]()

// fingerprinter returns the argument, or a pointer to it, where that has a
// fingerprint of its own. A nil argument has none.
func fingerprinter(arg any) Fingerprinter {
	v := reflect.ValueOf(arg)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if f, ok := arg.(Fingerprinter); ok {
		return f
	}
	if !reflect.PointerTo(v.Type()).Implements(fingerprinterType) {
		return nil
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface().(Fingerprinter) //nolint:errcheck // it implements it
}

// fingerprinted tells whether the policy or an argument has a fingerprint of its own.
func fingerprinted(p Policy, args []any) bool {
	return p.Fingerprint != nil || slices.ContainsFunc(args, func(arg any) bool { return fingerprinter(arg) != nil })
}

// lenders is filled once per type: following a method costs more than most of them.
var lenders sync.Map // reflect.Type → string

// lenderOf names the embedded field that lends the type its DedupeFingerprint
// method, where that hides other fields.
func lenderOf(t reflect.Type) string {
	if lender, ok := lenders.Load(t); ok {
		return lender.(string) //nolint:errcheck // nothing else is in there
	}
	lender := canonical.Lender(t, "DedupeFingerprint")
	lenders.Store(t, lender)
	return lender
}

// fingerprints appends the acceptable fingerprints of a request, the one to
// store first: a digest over the key and the canonical form of the arguments
// for each secret, and a plain one, since records from before there were secrets
// must not become conflicts. The key is part of it, so that equal arguments of
// different calls cannot be told from the table.
func fingerprints(to []string, secrets []Secret, key string, canonical []byte) []string {
	out := slices.Grow(to, len(secrets)+1)
	for _, s := range secrets {
		out = append(out, fingerprint(hmac.New(sha256.New, s.Key), s.ID, key, canonical))
	}
	return append(out, plainFingerprint(key, canonical))
}

func fingerprint(h hash.Hash, secretID, key string, canonical []byte) string {
	// Hashes never fail to write. A key holds no NUL, so the border is clear.
	_, _ = h.Write([]byte(key))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(canonical)
	return writeFingerprint(secretID, h.Sum(nil))
}

// plainFingerprint is the one without a secret, which every call has: its message
// is put together on the stack while it is short.
func plainFingerprint(key string, canonical []byte) string {
	message := append(append(append(make([]byte, 0, 1024), key...), 0), canonical...)
	sum := sha256.Sum256(message)
	return writeFingerprint("", sum[:])
}

func writeFingerprint(secretID string, sum []byte) string {
	text := append(append(append(append(make([]byte, 0, 128), fingerprintVersion...), ':'), secretID...), ':')
	return string(hex.AppendEncode(text, sum))
}

// incomparable tells why a recorded fingerprint cannot be compared with those
// that this worker has made, if it cannot. Two workers of a rolling deployment
// may know different secrets: that is no conflict.
func incomparable(recorded string, own []string) string {
	version, rest, _ := strings.Cut(recorded, ":")
	secretID, _, _ := strings.Cut(rest, ":")
	if version != fingerprintVersion {
		return fmt.Sprintf("it has version %q, this release knows %s: upgrade this worker", version, fingerprintVersion)
	}
	prefix := fingerprintVersion + ":" + secretID + ":"
	for _, hash := range own {
		if strings.HasPrefix(hash, prefix) {
			return ""
		}
	}
	return fmt.Sprintf("it is signed with secret %q, which is not among this worker's FingerprintSecrets", secretID)
}
