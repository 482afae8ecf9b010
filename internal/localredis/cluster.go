package localredis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// members is the smallest number of nodes that Redis Cluster works with.
	members = 3
	// slots is how many parts a cluster's keys are divided into.
	slots = 16384
)

// Cluster is a private Redis Cluster of three nodes without replicas.
type Cluster struct {
	nodes    []*Server
	password string
}

// StartCluster starts the nodes, gives each a third of the slots, introduces
// them to each other, and returns when all of them say that the cluster works.
func StartCluster(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("no cluster within Options.StartTimeout (%s)", o.StartTimeout))
	defer cancel()
	c := &Cluster{password: rand.Text()}
	for range members {
		node, err := start(ctx, o, c.password, true)
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) join(ctx context.Context) error {
	for i, node := range c.nodes {
		client := node.client()
		first, last := i*slots/members, (i+1)*slots/members-1
		// Different epochs: otherwise the nodes have to agree on an order first.
		err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()
		if err == nil {
			err = client.ClusterAddSlotsRange(ctx, first, last).Err()
		}
		for _, other := range c.nodes[:i] {
			if err == nil {
				err = client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.busPort).Err()
			}
		}
		_ = client.Close()
		if err != nil {
			return fmt.Errorf("localredis: join node %d to the cluster: %w", i, err)
		}
	}
	for _, node := range c.nodes {
		if err := node.waitForCluster(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitForCluster returns when the node sees all slots served.
func (s *Server) waitForCluster(ctx context.Context) error {
	client := s.client()
	defer func() { _ = client.Close() }()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", members)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("localredis: %w; the node says:\n%s", context.Cause(ctx), info)
		case <-tick.C:
		}
	}
}

// ClientOptions returns what a client of the cluster needs.
func (c *Cluster) ClientOptions() *redis.ClusterOptions {
	o := &redis.ClusterOptions{Password: c.password}
	for _, node := range c.nodes {
		o.Addrs = append(o.Addrs, node.Addr())
	}
	return o
}

// Nodes returns the nodes, in the order of their slots.
func (c *Cluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Stop shuts the nodes down and removes their data. It may be called again.
func (c *Cluster) Stop() error {
	var errs []error
	for _, node := range c.nodes {
		errs = append(errs, node.Stop())
	}
	return errors.Join(errs...)
}
