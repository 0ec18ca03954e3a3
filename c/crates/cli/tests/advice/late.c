// Makes wakeups late, each way by a cause of its own.
//   late spin POLICY BUSY_US PERIOD_US   a thread that computes in each period
//   late nap SLACK_NS                    a thread that sleeps, with that timer slack
//   late timers THREADS PERIOD_US        threads whose timers are due at the same instants
//   late herd THREADS PERIOD_US          threads that one write() wakes with interrupts off
//   late call OPERATION BUSY_US PERIOD_US  system calls that are busy (preemptlab_scenario)
//   late line PART BUSY_US PERIOD_US     interrupts of a device (preemptlab_scenario)
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preemptlab_scenario.h"

#define NS_PER_US 1000L
#define NS_PER_S 1000000000L

static long period_ns, start_ns;
static int event;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_until(long ns)
{
	struct timespec until = { ns / NS_PER_S, ns % NS_PER_S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void start(void *(*work)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 32768);
	if (pthread_create(&thread, &attributes, work, NULL))
		fail("a thread");
}

/* Makes the caller a deadline task, which may run for a third of each period. */
static void become_deadline(long busy_ns)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = { sizeof(attributes), 6, 0, 0, 0, 3 * busy_ns / 2, period_ns, period_ns };

	if (syscall(SYS_sched_setattr, 0, &attributes, 0))
		fail("SCHED_DEADLINE");
}

static int spin(const char *policy, long busy_ns)
{
	if (!strcmp(policy, "deadline"))
		become_deadline(busy_ns);
	for (long next = now_ns();; next += period_ns) {
		long until = now_ns() + busy_ns;

		while (now_ns() < until)
			;
		if (period_ns > busy_ns)
			sleep_until(next + period_ns);
	}
}

static void *nap(void *unused)
{
	for (int i = 0; i < 300; i++)
		sleep_until(now_ns() + 1000 * NS_PER_US);
	puts("done 1");
	exit(0);
}

static void *wait_for_time(void *unused)
{
	for (long due = start_ns;;)
		sleep_until(due += period_ns);
}

static void *wait_for_event(void *unused)
{
	for (;;) {
		struct pollfd poll_for = { event, POLLIN, 0 };

		poll(&poll_for, 1, -1);
	}
}

static int herd(void)
{
	for (long due = start_ns;;) {
		uint64_t count = 1;

		sleep_until(due += period_ns);
		if (write(event, &count, 8) != 8 || read(event, &count, 8) != 8)
			fail("the event");
	}
}

static int call(int device, const char *name, long busy_ns)
{
	int is_spin = !strcmp(name, "spin");
	struct scenario_operation all[] = {
		{ SCENARIO_LOCK, SCENARIO_SPIN << 8, 0 },
		{ SCENARIO_BUSY, 0, busy_ns },
		{ SCENARIO_UNLOCK, SCENARIO_SPIN << 8, 0 },
	};
	struct scenario_span spans[3];
	struct scenario_call call = {
		.count = is_spin ? 3 : 1,
		.operations = (uintptr_t)(is_spin ? all : all + 1),
		.spans = (uintptr_t)spans,
	};

	for (long next = now_ns();; next += period_ns) {
		if (ioctl(device, SCENARIO_CALL, &call))
			fail(call.reason);
		sleep_until(next + period_ns);
	}
}

static int line(int device, const char *part, long busy_ns)
{
	int is_hard = !strcmp(part, "hard");
	struct scenario_lines lines = { .count = 1, .line = { {
		.name = "late",
		.hard_ns = is_hard ? busy_ns : 0,
		.threaded_ns = SCENARIO_NO_PART,
		.softirq_ns = is_hard ? SCENARIO_NO_PART : busy_ns,
		.work_ns = SCENARIO_NO_PART,
	} } };
	uint64_t at_ns[SCENARIO_EVENTS_MAX];
	struct scenario_arm arm = { 0, SCENARIO_EVENTS_MAX, (uintptr_t)at_ns };

	for (int i = 0; i < SCENARIO_EVENTS_MAX; i++)
		at_ns[i] = start_ns + i * period_ns;
	if (ioctl(device, SCENARIO_SET_LINES, &lines) || ioctl(device, SCENARIO_ARM, &arm))
		fail("the interrupt");
	for (;;)
		pause();
}

int main(int count, char **words)
{
	const char *mode = count > 2 ? words[1] : "";
	long number = count > 2 ? atol(words[2]) : 0;

	start_ns = now_ns() + 20000 * NS_PER_US;
	period_ns = count > 3 ? atol(words[count - 1]) * NS_PER_US : 0;
	if (!strcmp(mode, "nap")) {
		/* A thread starts with the slack of the one that makes it. */
		prctl(PR_SET_TIMERSLACK, number);
		start(nap);
	} else if (!strcmp(mode, "timers")) {
		while (number--)
			start(wait_for_time);
	} else if (!strcmp(mode, "herd")) {
		event = eventfd(0, 0);
		while (number--)
			start(wait_for_event);
		return herd();
	} else if (count > 4) {
		long busy_ns = atol(words[3]) * NS_PER_US;
		int device;

		if (!strcmp(mode, "spin"))
			return spin(words[2], busy_ns);
		/* The module calibrates itself with interrupts off when the device is opened. */
		device = open("/dev/preemptlab_scenario", O_RDWR);
		if (device < 0)
			fail("the device");
		if (!strcmp(mode, "call"))
			return call(device, words[2], busy_ns);
		if (!strcmp(mode, "line"))
			return line(device, words[2], busy_ns);
	} else {
		return 2;
	}
	for (;;)
		pause();
}
