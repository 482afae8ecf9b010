/*
 * Preloaded into a server, moves its wall clock by what stands in the file that
 * LOCALREDIS_CLOCK names: one 64-bit number of nanoseconds, mapped, so that the
 * clock moves in one step the moment the file is written. Clocks that count from
 * the start of the machine are left alone.
 *
 * libfaketime would do, but asks for memory while it starts, and Debian's
 * redis-server gets memory from jemalloc, which asks for the time while it starts.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long long *shift;
static const long long none;

static long long shifted(void)
{
	if (shift == NULL) {
		const char *path = getenv("LOCALREDIS_CLOCK");
		int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
		if (fd >= 0)
			close(fd);
		shift = mapped == MAP_FAILED ? &none : mapped;
	}
	return __atomic_load_n(shift, __ATOMIC_SEQ_CST);
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, at);
	if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		long long ns = at->tv_nsec + shifted();
		at->tv_sec += ns / 1000000000;
		at->tv_nsec = ns % 1000000000;
	}
	return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (at != NULL)
		*at = now.tv_sec;
	return now.tv_sec;
}
