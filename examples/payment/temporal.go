package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

// startTemporal finds or starts a Temporal server.
func (e *environment) startTemporal(ctx context.Context, o options, say announcer) error {
	if o.temporalAddress != "" {
		e.temporalAddress = o.temporalAddress
		e.namespace = cmp.Or(os.Getenv(devserver.NamespaceVar), "default")
		say.now("Temporal", "%s, namespace %s (-temporal-address)", e.temporalAddress, e.namespace)
		return nil
	}
	if os.Getenv(devserver.AddressVar) == "" {
		say.now("Temporal", "no %s; starting a server: a few seconds, and minutes the first time, when it may have to be built ...",
			devserver.AddressVar)
	}
	server, err := devserver.Start(ctx, devserver.Options{Log: say.out})
	if err != nil {
		return fmt.Errorf("payment: %w", err)
	}
	e.stops = append(e.stops, server.Stop)
	e.temporalAddress, e.namespace = server.Address(), server.Namespace()
	say.ready("Temporal", "%s, namespace %s (%s)", e.temporalAddress, e.namespace, server.Origin())
	return nil
}
