/* SPDX-License-Identifier: GPL-2.0 */
/* What every module of preemptlab needs. */
#ifndef PREEMPTLAB_H
#define PREEMPTLAB_H

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>

/* The counter by which modules wait: its rate, and its value in the order of instructions. */
#if defined(CONFIG_X86)
#include <asm/msr.h>
#include <asm/tsc.h>

static inline u32 preemptlab_counter_khz(void)
{
	return tsc_khz;
}

static __always_inline u64 preemptlab_counter(void)
{
	return rdtsc_ordered();
}
#elif defined(CONFIG_ARM64)
#include <asm/arch_timer.h>

static inline u32 preemptlab_counter_khz(void)
{
	return arch_timer_get_cntfrq() / 1000;
}

static __always_inline u64 preemptlab_counter(void)
{
	return __arch_counter_get_cntvct();
}
#else
#error "modules know the counters of x86-64 and arm64"
#endif

/*
 * Modules are loaded before the snapshot, which is taken about 3.02 s of virtual time after the last
 * of them (guest/src/snapshot.rs and SNAPSHOT_DELAY_NS) and wants every CPU idle. A module does
 * nothing for this long after it was loaded; what it does then belongs to the cell.
 */
#define PREEMPTLAB_QUIET_MS 3200

/* Instructions between two looks at the clock: a TCG guest leaves translated code for each look. */
#define PREEMPTLAB_SPINS 16

/* A duration in cycles of the counter, rounded up. Not for the hot path: it divides. */
static inline u64 preemptlab_cycles(u64 duration_ns)
{
	return div64_u64(duration_ns * preemptlab_counter_khz() + USEC_PER_SEC - 1, USEC_PER_SEC);
}

/*
 * Keeps the CPU busy for that many cycles of the counter, and for some 100 ns more at most. It calls
 * nothing, so that the time is the caller's own and no lock, preemption or interrupt state changes.
 */
static __always_inline void preemptlab_busy_wait(u64 cycles)
{
	const u64 start = preemptlab_counter();
	unsigned int i;

	while (preemptlab_counter() - start < cycles)
		for (i = 0; i < PREEMPTLAB_SPINS; i++)
			barrier();
}

#endif
