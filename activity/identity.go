package activity

import (
	"os"
	"strconv"
)

// defaultIdentity is the form that Temporal's own clients use.
func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return strconv.Itoa(os.Getpid()) + "@" + host
}
