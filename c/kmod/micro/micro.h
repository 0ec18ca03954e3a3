/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Micro-benchmarks in the kernel, of what no program may execute. Together with those of
 * guest/micro they tell `preemptlab calibrate` the prices of a machine.
 */
#ifndef PREEMPTLAB_MICRO_H
#define PREEMPTLAB_MICRO_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/msr.h>
#include <asm/tsc.h>

/* Repetitions of a benchmark, as in guest/micro. The shortest is what nothing has disturbed. */
#define MICRO_REPETITIONS 41

/* Nothing that a benchmark waits for takes as long, in a guest or not. */
#define MICRO_WAIT_MS 200

/*
 * Marks for QEMU's plugin, which counts the instructions between them: crates/protocol/src/counts.rs.
 * Both are a NOP. Functions of their own, so that each is in one place of the module alone.
 */
void micro_mark_begin(void);
void micro_mark_end(void);

/* One repetition. */
struct micro_repetition {
	/* Whether the plugin counts it. */
	bool is_counted;
	/* The TSC at its begin and its end. */
	u64 begin;
	u64 end;
};

static __always_inline void micro_begin(struct micro_repetition *repetition)
{
	repetition->begin = rdtsc_ordered();
	if (repetition->is_counted)
		micro_mark_begin();
}

static __always_inline void micro_end(struct micro_repetition *repetition)
{
	repetition->end = rdtsc_ordered();
	if (repetition->is_counted)
		micro_mark_end();
}

/* A benchmark. */
struct micro_benchmark {
	const char *name;
	/* Operations of a repetition. */
	unsigned int operations;
	/*
	 * Executes one repetition and marks where it begins and ends. Returns 0, an error, or
	 * -ENODEV where this machine cannot execute it.
	 */
	int (*execute)(struct micro_repetition *repetition, unsigned int operations);
};

/* Cycles until something that does not come is given up. */
static inline u64 micro_wait_cycles(void)
{
	return (u64)tsc_khz * MICRO_WAIT_MS;
}

/* Waits with a barrier only, so that hardly anything beside the interrupt is measured. */
#define micro_wait(condition)                                                                      \
	({                                                                                         \
		const u64 since = rdtsc(), most = micro_wait_cycles();                             \
		unsigned int looks = 0;                                                            \
		int error = 0;                                                                     \
		while (!(condition)) {                                                             \
			barrier();                                                                 \
			if (!(++looks % 256) && rdtsc() - since > most) {                          \
				error = -ETIMEDOUT;                                                \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		error;                                                                             \
	})

int micro_rdmsr(struct micro_repetition *repetition, unsigned int operations);
int micro_wrmsr(struct micro_repetition *repetition, unsigned int operations);
int micro_cr3(struct micro_repetition *repetition, unsigned int operations);
int micro_invlpg(struct micro_repetition *repetition, unsigned int operations);
int micro_flags(struct micro_repetition *repetition, unsigned int operations);
int micro_system(struct micro_repetition *repetition, unsigned int operations);
int micro_port(struct micro_repetition *repetition, unsigned int operations);

int micro_self_ipi(struct micro_repetition *repetition, unsigned int operations);
int micro_other_ipi(struct micro_repetition *repetition, unsigned int operations);
int micro_timer(struct micro_repetition *repetition, unsigned int operations);
int micro_halt(struct micro_repetition *repetition, unsigned int operations);

int micro_switch(struct micro_repetition *repetition, unsigned int operations);
int micro_switch_cold(struct micro_repetition *repetition, unsigned int operations);

/* Executes every benchmark on this CPU, and writes a line for each: meter.c. */
int micro_execute(bool counts, char *text, size_t size, size_t *length);

#endif
