package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// checkTimeout bounds the check of the store at worker start.
const checkTimeout = 10 * time.Second

// Both bases have the same name, and a struct cannot embed both under it.
type (
	clientBase = client.PluginBase
	workerBase = worker.PluginBase
)

// Plugin deduplicates activities on every worker of a Temporal client. It is a
// client plugin, since only a client knows the data converter that results must
// be stored in, and a worker plugin. One plugin serves one client and all of
// its workers; registering it twice, or on the client and on a worker, is
// harmless.
type Plugin struct {
	clientBase
	workerBase

	options activity.Options

	mu       sync.Mutex
	client   bool // NewClient was called
	activity *activity.Interceptor
	workers  map[string]*registered // by worker instance
	known    *registered            // on all workers that have started, stopped ones too
	warned   map[string]bool        // activity types

	evictor     *store.Evictor // nil: none is wanted
	maintenance *maintenance   // while a worker runs
}

var (
	_ client.Plugin = (*Plugin)(nil)
	_ worker.Plugin = (*Plugin)(nil)
)

// NewPlugin returns a plugin. Its error names the option that is wrong.
func NewPlugin(options activity.Options) (*Plugin, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	e, err := newEvictor(options)
	if err != nil {
		return nil, err
	}
	options.Policies = maps.Clone(options.Policies) // which is read until a worker starts
	return &Plugin{options: options, workers: map[string]*registered{}, known: newRegistered(), warned: map[string]bool{}, evictor: e}, nil
}

// Name implements the plugin interfaces.
func (p *Plugin) Name() string { return "github.com/seed5aa7bdf6/temporal-dedupe" }

// NewClient takes the converters from the client's final options: earlier
// plugins may still change them in ConfigureClient.
func (p *Plugin) NewClient(ctx context.Context, o client.PluginNewClientOptions, next func(context.Context, client.PluginNewClientOptions) error) error {
	if err := p.adopt(o.ClientOptions); err != nil {
		return err
	}
	return next(ctx, o)
}

func (p *Plugin) adopt(o client.Options) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []struct {
		name      string
		own       any
		ofClient  any
		configure func()
	}{
		{"DataConverter", p.options.DataConverter, o.DataConverter, func() { p.options.DataConverter = o.DataConverter }},
		{"FailureConverter", p.options.FailureConverter, o.FailureConverter, func() { p.options.FailureConverter = o.FailureConverter }},
	} {
		switch {
		case c.own == nil && !p.client:
			c.configure()
		case !same(c.own, c.ofClient):
			return fmt.Errorf("dedupe: the client's %s is not the one that the plugin has: leave Options.%s empty, "+
				"and make a plugin for each client", c.name, c.name)
		}
	}
	p.client = true
	return nil
}

// same compares two interface values; those that cannot be compared count as
// the same.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	return !reflect.TypeOf(a).Comparable() || a == b
}

// ConfigureWorker adds the interceptors: outermost but for those of the client,
// which is where tracing stands.
func (p *Plugin) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.workers[o.WorkerInstanceKey]; ok {
		return nil
	}
	if p.activity == nil {
		i, err := activity.NewInterceptor(p.options)
		if err != nil {
			return err
		}
		p.activity = i
	}
	r := newRegistered()
	r.watch(o.WorkerRegistryOptions)
	r.stopTimeout = o.WorkerOptions.WorkerStopTimeout
	r.stray = !p.client && p.options.DataConverter == nil
	p.workers[o.WorkerInstanceKey] = r
	o.WorkerOptions.Interceptors = append([]interceptor.WorkerInterceptor{
		workflows.NewInterceptorFor(p.activity.DeduplicatesLocal), p.activity,
	}, o.WorkerOptions.Interceptors...)
	return nil
}

// StartWorker checks the store, and the policies against the activities that
// are registered: a worker that would not protect a payment does not start.
func (p *Plugin) StartWorker(ctx context.Context, o worker.PluginStartWorkerOptions, next func(context.Context, worker.PluginStartWorkerOptions) error) error {
	p.mu.Lock()
	r, ok := p.workers[o.WorkerInstanceKey]
	all := append(slices.Collect(maps.Values(p.workers)), p.known)
	p.mu.Unlock()
	if !ok {
		return next(ctx, o)
	}
	err := p.admit(ctx, r, fleetOf(all))
	if err == nil {
		err = next(ctx, o)
	}
	if err != nil {
		// It is not started again, and what is registered on it runs nowhere.
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.workers, o.WorkerInstanceKey)
		return err
	}
	p.known.add(r)
	p.maintain(r)
	return nil
}

// admit tells whether the worker may start, and does so once.
func (p *Plugin) admit(ctx context.Context, r *registered, f fleet) error {
	if r.started {
		return nil
	}
	strangers, err := checkPolicies(p.options.Policies, f)
	if err != nil {
		return err
	}
	if err := p.check(ctx, r, f); err != nil {
		return err
	}
	p.warnOfStrangers(strangers)
	logCoverage(p.options.Policies, r, p.logger())
	r.started = true
	return nil
}

// warnOfStrangers warns, once each, of policies from a file for types that no
// worker has.
func (p *Plugin) warnOfStrangers(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if !p.warned[name] {
			p.warned[name] = true
			p.logger().Warn("dedupe: the configuration names an activity type that is not registered",
				"ActivityType", name, "Source", p.options.Policies[name].Source)
		}
	}
}

func (p *Plugin) check(ctx context.Context, r *registered, f fleet) error {
	if r.stray {
		return errors.New("dedupe: the plugin is registered on the worker only and cannot see the client's data converter, " +
			"without which results would be stored and returned in the clear where the client encrypts: " +
			"register it in client.Options.Plugins, or set Options.DataConverter to the client's, " +
			"which is converter.GetDefaultDataConverter() if it has none")
	}
	if r.runsActivities() {
		if err := checkStopTimeout(p.options.Policies, f, r.stopTimeout, p.logger()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := p.options.Store.Check(ctx); err != nil {
		return fmt.Errorf("dedupe: the store cannot be used: %w", err)
	}
	return nil
}

// StopWorker stops the worker first and then waits until the records of its
// last activities are settled.
func (p *Plugin) StopWorker(ctx context.Context, o worker.PluginStopWorkerOptions, next func(context.Context, worker.PluginStopWorkerOptions)) {
	next(ctx, o)
	p.mu.Lock()
	delete(p.workers, o.WorkerInstanceKey)
	i, evicting := p.activity, p.unneeded()
	p.mu.Unlock()
	evicting.stop()
	if i == nil {
		return
	}
	if err := i.Drain(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, context.Canceled) {
		p.logger().Error(err.Error())
	}
}

// ConfigureWorkflowReplayer adds the workflow side, so that a replay meets the
// interceptors that the worker has. Histories recorded without them replay too.
func (p *Plugin) ConfigureWorkflowReplayer(_ context.Context, o worker.PluginConfigureWorkflowReplayerOptions) error {
	configureReplayer(o)
	return nil
}

func (p *Plugin) logger() *slog.Logger {
	if p.options.Logger != nil {
		return p.options.Logger
	}
	return slog.Default()
}
