// SPDX-License-Identifier: GPL-2.0
/*
 * Repeats each benchmark and takes the shortest time, or has one repetition counted.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sort.h>
#include <linux/time64.h>

#include "micro.h"

/* A repetition takes a fraction of a millisecond even where a hypervisor answers each operation. */
static const struct micro_benchmark micro_benchmarks[] = {
	{ "kernel-rdmsr", 200, micro_rdmsr },
	{ "kernel-wrmsr", 200, micro_wrmsr },
	{ "kernel-cr3", 100, micro_cr3 },
	{ "kernel-invlpg", 200, micro_invlpg },
	{ "kernel-flags", 2000, micro_flags },
	{ "kernel-system", 1000, micro_system },
	{ "kernel-port", 10, micro_port },
	{ "kernel-self-ipi", 20, micro_self_ipi },
	{ "kernel-other-ipi", 20, micro_other_ipi },
	{ "kernel-timer", 20, micro_timer },
	{ "kernel-halt", 1, micro_halt },
	{ "kernel-switch", 1, micro_switch },
	{ "kernel-switch-cold", 1, micro_switch_cold },
};

/* nopl MARKER(%rax), which no compiler writes with such a displacement. */
noinline void micro_mark_begin(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x80; .long 0x434d4201");
}

noinline void micro_mark_end(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x80; .long 0x434d4202");
}

static int later(const void *left, const void *right)
{
	const u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return a < b ? -1 : a > b;
}

/* No time is 0: a reader takes 0 for a line that is damaged. */
static u64 nanoseconds(u64 cycles)
{
	return max(1ULL, div64_u64(cycles * USEC_PER_SEC, tsc_khz));
}

static int count(const struct micro_benchmark *benchmark)
{
	/* What was counted has to be executed to its end, or the plugin's lines belong to others. */
	struct micro_repetition repetition = { .is_counted = true };

	return benchmark->execute(&repetition, benchmark->operations);
}

static int time(const struct micro_benchmark *benchmark, u64 *cycles)
{
	unsigned int i;

	for (i = 0; i < MICRO_REPETITIONS; i++) {
		struct micro_repetition repetition = { .is_counted = false };
		int error = benchmark->execute(&repetition, benchmark->operations);

		if (error)
			return error;
		if (signal_pending(current))
			return -EINTR;
		cycles[i] = repetition.end - repetition.begin;
		cond_resched();
	}
	sort(cycles, MICRO_REPETITIONS, sizeof(*cycles), later, NULL);
	return 0;
}

int micro_execute(bool counts, char *text, size_t size, size_t *length)
{
	u64 cycles[MICRO_REPETITIONS];
	unsigned int i;

	*length = 0;
	for (i = 0; i < ARRAY_SIZE(micro_benchmarks); i++) {
		const struct micro_benchmark *benchmark = &micro_benchmarks[i];
		/* The first time fills caches, and tells whether this machine can execute it. */
		struct micro_repetition warm = { .is_counted = false };
		int error = benchmark->execute(&warm, benchmark->operations);

		if (error == -ENODEV)
			continue;
		if (!error)
			error = counts ? count(benchmark) : time(benchmark, cycles);
		if (error) {
			if (error != -EINTR)
				pr_err("preemptlab_micro: %s: error %d\n", benchmark->name, -error);
			return error;
		}
		*length += scnprintf(text + *length, size - *length, "%s %u", benchmark->name,
				     benchmark->operations);
		if (!counts)
			*length += scnprintf(text + *length, size - *length, " %llu %llu",
					     nanoseconds(cycles[0]),
					     nanoseconds(cycles[MICRO_REPETITIONS / 4]));
		*length += scnprintf(text + *length, size - *length, "\n");
		if (*length + 1 >= size)
			return -EOVERFLOW;
	}
	return 0;
}
