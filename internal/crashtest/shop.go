package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// shop has the activity of a worker process.
type shop struct {
	plan plan
	http *http.Client
}

func newShop(p plan) *shop {
	return &shop{plan: p, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// ChargePayment charges an order. It pays no heed to its context, as code that
// waits for a provider often does.
func (s *shop) ChargePayment(ctx context.Context, order Order) (chargeID string, err error) {
	key := dedupe.Key(ctx)
	ctx = context.WithoutCancel(ctx)
	var body bodyAnswer
	if _, err := s.ask(ctx, http.MethodPost, "/bodies", order.ID, "", &body); err != nil {
		return "", err
	}
	if s.plan.dies(BeforeEffect, order.ID) {
		s.die()
	}
	if order.ID == s.plan.Victim && body.Number == 1 {
		if err := s.delay(ctx); err != nil {
			return "", err
		}
	}
	var made charge
	if _, err := s.ask(ctx, http.MethodPost, "/charges/"+string(s.plan.Keys), order.ID, key, &made); err != nil {
		return "", err
	}
	if s.plan.dies(BeforeRecord, order.ID) {
		s.die()
	}
	return made.ID, nil
}

// delay is what keeps the victim's first body from its effect.
func (s *shop) delay(ctx context.Context) error {
	if err := s.plan.Pause.take(ctx); err != nil {
		return err
	}
	if s.plan.Stall > 0 {
		timer := time.NewTimer(s.plan.Stall)
		<-timer.C
	}
	return nil
}

// verify asks the provider whether it has charged: by the key that it was given,
// or by the order where it does not know keys.
func (s *shop) verify(ctx context.Context, request dedupe.VerifyRequest) (dedupe.Verification, error) {
	order, ok := request.Args[0].(Order)
	if !ok {
		return dedupe.CannotTell(), fmt.Errorf("crashtest: argument is a %T", request.Args[0])
	}
	var made charge
	found, err := s.ask(ctx, http.MethodGet, "/charges/"+string(s.plan.Keys), order.ID, request.Key, &made)
	switch {
	case err != nil:
		return dedupe.CannotTell(), err
	case !found:
		return dedupe.NotDone(), nil
	default:
		return dedupe.Done(made.ID), nil
	}
}

// die ends this process by SIGKILL, if the parent grants it: each death is
// granted once.
func (s *shop) die() {
	granted, err := s.ask(context.Background(), http.MethodPost, "/deaths", s.plan.Victim, "", nil)
	if err != nil || !granted {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing more happens here
}

// ask sends a request to the parent, of an order or of the task queue. Whether it
// agrees is in its status.
func (s *shop) ask(ctx context.Context, method, path, of string, key dedupe.ProviderKey, answer any) (agreed bool, err error) {
	target := s.plan.HouseURL + path + "?" + url.Values{"of": {of}}.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return false, fmt.Errorf("crashtest: %w", err)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", string(key))
	}
	response, err := s.http.Do(request)
	if err != nil {
		return false, fmt.Errorf("crashtest: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusConflict, http.StatusNotFound:
		return false, nil
	default:
		return false, fmt.Errorf("crashtest: %s answered %s", path, response.Status)
	}
	if answer == nil {
		return true, nil
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return false, fmt.Errorf("crashtest: answer of %s: %w", path, err)
	}
	return true, nil
}
