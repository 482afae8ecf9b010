package activity_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// service is a service that notes what it is asked.
type service struct {
	mu   sync.Mutex
	keys []string // of the requests, in their order
	body []string
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = append(s.body, string(b))
	}
	return httptest.NewRecorder().Result(), nil
}

// send sends a request through a transport.
func send(ctx context.Context, t http.RoundTripper, method, url string) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("10 EUR"))
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: t}).Do(r)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

func TestTransport(t *testing.T) {
	t.Parallel()
	const charges, parcels = "https://pay.example/charges", "https://ship.example/parcels"

	t.Run("each downstream call has a key of its own, the same in each attempt", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t), &service{}
		attempts := 0
		for range 2 {
			_, err := b.run(1, func(ctx context.Context) error {
				attempts++
				host := map[int]string{1: "https://10.0.0.1:8443", 2: "https://10.0.0.2:9443"}[attempts]
				err := errors.Join(
					send(ctx, activity.Transport(s), "POST", host+"/charges?signature="+host),
					send(ctx, activity.Transport(s), "POST", parcels),
					send(ctx, activity.Transport(s), "PATCH", charges),
					send(ctx, activity.Transport(s, "bank"), "POST", charges),
					send(activity.WithRequestName(ctx, "tip"), activity.Transport(s), "POST", charges),
					send(activity.WithRequestName(ctx, "tip"), activity.Transport(s), "POST", charges),
				)
				require.NoError(t, err)
				return errAfter
			})
			require.ErrorContains(t, err, errAfter.Error())
		}
		require.Len(t, s.keys, 12)
		require.Equal(t, s.keys[:6], s.keys[6:])
		require.Equal(t, s.keys[4], s.keys[5], "one call, sent again")
		distinct := map[string]bool{}
		for _, key := range s.keys {
			require.Len(t, key, 64)
			distinct[key] = true
		}
		require.Len(t, distinct, 5)
		require.Equal(t, "10 EUR", s.body[0])
	})

	t.Run("a second request that would share a key is refused, and not sent", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t), &service{}
		_, err := b.run(1, func(ctx context.Context) error {
			require.NoError(t, send(ctx, activity.Transport(s), "POST", charges))
			require.NoError(t, send(ctx, activity.Transport(s), "POST", charges+"/2"))
			body := &closed{Reader: strings.NewReader("20 EUR")}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://other.example/charges?n=2", body)
			require.NoError(t, err)
			_, err = activity.Transport(s).RoundTrip(r)
			require.ErrorIs(t, err, activity.ErrUnnamedRequest)
			require.ErrorContains(t, err, "POST other.example/charges")
			require.True(t, body.closed)
			_, err = activity.Do(ctx, "second charge", func(ctx context.Context) (int, error) {
				return 0, send(ctx, activity.Transport(s), "POST", charges)
			})
			return err
		})
		require.NoError(t, err)
		require.Len(t, s.keys, 3)
		require.NotEqual(t, s.keys[0], s.keys[2])
	})

	t.Run("requests that need no key are sent as they are", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t), &service{}
		_, err := b.run(1, func(ctx context.Context) error {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"} {
				for range 2 {
					require.NoError(t, send(ctx, activity.Transport(s), method, charges))
				}
			}
			return send(context.Background(), activity.Transport(s), "POST", charges)
		})
		require.NoError(t, err)
		require.Len(t, s.keys, 13)
		require.Equal(t, strings.Repeat(" ", 12), strings.Join(s.keys, " "))
	})

	t.Run("neither the caller's request nor a header of the caller's is changed", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t), &service{}
		_, err := b.run(1, func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, charges, bytes.NewReader(nil))
			require.NoError(t, err)
			for range 2 {
				r.Header.Set("Idempotency-Key", "mine")
				_, err = activity.Transport(s).RoundTrip(r)
				require.NoError(t, err)
			}
			r.Header = http.Header{}
			_, err = activity.Transport(s).RoundTrip(r)
			require.NoError(t, err)
			require.Empty(t, r.Header)
			r.URL.Path, r.Header = "/refunds", nil
			_, err = activity.Transport(s).RoundTrip(r)
			require.Nil(t, r.Header)
			return err
		})
		require.NoError(t, err)
		require.Equal(t, []string{"mine", "mine"}, s.keys[:2])
		require.Len(t, s.keys[2], 64)
		require.Len(t, s.keys[3], 64)
	})

	t.Run("an activity that is not deduplicated sends a key too, which counts where the plugin is", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t, withPolicy(activity.Policy{Off: true})), &service{}
		_, err := b.run(1, func(ctx context.Context) error {
			require.NoError(t, send(ctx, activity.Transport(s), "POST", charges))
			require.ErrorIs(t, send(ctx, activity.Transport(s), "POST", charges), activity.ErrUnnamedRequest)
			return nil
		})
		require.NoError(t, err)
		require.Len(t, s.keys[0], 64)

		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(discard{})
		env := suite.NewTestActivityEnvironment()
		bare := func(ctx context.Context) error {
			require.ErrorIs(t, send(ctx, activity.Transport(s), "POST", charges), activity.ErrUnnamedRequest)
			return send(activity.WithRequestName(ctx, "charge"), activity.Transport(s), "POST", charges)
		}
		env.RegisterActivityWithOptions(bare, sdkactivity.RegisterOptions{Name: "Charge"})
		_, err = env.ExecuteActivity("Charge")
		require.NoError(t, err)
		require.Len(t, s.keys[1], 64)
	})

	t.Run("a redirect is the same call", func(t *testing.T) {
		t.Parallel()
		b, s := setup(t), &service{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, r.URL.Path+"?moved", http.StatusTemporaryRedirect)
			}
		}))
		defer server.Close()
		base := &http.Transport{}
		defer base.CloseIdleConnections()
		_, err := b.run(1, func(ctx context.Context) error {
			return send(ctx, activity.Transport(base), "POST", server.URL+"/charges")
		})
		require.NoError(t, err)
		require.Len(t, s.keys, 2)
		require.Len(t, s.keys[0], 64)
		require.Equal(t, s.keys[0], s.keys[1])
	})

	t.Run("idle connections are closed through it, and no base is the default one", func(t *testing.T) {
		t.Parallel()
		idle := &idle{}
		(&http.Client{Transport: activity.Transport(idle)}).CloseIdleConnections()
		require.True(t, idle.closed)
		(&http.Client{Transport: activity.Transport(&service{})}).CloseIdleConnections()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		defer server.Close()
		require.NoError(t, send(t.Context(), activity.Transport(nil), "POST", server.URL))
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
}

// closed is a body that tells whether it was closed.
type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

// idle is a transport that tells whether its connections were closed.
type idle struct {
	http.RoundTripper
	closed bool
}

func (i *idle) CloseIdleConnections() { i.closed = true }
