package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

func ExampleDo() {
	records, _ := memstore.New(memstore.Options{})
	charges, attempts := 0, 0
	receipt, err := runOnce(records, dedupe.Policy{}, pay(nil), func(ctx context.Context) (string, error) {
		receipt, err := dedupe.Do(ctx, "charge", func(context.Context) (string, error) {
			charges++ // at a provider that knows no keys
			return fmt.Sprint("receipt ", charges), nil
		})
		if err != nil {
			return "", err
		}
		if attempts++; attempts == 1 {
			return "", errors.New("the mail server is down") // after the charge
		}
		return receipt, nil
	})
	fmt.Println(receipt, err)
	fmt.Println("attempts:", attempts, "charges:", charges)
	// Output:
	// receipt 1 <nil>
	// attempts: 2 charges: 1
}

func ExampleDo_duplicate() {
	records, _ := memstore.New(memstore.Options{})
	_, _ = runOnce(records, dedupe.Policy{}, pay(nil), func(ctx context.Context) (string, error) {
		for item := range 2 {
			name := "charge" // and not fmt.Sprint("charge of item ", item)
			_, err := dedupe.Do(ctx, name, func(context.Context) (int, error) { return item, nil })
			fmt.Println(errors.Is(err, dedupe.ErrDuplicateEffect))
		}
		return "", nil
	})
	// Output:
	// false
	// true
}

func ExampleDo_refuse() {
	records, _ := memstore.New(memstore.Options{})
	_, err := runOnce(records, dedupe.Policy{Takeover: dedupe.Refuse}, pay(nil), func(ctx context.Context) (string, error) {
		receipt, err := dedupe.Do(ctx, "charge", func(context.Context) (string, error) {
			return "", errors.New("timeout talking to the provider")
		})
		var app *temporal.ApplicationError
		if err != nil && !errors.As(err, &app) {
			// The author knows that the activity may run again; of the charge, nobody
			// knows.
			err = dedupe.NoEffect(err)
		}
		return receipt, err
	})
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == dedupe.ErrTypeOutcomeUnknown {
		fmt.Println("ask a human about the charge; it was tried once")
	}
	// Output: ask a human about the charge; it was tried once
}

func ExampleDoWith() {
	records, _ := memstore.New(memstore.Options{})
	cents := 1000 // read by the activity, and changed by somebody before the retry
	_, err := runOnce(records, dedupe.Policy{}, pay(nil), func(ctx context.Context) (string, error) {
		_, err := dedupe.DoWith(ctx, "charge", dedupe.DoOptions{Fingerprint: cents}, func(context.Context) (int, error) {
			return cents, nil
		})
		cents = 9900
		return "", errors.Join(err, errors.New("the mail server is down"))
	})
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == dedupe.ErrTypeConflict {
		fmt.Println("1000 were charged; 9900 are another request")
	}
	// Output: 1000 were charged; 9900 are another request
}

func ExampleTransport() {
	keys := map[string]int{}
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")]++
	}))
	defer provider.Close()
	client := &http.Client{Transport: dedupe.Transport(nil, "stripe")}
	defer client.CloseIdleConnections()
	post := func(ctx context.Context, path string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, provider.URL+path, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}

	records, _ := memstore.New(memstore.Options{})
	attempts := 0
	_, err := runOnce(records, dedupe.Policy{}, pay(nil), func(ctx context.Context) (string, error) {
		if err := errors.Join(post(ctx, "/holds"), post(ctx, "/charges")); err != nil {
			return "", err
		}
		err := post(ctx, "/charges") // another charge, or the same once more?
		fmt.Println(errors.Is(err, dedupe.ErrUnnamedRequest))
		if err := post(dedupe.WithRequestName(ctx, "tip"), "/charges"); err != nil {
			return "", err
		}
		if attempts++; attempts == 1 {
			return "", errors.New("the mail server is down")
		}
		return "", nil
	})
	fmt.Println("error:", err)
	for _, requests := range keys {
		fmt.Println("one key,", requests, "requests")
	}
	// Output:
	// true
	// true
	// error: <nil>
	// one key, 2 requests
	// one key, 2 requests
	// one key, 2 requests
}
