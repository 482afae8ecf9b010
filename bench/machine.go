package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describeMachine says what the figures were measured on.
func describeMachine(ctx context.Context, s *server) map[string]string {
	d := map[string]string{
		"cores":  fmt.Sprint(runtime.NumCPU()),
		"memory": fmt.Sprintf("%.0f GB", float64(memoryBytes())/gigabyte),
		"system": runtime.GOOS + "/" + runtime.GOARCH,
		"Go":     runtime.Version(),
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, after, _ := strings.Cut(string(text), "model name")
		_, name, _ := strings.Cut(after, ":")
		name, _, _ = strings.Cut(name, "\n")
		d["processor"] = strings.TrimSpace(name)
	}
	var version string
	if err := s.admin.QueryRow(ctx, "SHOW server_version").Scan(&version); err == nil {
		d["Postgres"] = version
	}
	return d
}

// commit names the version of the code.
func commit(ctx context.Context, root string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", root, "describe", "--always", "--dirty", "--tags").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
