package memstore_test

import (
	"context"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// Records in memory, for tests: make a store for each of them.
func ExampleNew() {
	records, err := memstore.New(memstore.Options{MaxRecords: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(records.Check(context.Background()))
	// Output: <nil>
}
