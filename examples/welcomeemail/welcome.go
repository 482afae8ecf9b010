package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// User is somebody to greet.
type User struct {
	ID string
}

// Sent tells which run sent a user's email.
type Sent struct {
	MessageID  string
	WorkflowID string
	RunID      string
}

// Welcome greets a user. The business key makes the email one operation, whatever
// workflow asks for it and however often: the sign-up, an import, a second run of
// either. It stands in history and in Redis, so it holds the user's number and
// not the address.
func Welcome(ctx workflow.Context, user User) (Sent, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	ctx = dedupe.WithBusinessKey(ctx, "welcome/"+user.ID)
	var o *Outbox
	var sent Sent
	err := workflow.ExecuteActivity(ctx, o.SendWelcome, user).Get(ctx, &sent)
	return sent, err
}

// Outbox sends emails, or would.
type Outbox struct {
	mu   sync.Mutex
	sent map[string]int // by user
}

// SendWelcome sends a user's email and tells who did it.
func (o *Outbox) SendWelcome(ctx context.Context, user User) (Sent, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == nil {
		o.sent = map[string]int{}
	}
	o.sent[user.ID]++
	by := activity.GetInfo(ctx).WorkflowExecution
	return Sent{
		MessageID:  fmt.Sprintf("welcome-%s-%d", user.ID, o.sent[user.ID]),
		WorkflowID: by.ID,
		RunID:      by.RunID,
	}, nil
}

// emailsTo tells how many emails a user got.
func (o *Outbox) emailsTo(user User) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent[user.ID]
}
