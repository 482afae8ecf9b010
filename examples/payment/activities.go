package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// Activities are the effects of a payment. They know nothing of retries either;
// the key that they send along costs a line, and a provider that honours it
// closes the last gap.
type Activities struct {
	// ProviderURL is where the payment provider answers.
	ProviderURL string
	// Client sends the requests.
	Client *http.Client
	// Books take the ledger entries and the receipts.
	Books *Books
}

// ReserveFunds holds the money and returns the ID of the hold.
func (a *Activities) ReserveFunds(ctx context.Context, order Order) (string, error) {
	return a.post(ctx, "/holds", ProviderRequest{OrderID: order.ID, Cents: order.Cents})
}

// ChargePayment takes the money and returns the ID of the charge.
func (a *Activities) ChargePayment(ctx context.Context, order Order, holdID string) (string, error) {
	return a.post(ctx, "/charges", ProviderRequest{OrderID: order.ID, HoldID: holdID, Cents: order.Cents})
}

// WriteLedger books the charge.
func (a *Activities) WriteLedger(_ context.Context, receipt Receipt) error {
	a.Books.Enter(receipt)
	return nil
}

// SendReceipt mails the receipt.
func (a *Activities) SendReceipt(_ context.Context, receipt Receipt) error {
	a.Books.Mail(receipt)
	return nil
}

// post sends a request to the provider and returns the ID that it answers.
func (a *Activities) post(ctx context.Context, path string, body ProviderRequest) (string, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("payment: encode the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.ProviderURL+path, bytes.NewReader(encoded))
	if err != nil {
		return "", fmt.Errorf("payment: %w", err)
	}
	request.Header.Set("Idempotency-Key", string(dedupe.Key(ctx)))
	response, err := a.Client.Do(request)
	if err != nil {
		return "", fmt.Errorf("payment: provider: %w", err)
	}
	defer func() { _ = response.Body.Close() }()

	var answer ProviderAnswer
	switch err := json.NewDecoder(response.Body).Decode(&answer); {
	case err != nil:
		return "", fmt.Errorf("payment: provider answered %s: %w", response.Status, err)
	case response.StatusCode >= 500:
		return "", fmt.Errorf("payment: provider answered %s: %s", response.Status, answer.Error)
	case response.StatusCode >= 400:
		return "", temporal.NewNonRetryableApplicationError(answer.Error, "ProviderRefused", nil)
	}
	return answer.ID, nil
}
