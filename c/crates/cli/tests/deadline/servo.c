/* Waits for its next period as often as its argument says, each time once by a timer and once by yielding. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS 10000000

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;
	struct timespec due;

	for (int turn = 0; turn < turns; turn++) {
		clock_gettime(CLOCK_MONOTONIC, &due);
		due.tv_nsec += PERIOD_NS;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		/* A deadline task that yields sleeps until its next period. */
		sched_yield();
	}
	return 0;
}
