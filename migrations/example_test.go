package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// A program may bring its tables along. Several that start at once wait for each other.
func ExampleUp() {
	result, err := migrations.Up(context.Background(), os.Getenv("DATABASE_URL"), migrations.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("from version", result.From, "to", result.To)
}

// A program without the right to create tables may look, and say who has to do what.
func ExampleCheck() {
	err := migrations.Check(context.Background(), os.Getenv("DATABASE_URL"), migrations.Options{})
	switch {
	case errors.Is(err, migrations.ErrPending), errors.Is(err, migrations.ErrIncomplete):
		fmt.Println("ask a database administrator:", err)
	case err != nil:
		fmt.Println(err)
	}
}
