package activity

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// maxPrefixBytes bounds Options.KeyPrefix.
const maxPrefixBytes = 64

// digestMark begins a part that was too long and stands as its digest. Escaping
// never lets it stand at the beginning of another part, or anywhere in one.
const digestMark = "~"

// joinKey makes a key of a kind and its parts. Two different tuples never give
// one key: every part is escaped, so that the separator stands only between
// parts, each kind has its own number of parts, and the prefix ends at the only
// colon of the first part. Where the key would be too long, its longest parts
// become digests, one after the other.
func joinKey(prefix, kind string, parts ...string) string {
	escaped := make([]string, 0, 8) // on the stack: more than any kind has
	if prefix != "" {
		kind = strings.ReplaceAll(escapePart(prefix), ":", "%3A") + ":" + kind
	}
	escaped = append(escaped, kind)
	for _, p := range parts {
		escaped = append(escaped, escapePart(p))
	}
	for total := keyLength(escaped); total > store.MaxKeyBytes; total = keyLength(escaped) {
		longest := 1
		for i := 1; i < len(escaped); i++ {
			if len(escaped[i]) > len(escaped[longest]) {
				longest = i
			}
		}
		escaped[longest] = digestPart(parts[longest-1])
	}
	return strings.Join(escaped, "/")
}

// joinParts makes one text of a list, such that different lists never give the
// same text. It is escaped once more where it becomes a part of a key.
func joinParts(parts []string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = escapePart(p)
	}
	return strings.Join(escaped, "/")
}

func keyLength(parts []string) int {
	n := len(parts) - 1
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func digestPart(raw string) string {
	sum := sha256.Sum256([]byte(raw))
	return digestMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// digestEscaped is the digest of a part that stands escaped in a key. A part that is a
// digest already stays one.
func digestEscaped(part string) string {
	raw, err := url.PathUnescape(part)
	if err != nil || strings.HasPrefix(part, digestMark) {
		return part
	}
	return digestPart(raw)
}

// escapePart percent-encodes what must not stand in a part: the separator, the
// marks, and every byte that is not printable ASCII.
func escapePart(raw string) string {
	clean := true
	for i := range len(raw) {
		if !plainByte(raw[i]) {
			clean = false
			break
		}
	}
	if clean {
		return raw
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(raw) {
		c := raw[i]
		if plainByte(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func plainByte(c byte) bool {
	return c > ' ' && c < 0x7f && c != '/' && c != '%' && c != digestMark[0]
}

// ShortKey is a key's form in logs and on spans: 12 hex digits of its SHA-256.
func ShortKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}
