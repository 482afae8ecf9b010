package activity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	sdkactivity "go.temporal.io/sdk/activity"
)

// IdempotencyKeyHeader is the header that [Transport] sets.
const IdempotencyKeyHeader = "Idempotency-Key"

// ErrUnnamedRequest appears, wrapped in an error that names the request, where two
// requests of one activity would carry the same key. It was not sent.
var ErrUnnamedRequest = errors.New("dedupe: request has no name of its own")

// Transport returns a round tripper that sends an Idempotency-Key with requests whose
// context is an activity's. base does the sending; nil is http.DefaultTransport.
//
// The key is derived from [Key], the service, the request's name ([WithRequestName]),
// its method and its path, so that each downstream call of an activity has a key of
// its own, which stays over attempts. Host and query are no part of it: they change
// with the instance that answers and with signatures, and a key that changes charges
// twice. service names what is behind the client, such as "stripe": give it where
// two clients of an activity may ask for the same path.
//
// A key says that two requests are the same one. Within one attempt a second request
// that would carry the key of an earlier one is therefore refused with
// [ErrUnnamedRequest], unless both have the same name: whoever names a request says
// that all requests of this name, method and path are one call, sent again. Requests
// made in different effects ([Do]) differ already. In an activity on a worker without
// the plugin nothing counts the requests, and each needs a name.
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE are idempotent by themselves and sent as
// they are. So is a request that has the header already, and one whose context is no
// activity's, so that other code may share the client: a request that was made
// without the activity's context has no key.
func Transport(base http.RoundTripper, service ...string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, service: slices.Clone(service)}
}

type transport struct {
	base    http.RoundTripper
	service []string
}

// RoundTrip sends a copy of the request that has the header.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !needsKey(r) {
		return t.base.RoundTrip(r)
	}
	key, err := t.key(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a round tripper closes it in any case
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	if r.Header == nil { // not by way of an http.Client, which makes one
		r.Header = http.Header{}
	}
	r.Header.Set(IdempotencyKeyHeader, string(key))
	return t.base.RoundTrip(r)
}

// CloseIdleConnections passes on what http.Client asks for.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func needsKey(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return false
	}
	_, set := r.Header[IdempotencyKeyHeader]
	return !set && (executionFrom(r.Context()) != nil || sdkactivity.IsActivity(r.Context()))
}

// key derives the request's key, and refuses one that was used.
func (t *transport) key(r *http.Request) (ProviderKey, error) {
	if r.Response != nil && r.Response.Request != nil {
		// A redirect is the same call, wherever it leads.
		if key := r.Response.Request.Header.Get(IdempotencyKeyHeader); key != "" {
			return ProviderKey(key), nil
		}
	}
	ctx := r.Context()
	name, named := ctx.Value(requestNameKey{}).(string)
	key := Key(ctx).For("http", joinParts(t.service), name, r.Method, r.URL.EscapedPath())
	if named {
		return key, nil
	}
	sent, counted := ctx.Value(sentKey{}).(*sentRequests)
	where := fmt.Sprintf("%s %s%s", r.Method, r.URL.Host, r.URL.EscapedPath())
	switch {
	case !counted:
		return "", fmt.Errorf("%w: %s: the worker has no plugin that would tell it from others: name it with dedupe.WithRequestName", ErrUnnamedRequest, where)
	case !sent.first(key):
		return "", fmt.Errorf("%w: %s: another request of this activity has the key that it would have: "+
			"name each with dedupe.WithRequestName, or their services in dedupe.Transport; "+
			"a request that is sent again keeps its name", ErrUnnamedRequest, where)
	}
	return key, nil
}

type (
	requestNameKey struct{}
	sentKey        struct{}
)

// WithRequestName returns a context whose requests through a [Transport] have a name:
// what they are within the activity, such as "charge" or "charge of item 3". It stays
// the same over attempts, and requests of the same name, method and path are one call.
func WithRequestName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, requestNameKey{}, name)
}

// sentRequests are the keys of the requests without a name of one attempt.
type sentRequests struct {
	mu   sync.Mutex
	keys map[ProviderKey]bool
}

func withSentRequests(ctx context.Context, sent *sentRequests) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// first tells whether the key is new.
func (s *sentRequests) first(key ProviderKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.keys[key]
	if s.keys == nil {
		s.keys = map[ProviderKey]bool{}
	}
	s.keys[key] = true
	return !used
}
