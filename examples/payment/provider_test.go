package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// charge posts a charge under an Idempotency-Key.
func charge(t *testing.T, p *Provider, key, body string) (int, ProviderAnswer) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/charges", strings.NewReader(body))
	request.Header.Set("Idempotency-Key", key)
	recorder := httptest.NewRecorder()
	p.ServeHTTP(recorder, request)
	var answer ProviderAnswer
	require.NoError(t, json.NewDecoder(recorder.Body).Decode(&answer))
	return recorder.Code, answer
}

func TestProvider(t *testing.T) {
	t.Parallel()
	const body = `{"order":"o-1","cents":500}`

	t.Run("a key that is honoured charges once", func(t *testing.T) {
		t.Parallel()
		p := NewProvider(true)
		status, first := charge(t, p, "k", body)
		require.Equal(t, http.StatusCreated, status)
		status, second := charge(t, p, "k", body)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, first, second)
		require.Equal(t, []string{first.ID}, p.Charges("o-1"))
	})
	t.Run("a key that is ignored charges twice", func(t *testing.T) {
		t.Parallel()
		p := NewProvider(false)
		_, first := charge(t, p, "k", body)
		_, second := charge(t, p, "k", body)
		require.Equal(t, []string{first.ID, second.ID}, p.Charges("o-1"))
	})
	t.Run("a key that comes back with another request is refused", func(t *testing.T) {
		t.Parallel()
		p := NewProvider(true)
		charge(t, p, "k", body)
		status, answer := charge(t, p, "k", `{"order":"o-1","cents":501}`)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, answer.Error, "another request")
		require.Len(t, p.Charges("o-1"), 1)
	})
	t.Run("a refused request leaves its key unused", func(t *testing.T) {
		t.Parallel()
		p := NewProvider(true)
		status, _ := charge(t, p, "k", `{"order":"o-1"}`)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		status, _ = charge(t, p, "k", body)
		require.Equal(t, http.StatusCreated, status)
	})
}
