package store_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// Workers evict by themselves. This is for those that are told not to, with a negative
// Options.EvictionInterval.
func ExampleNewEvictor() {
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := store.NewEvictor(records, store.EvictorOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := e.Pass(context.Background()) // or Run, which makes one in every interval
	fmt.Println("removed", p.Removed, "in", p.Batches, "batch,", p.Err)
	// Output: removed 0 in 1 batch, <nil>
}
