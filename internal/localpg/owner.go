package localpg

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child"
)

// serverUser is the user that a cluster started by root runs as: Postgres refuses root.
const serverUser = "postgres"

// owner returns the user to run Postgres as, or nil for the user of this process.
func owner() (*child.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(serverUser)
	if err != nil {
		return nil, fmt.Errorf("localpg: Postgres does not run as root, and there is no user %q to run it as (%w); "+
			"add that user or start this program as an ordinary one", serverUser, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("localpg: number of the user %q: %w", serverUser, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("localpg: number of the group of the user %q: %w", serverUser, err)
	}
	return &child.User{UID: uint32(uid), GID: uint32(gid)}, nil
}
