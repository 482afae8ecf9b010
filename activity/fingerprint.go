package activity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// fingerprintVersion is the version of the canonical form and of its digest.
const fingerprintVersion = "v1"

// fingerprints returns the acceptable fingerprints of a request, the one to
// store first: a digest over the key and the canonical form of the arguments
// for each secret, or a plain one without secrets. The key is part of it, so
// that equal arguments of different calls cannot be told from the table.
func fingerprints(secrets []Secret, key string, canonical []byte) []string {
	if len(secrets) == 0 {
		return []string{fingerprint(sha256.New(), "", key, canonical)}
	}
	out := make([]string, len(secrets))
	for i, s := range secrets {
		out[i] = fingerprint(hmac.New(sha256.New, s.Key), s.ID, key, canonical)
	}
	return out
}

func fingerprint(h hash.Hash, secretID, key string, canonical []byte) string {
	// Hashes never fail to write. A key holds no NUL, so the border is clear.
	_, _ = h.Write([]byte(key))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(canonical)
	return fingerprintVersion + ":" + secretID + ":" + hex.EncodeToString(h.Sum(nil))
}
