package redisstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// A server, Sentinel or a cluster: any client of go-redis will do. New refuses a server
// that removes records by itself.
func ExampleNew() {
	ctx := context.Background()
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{os.Getenv("REDIS_ADDRESS")}})
	defer func() { _ = client.Close() }()
	records, err := redisstore.New(ctx, client, redisstore.Options{KeyPrefix: "shop:"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer records.Close()
	fmt.Println("dedupe.Options{Store: records}")
}
