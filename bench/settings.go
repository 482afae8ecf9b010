package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

const (
	megabyte = 1 << 20
	gigabyte = 1 << 30
)

// recommended are the settings that docs/performance.md recommends, for a
// machine with so much memory.
func recommended(memory int64) map[string]string {
	megabytes := func(n int64) string { return fmt.Sprintf("%dMB", n/megabyte) }
	return map[string]string{
		"shared_buffers":       megabytes(min(4*gigabyte, memory/4)),
		"effective_cache_size": megabytes(memory / 2),
		"max_wal_size":         "8GB",
		"checkpoint_timeout":   "15min",
		"wal_compression":      "lz4",
		"max_connections":      "400", // 256 of pgbench, and room
		"fsync":                "on",
		"synchronous_commit":   "on",
	}
}

// memoryBytes is the machine's memory, or 4 GB where the system does not tell.
func memoryBytes() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 4 * gigabyte
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 4 * gigabyte
}

// settings returns what the server says, and an error if it would not keep what
// it committed: figures without fsync say nothing.
func (s *server) settings(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for name := range recommended(memoryBytes()) {
		var value string
		if err := s.admin.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return nil, fmt.Errorf("bench: setting %s: %w", name, err)
		}
		found[name] = value
	}
	for _, name := range []string{"fsync", "synchronous_commit"} {
		if found[name] != "on" {
			return nil, fmt.Errorf("bench: %s is %q, want on", name, found[name])
		}
	}
	return found, nil
}
