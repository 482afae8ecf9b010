package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of its schema",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			version, revision, toolchain := "unknown", "", "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				version, toolchain = info.Main.Version, info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						revision = " " + s.Value[:min(12, len(s.Value))]
					}
				}
			}
			_, err := fmt.Fprintf(env.Out, "dedupe %s%s (schema version %d, %s)\n",
				version, revision, migrations.Latest(), toolchain)
			return err
		},
	}
}
