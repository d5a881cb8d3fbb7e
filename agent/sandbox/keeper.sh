# The first process of a container. It does what it is told on standard input and
# ends with it: when Ash dies, the container does too.
limit() {
	for f; do
		if [ -r "$f" ]; then
			IFS= read -r v <"$f"
			printf '%s' "$v"
			return
		fi
	done
	printf '%s' '-'
}
kills() {
	local key value n=-
	for f in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
		[ -r "$f" ] || continue
		while read -r key value; do
			[ "$key" = oom_kill ] && n=$value
		done <"$f"
	done
	printf 'oom %s\n' "$n"
}
printf 'ready %s %s\n' \
	"$(limit /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max)" \
	"$(limit /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max)"
while IFS= read -r ask; do
	case $ask in
	kill) # every process there is but this one, at once; no new process is needed for it
		kill -9 -1 2>/dev/null
		printf 'killed\n'
		;;
	oom) kills ;;
	esac
done
