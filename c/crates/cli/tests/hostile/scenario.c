// SPDX-License-Identifier: GPL-2.0
/*
 * Asks /dev/preemptlab_scenario for what it must refuse, and then for anything at all. The guest's
 * kernel panics at its first oops, and the cell fails. Prints how much was refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preemptlab_scenario.h"

#define RANDOM_CALLS 20000

static int device;
static unsigned int refused;

static void fail(const char *what)
{
	printf("not refused: %s\n", what);
	exit(1);
}

static void refuses(unsigned long request, void *argument, const char *what)
{
	if (ioctl(device, request, argument) == 0)
		fail(what);
	refused++;
}

static int call(unsigned long request, struct scenario_operation *operations, unsigned int count)
{
	struct scenario_span spans[SCENARIO_OPERATIONS_MAX] = { 0 };
	struct scenario_call call = {
		.count = count,
		.operations = (uintptr_t)operations,
		.spans = (uintptr_t)spans,
	};

	return ioctl(device, request, &call);
}

static void refuses_operations(struct scenario_operation *operations, unsigned int count,
			       const char *what)
{
	if (call(SCENARIO_CHECK, operations, count) == 0 ||
	    call(SCENARIO_CALL, operations, count) == 0)
		fail(what);
	refused += 2;
}

#define REFUSES(what, ...)                                                                         \
	do {                                                                                       \
		struct scenario_operation operations[] = { __VA_ARGS__ };                          \
		refuses_operations(operations, sizeof(operations) / sizeof(*operations), what);    \
	} while (0)

static uint32_t lock(uint32_t kind, uint32_t number)
{
	return kind << 8 | number;
}

static void bad_operations(void)
{
	struct scenario_operation many[SCENARIO_OPERATIONS_MAX + 1] = { 0 };
	uint32_t op;

	REFUSES("an operation that is not there", { .op = 99 });
	REFUSES("an operation that is not there", { .op = ~0U });
	REFUSES("a time that is too long", { .op = SCENARIO_BUSY, .ns = SCENARIO_NS_MAX + 1 });
	REFUSES("a time that is too long", { .op = SCENARIO_SLEEP, .ns = ~0ULL });
	REFUSES("a lock that is not there", { .op = SCENARIO_LOCK, .arg = lock(6, 0) });
	REFUSES("a lock that is not there", { .op = SCENARIO_LOCK, .arg = lock(0, 16) });
	REFUSES("a lock that is not there", { .op = SCENARIO_LOCK, .arg = ~0U });
	REFUSES("a lock that is not held", { .op = SCENARIO_UNLOCK, .arg = lock(0, 0) });
	REFUSES("a line that is not there", { .op = SCENARIO_WAIT_INTERRUPT, .arg = 0 });
	REFUSES("a line that is not there", { .op = SCENARIO_WAIT_INTERRUPT, .arg = ~0U });
	REFUSES("too many pages", { .op = SCENARIO_ZERO_PAGES, .arg = SCENARIO_PAGES_MAX + 1 });
	REFUSES("an argument that is not used", { .op = SCENARIO_BUSY, .arg = 1, .ns = 1 });
	REFUSES("an argument that is not used", { .op = SCENARIO_COND_RESCHED, .ns = 1 });
	for (op = SCENARIO_PREEMPT_DISABLE; op <= SCENARIO_BH_DISABLE; op += 2) {
		REFUSES("what begins and does not end", { .op = op });
		REFUSES("what ends and did not begin", { .op = op + 1 });
		REFUSES("sleep with something disabled", { .op = op }, { .op = SCENARIO_SLEEP, .ns = 1 },
			{ .op = op + 1 });
		REFUSES("a mutex with something disabled", { .op = op },
			{ .op = SCENARIO_LOCK, .arg = lock(SCENARIO_MUTEX, 0) },
			{ .op = SCENARIO_UNLOCK, .arg = lock(SCENARIO_MUTEX, 0) }, { .op = op + 1 });
	}
	REFUSES("the wrong order", { .op = SCENARIO_PREEMPT_DISABLE }, { .op = SCENARIO_IRQS_DISABLE },
		{ .op = SCENARIO_PREEMPT_ENABLE }, { .op = SCENARIO_IRQS_ENABLE });
	for (op = SCENARIO_SPIN; op <= SCENARIO_WRITE; op++) {
		REFUSES("a lock that is held", { .op = SCENARIO_LOCK, .arg = lock(op, 1) },
			{ .op = SCENARIO_LOCK, .arg = lock(op, 1) },
			{ .op = SCENARIO_UNLOCK, .arg = lock(op, 1) },
			{ .op = SCENARIO_UNLOCK, .arg = lock(op, 1) });
		REFUSES("a lock that stays held", { .op = SCENARIO_LOCK, .arg = lock(op, 1) });
		REFUSES("another lock's unlock", { .op = SCENARIO_LOCK, .arg = lock(op, 1) },
			{ .op = SCENARIO_UNLOCK, .arg = lock(op, 2) });
	}
	refuses_operations(many, SCENARIO_OPERATIONS_MAX + 1, "too many operations");
	refuses_operations(many, ~0U, "too many operations");
	refuses_operations(NULL, 1, "operations at 0");
	refuses_operations((void *)(uintptr_t)0xffffffff81000000, 1, "the kernel's memory");
}

static void bad_lines(void)
{
	struct scenario_lines lines = { .count = 1, .line[0] = { .name = "nic" } };
	struct scenario_lines wrong;
	uint64_t at[] = { 2, 1 };
	struct scenario_arm arm = { .line = 0, .count = 1, .at_ns = (uintptr_t)at };
	struct scenario_events events = { .line = 0, .count = 1, .events = 1 };
	struct scenario_progress progress = { .thread = SCENARIO_THREADS_MAX, .count = 1 };

	refuses(SCENARIO_ARM, &arm, "a line that is not set up");
	wrong = lines;
	wrong.count = SCENARIO_LINES_MAX + 1;
	refuses(SCENARIO_SET_LINES, &wrong, "too many lines");
	wrong = lines;
	wrong.count = ~0U;
	refuses(SCENARIO_SET_LINES, &wrong, "too many lines");
	wrong = lines;
	memset(wrong.line[0].name, 'a', sizeof(wrong.line[0].name));
	refuses(SCENARIO_SET_LINES, &wrong, "a name without an end");
	wrong = lines;
	wrong.line[0].hard_ns = SCENARIO_NS_MAX + 1;
	refuses(SCENARIO_SET_LINES, &wrong, "an interrupt that is too long");
	refuses(SCENARIO_SET_LINES, NULL, "lines at 0");
	refuses(SCENARIO_ARM, NULL, "events at 0");
	refuses(SCENARIO_READ_EVENTS, &events, "a line that is not set up");
	refuses(SCENARIO_PROGRESS, &progress, "a thread that is not there");
	refuses(_IO('P', 99), NULL, "a request that is not there");
	refuses(_IOWR('Q', 1, struct scenario_call), &events, "another device's request");
}

/* What is refused and what is not is as it comes; nothing may break. */
static void anything(void)
{
	struct scenario_operation *operations = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int turn, i;

	srandom(1);
	for (turn = 0; turn < RANDOM_CALLS; turn++) {
		unsigned int count = random() % 8;

		for (i = 0; i < count; i++) {
			operations[i].op = random() % 16;
			operations[i].arg = random() % 4 ? 0 : lock(random() % 7, random() % 18);
			operations[i].ns = random() % 4 ? 0 : random() % 2000;
		}
		if (call(random() % 2 ? SCENARIO_CHECK : SCENARIO_CALL, operations, count) != 0)
			refused++;
	}
}

int main(void)
{
	struct scenario_operation good = { .op = SCENARIO_BUSY, .ns = 10000 };

	device = open("/dev/preemptlab_scenario", O_RDWR);
	if (device < 0) {
		perror("/dev/preemptlab_scenario");
		return 1;
	}
	bad_operations();
	bad_lines();
	anything();
	if (call(SCENARIO_CALL, &good, 1) != 0) {
		perror("a call that is right");
		return 1;
	}
	printf("refused %u\n", refused);
	return 0;
}
