#!/usr/bin/env bash
# Runs a command and says before what it is, and after how long it took.
#
#   scripts/timed.sh "what it is" command arguments...
set -euo pipefail

what=$1
shift
echo "==> $what"
begin=$SECONDS
code=0
"$@" || code=$?
if [ "$code" -eq 0 ]; then
	echo "==> $what: done in $((SECONDS - begin)) s"
else
	echo "==> $what: failed after $((SECONDS - begin)) s" >&2
fi
exit "$code"
