# Runs a program and stops it when standard input reaches end of file.
# Arguments: stop signal, grace in seconds, directory to remove (or ""), program, its arguments.
stop=$1 grace=$2 dir=$3
shift 3

pid= pending= orphaned=

# A signal that comes before the program has started waits in pending.
forward() {
	if [ -n "$pid" ]; then kill -"$1" "$pid" 2>/dev/null; else pending=$1; fi
}
trap 'forward TERM' TERM
trap 'forward INT' INT
trap 'forward QUIT' QUIT
trap 'trap "" USR2; orphaned=1; forward "$stop"' USR2
# The pipe for output may have lost its reader together with the parent.
trap '' HUP PIPE

# The shell gives background jobs /dev/null as standard input, hence descriptor 3.
# It also has them ignore SIGINT and SIGQUIT until they install a handler.
exec 3<&0 </dev/null
(trap - HUP PIPE; exec "$@" <&3 3<&-) &
pid=$!
if [ -n "$pending" ]; then kill -"$pending" "$pid" 2>/dev/null; fi

{
	cat <&3
	kill -USR2 $$
	sleep "$grace"
	kill -KILL "$pid"
} >/dev/null 2>&1 &
watcher=$!
exec 3<&-

# A trap interrupts wait, which then returns the signal's number. The last wait
# gets the program's own status, or 127 if that was returned before.
status=127
while kill -0 "$pid" 2>/dev/null; do
	wait "$pid"
	status=$?
done
wait "$pid" 2>/dev/null
last=$?
if [ "$last" -ne 127 ]; then status=$last; fi

kill -KILL "$watcher" 2>/dev/null
if [ -n "$orphaned" ]; then
	if [ -n "$dir" ]; then rm -rf -- "$dir"; fi
	kill -KILL 0 # what is left of the process group, this shell included
fi
exit "$status"
