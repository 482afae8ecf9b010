package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit in which Linux tells processes' times, on every
// architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// ownCPU is what this process has computed so far.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU is what a process, its children and those that it outlived have
// computed so far; 0 where there is no /proc.
func serverCPU(postmaster int) time.Duration {
	var sum time.Duration
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // errs only on a malformed pattern
	for _, path := range stats {
		p, err := readStat(path)
		switch {
		case err != nil: // ended meanwhile
		case p.pid == postmaster:
			sum += p.own + p.ended
		case p.parent == postmaster:
			sum += p.own
		}
	}
	return sum
}

// parent returns a process's parent, or 0 where there is no /proc.
func parent(pid int) int {
	p, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return p.parent
}

type stat struct {
	pid, parent int
	own, ended  time.Duration // ended: of the children that were waited for
}

func readStat(path string) (stat, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// parseStat reads the fields of proc(5) that matter. The second is a name in
// parentheses, which may hold anything.
func parseStat(text string) (stat, error) {
	head, rest, _ := strings.Cut(text, " (")
	at := strings.LastIndexByte(rest, ')')
	fields := strings.Fields(rest[at+1:])
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("bench: %q is no process", text)
	}
	var numbers [6]int64
	for i, field := range []string{head, fields[1], fields[11], fields[12], fields[13], fields[14]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("bench: %q is no process: %w", text, err)
		}
		numbers[i] = n
	}
	return stat{
		pid: int(numbers[0]), parent: int(numbers[1]),
		own: time.Duration(numbers[2]+numbers[3]) * clockTick, ended: time.Duration(numbers[4]+numbers[5]) * clockTick,
	}, nil
}
