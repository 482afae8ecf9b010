package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// Order is what a customer buys. Its ID is also the workflow ID.
type Order struct {
	ID    string
	Cents int64
}

// Receipt names what the two services made.
type Receipt struct{ ChargeID, ParcelID string }

// BuyOrder buys an order in one activity.
func BuyOrder(ctx workflow.Context, order Order) (r Receipt, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond},
	})
	var s *Shop
	err = workflow.ExecuteActivity(ctx, s.Buy, order).Get(ctx, &r)
	return r, err
}

// Shop asks two services, through a client whose transport sends the keys.
type Shop struct {
	// Client is the client, Payment and Shipping are where the services answer.
	Client            *http.Client
	Payment, Shipping string
	// Do records each answer the moment that it is there.
	Do bool
	// Fault is what this demo does to an order between the two requests. A user has
	// none.
	Fault func(ctx context.Context, order Order) error
}

// Buy is the activity: a charge, and then a parcel.
func (s *Shop) Buy(ctx context.Context, order Order) (r Receipt, err error) {
	if r.ChargeID, err = s.ask(ctx, "charge", s.Payment, order); err != nil {
		return r, err
	}
	if err = s.Fault(ctx, order); err != nil {
		return r, err
	}
	r.ParcelID, err = s.ask(ctx, "parcel", s.Shipping, order)
	return r, err
}

// ask asks a service, by way of a record of its own if there is to be one.
func (s *Shop) ask(ctx context.Context, name, url string, order Order) (id string, err error) {
	if !s.Do {
		return s.post(ctx, url, order)
	}
	return dedupe.Do(ctx, name, func(ctx context.Context) (string, error) { return s.post(ctx, url, order) })
}

// post sends a request. The context is the activity's: the key comes from it.
func (s *Shop) post(ctx context.Context, url string, order Order) (id string, err error) {
	encoded, err := json.Marshal(order)
	if err != nil {
		return "", fmt.Errorf("downstream: encode the order: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return "", fmt.Errorf("downstream: %w", err)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return "", fmt.Errorf("downstream: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("downstream: %s answered %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&id); err != nil {
		return "", fmt.Errorf("downstream: answer of %s: %w", url, err)
	}
	return id, nil
}
