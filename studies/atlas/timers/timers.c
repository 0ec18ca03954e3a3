/* Sets timers that expire at one instant: of the clock, then of the process's CPU time.
 *
 * timers COUNT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void fail(const char *what)
{
    fprintf(stderr, "timers: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Sets COUNT timers that expire AHEAD_NS from now, and returns when so much time and some more is over. */
static void expire(clockid_t clock, int count, long ahead_ns)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
    struct itimerspec at = { { 0, 0 }, { 0, 0 } };
    struct timespec now;
    timer_t *timers = calloc(count, sizeof *timers);
    long long due, is;
    int i;
    for (i = 0; i < count; i++)
        if (timer_create(clock, &event, &timers[i]))
            fail("timer_create");
    clock_gettime(clock, &now);
    due = now.tv_sec * 1000000000LL + now.tv_nsec + ahead_ns;
    at.it_value.tv_sec = due / 1000000000;
    at.it_value.tv_nsec = due % 1000000000;
    for (i = 0; i < count; i++)
        if (timer_settime(timers[i], TIMER_ABSTIME, &at, 0))
            fail("timer_settime");
    do {
        clock_gettime(clock, &now);
        is = now.tv_sec * 1000000000LL + now.tv_nsec;
    } while (is < due + ahead_ns / 4);
    for (i = 0; i < count; i++)
        timer_delete(timers[i]);
    free(timers);
}

int main(int argc, char **argv)
{
    struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
    sigset_t blocked;
    int count = argc == 2 ? atoi(argv[1]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: timers COUNT\n");
        return 2;
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, 0);
    if (setrlimit(RLIMIT_SIGPENDING, &all))
        fail("setrlimit");
    expire(CLOCK_MONOTONIC, count, 60000000);
    expire(CLOCK_PROCESS_CPUTIME_ID, count, 60000000);
    return 0;
}
