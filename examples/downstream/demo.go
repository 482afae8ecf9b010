package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

var errFault = errors.New("downstream: a fault of this demo")

// demo starts everything, buys the orders and reports. It tells whether each was
// charged and shipped once.
func demo(ctx context.Context, o options, out io.Writer) (fine bool, err error) {
	var stops []func()
	defer func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}()
	payment, paymentURL, stop, err := serve("charges")
	if err != nil {
		return false, err
	}
	stops = append(stops, stop)
	shipping, shippingURL, stop, err := serve("parcels")
	if err != nil {
		return false, err
	}
	stops = append(stops, stop)
	address, namespace := o.temporalAddress, cmp.Or(os.Getenv(devserver.NamespaceVar), "default")
	if address == "" {
		_, _ = fmt.Fprintln(out, "Temporal  looking for a server, or starting one: a few seconds, and minutes the first time, when it may have to be built ...")
		server, err := devserver.Start(ctx, devserver.Options{Log: out})
		if err != nil {
			return false, fmt.Errorf("downstream: %w", err)
		}
		stops = append(stops, server.Stop)
		address, namespace = server.Address(), server.Namespace()
	}
	_, _ = fmt.Fprintf(out, "Temporal  %s, namespace %s\nServices  %s and %s, which honour Idempotency-Key\n", address, namespace, paymentURL, shippingURL)

	c, err := dial(ctx, address, namespace)
	if err != nil {
		return false, err
	}
	stops = append(stops, c.Close)
	base := &http.Transport{MaxIdleConnsPerHost: o.orders}
	stops = append(stops, base.CloseIdleConnections)
	shop := &Shop{Client: &http.Client{Transport: base}, Payment: paymentURL, Shipping: shippingURL, Do: o.do}
	if o.transport {
		shop.Client.Transport = dedupe.Transport(base)
	}
	var failed sync.Map
	shop.Fault = func(_ context.Context, order Order) error {
		if order.Cents%2 == 0 {
			return nil
		}
		if _, again := failed.LoadOrStore(order.ID, true); again {
			return nil
		}
		return errFault
	}
	run := "order-" + strings.ToLower(rand.Text()[:6])
	w := worker.New(c, run, worker.Options{WorkerStopTimeout: 5 * time.Second})
	w.RegisterWorkflow(BuyOrder)
	w.RegisterActivity(shop)
	if err := w.Start(); err != nil {
		return false, fmt.Errorf("downstream: start the worker: %w", err)
	}
	stops = append(stops, w.Stop)

	_, _ = fmt.Fprintf(out, "Faults    in every other order the activity fails once, after the charge and before the parcel\n\n")
	receipts, err := buy(ctx, c, run, o.orders)
	if err != nil {
		return false, err
	}
	return report(out, receipts, payment, shipping), nil
}

// dial connects to Temporal with the plugin. The records are in memory, which shows
// the retries within this process.
func dial(ctx context.Context, address, namespace string) (client.Client, error) {
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		return nil, fmt.Errorf("downstream: %w", err)
	}
	quiet := slog.New(slog.DiscardHandler)
	plugin, err := dedupe.NewPlugin(dedupe.Options{Store: records, Policies: dedupe.Policies{"Buy": {}}, Logger: quiet})
	if err != nil {
		return nil, fmt.Errorf("downstream: %w", err)
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: address, Namespace: namespace, Logger: log.NewStructuredLogger(quiet), Plugins: []client.Plugin{plugin},
	})
	if err != nil {
		return nil, fmt.Errorf("downstream: Temporal at %s: %w", address, err)
	}
	return c, nil
}

// bought is how an order ended.
type bought struct {
	order   Order
	receipt Receipt
}

func buy(ctx context.Context, c client.Client, run string, n int) ([]bought, error) {
	var runs []client.WorkflowRun
	all := make([]bought, n)
	for i := range all {
		all[i].order = Order{ID: fmt.Sprintf("%s-%02d", run, i+1), Cents: int64(1000 + i)}
		r, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: all[i].order.ID, TaskQueue: run, WorkflowExecutionTimeout: time.Minute,
		}, BuyOrder, all[i].order)
		if err != nil {
			return nil, fmt.Errorf("downstream: start %s: %w", all[i].order.ID, err)
		}
		runs = append(runs, r)
	}
	for i, r := range runs {
		if err := r.Get(ctx, &all[i].receipt); err != nil {
			return nil, fmt.Errorf("downstream: %s: %w", all[i].order.ID, err)
		}
	}
	return all, nil
}

// report prints a line for each order, and the verdict as the last one.
func report(out io.Writer, all []bought, payment, shipping *Service) (fine bool) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "ORDER\tCHARGE REQUESTS\tCHARGES\tPARCEL REQUESTS\tPARCELS")
	requests, charges, parcels, wrong := 0, 0, 0, 0
	for _, b := range all {
		asked, charged := payment.Of(b.order.ID)
		shippings, shipped := shipping.Of(b.order.ID)
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", b.order.ID, asked, len(charged), shippings, len(shipped))
		requests, charges, parcels = requests+asked, charges+len(charged), parcels+len(shipped)
		if !slices.Equal(charged, []string{b.receipt.ChargeID}) || !slices.Equal(shipped, []string{b.receipt.ParcelID}) {
			wrong++
		}
	}
	_ = table.Flush()
	shared := 0
	keys := shipping.Keys()
	for key, sent := range payment.Keys() {
		if sent && keys[key] {
			shared++
		}
	}
	_, _ = fmt.Fprintf(out, "\nKeys that both services have seen: %d\n", shared)
	_, _ = fmt.Fprintf(out, "%d orders, %d charge requests, %d charges, %d parcels, %d wrong\n", len(all), requests, charges, parcels, wrong)
	return wrong == 0 && shared == 0
}
