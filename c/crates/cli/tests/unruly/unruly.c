// A program that keeps to nothing: unruly HOW [NUMBER], the seconds to sleep or a priority. Only the one that
// sleeps ever ends.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int fifo(long priority)
{
	struct sched_param param = { .sched_priority = (int)priority };
	return sched_setscheduler(0, SCHED_FIFO, &param);
}

static void spin(void)
{
	for (;;)
		;
}

int main(int count, char **arguments)
{
	const char *how = arguments[1];
	long number = count > 2 ? atol(arguments[2]) : 99;

	if (!strcmp(how, "fifo") || !strcmp(how, "pinned")) {
		cpu_set_t first;
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		if (!strcmp(how, "pinned") && sched_setaffinity(0, sizeof first, &first))
			return 2;
		if (fifo(number))
			return 3;
	} else if (!strcmp(how, "deadline")) {
		struct attributes all = { sizeof all, 6, 1, 0, 0, 9000000, 10000000, 10000000 };
		if (syscall(SYS_sched_setattr, 0, &all, 0))
			return 4;
	} else if (!strcmp(how, "forks")) {
		struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
		setrlimit(RLIMIT_NPROC, &limit);
		// Each is a session of its own, so that no group has them all.
		for (;;)
			if (!fork() && fork())
				setsid();
	} else if (!strcmp(how, "fifo-forks")) {
		if (fifo(number))
			return 5;
		for (int i = 0; i < 100; i++)
			if (!fork()) {
				setsid();
				spin();
			}
	} else if (!strcmp(how, "signals")) {
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, 0);
		for (int i = 1; i < 65; i++)
			signal(i, SIG_IGN);
		setsid();
		if (fifo(number))
			return 6;
	} else if (!strcmp(how, "sleep")) {
		sleep(number);
		return 0;
	} else {
		return 7;
	}
	spin();
}
