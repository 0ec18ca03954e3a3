/* SPDX-License-Identifier: GPL-2.0 */
/* What every module of preemptlab needs. */
#ifndef PREEMPTLAB_H
#define PREEMPTLAB_H

#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <asm/msr.h>
#include <asm/tsc.h>

/*
 * Modules are loaded before the snapshot, which is taken about 3.02 s of virtual time after the last
 * of them (guest/src/snapshot.rs and SNAPSHOT_DELAY_NS) and wants every CPU idle. A module does
 * nothing for this long after it was loaded; what it does then belongs to the cell.
 */
#define PREEMPTLAB_QUIET_MS 3200

/* Instructions between two looks at the clock: a TCG guest leaves translated code for each look. */
#define PREEMPTLAB_SPINS 16

/* A duration in cycles of the TSC, rounded up. Not for the hot path: it divides. */
static inline u64 preemptlab_cycles(u64 duration_ns)
{
	return div64_u64(duration_ns * tsc_khz + USEC_PER_SEC - 1, USEC_PER_SEC);
}

/*
 * Keeps the CPU busy for that many cycles of the TSC, and for some 100 ns more at most. It calls
 * nothing, so that the time is the caller's own and no lock, preemption or interrupt state changes.
 */
static __always_inline void preemptlab_busy_wait(u64 cycles)
{
	const u64 start = rdtsc_ordered();
	unsigned int i;

	while (rdtsc_ordered() - start < cycles)
		for (i = 0; i < PREEMPTLAB_SPINS; i++)
			barrier();
}

#endif
