// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time of one's own.
 *
 * Whoever looked at the clock would count the time in which another thread ran, so instructions are
 * counted: virtual time passes by them alone. QEMU translates a page's no-operations to next to
 * nothing, up to 512 instructions at a time, so that a second of them takes a fraction of one.
 */
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "scenario.h"

#define COARSE_NOPS 500

/*
 * Counts down to zero and goes back until then; aligned, so that the coarse loop does not cross a page. A label that
 * is a number would be a symbol of the module on arm64.
 */
#if defined(CONFIG_X86)
#define COARSE_ALIGN "9"
#define COUNT_DOWN "	dec %0\n" "	jnz .Lturn%=\n"
#elif defined(CONFIG_ARM64)
#define COARSE_ALIGN "11"
#define COUNT_DOWN "	subs %0, %0, #1\n" "	b.ne .Lturn%=\n"
#else
#error "the busy loop is written for x86-64 and arm64"
#endif

static noinline void preemptlab_scenario_spin(u64 turns)
{
	if (!turns)
		return;
	asm volatile(".p2align " COARSE_ALIGN "\n"
		     ".Lturn%=: .rept %c1\n"
		     "	nop\n"
		     "	.endr\n"
		     COUNT_DOWN
		     : "+r" (turns) : "i" (COARSE_NOPS) : "cc");
}

static noinline void preemptlab_scenario_spin_finely(u64 turns)
{
	if (!turns)
		return;
	asm volatile(".p2align 4\n"
		     ".Lturn%=:\n"
		     COUNT_DOWN
		     : "+r" (turns) : : "cc");
}

/* How long so many turns take at least, with the calls around them. */
static u64 timed(void (*spin)(u64 turns), u64 turns)
{
	u64 begin, fastest = U64_MAX;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		local_irq_save(flags);
		begin = ktime_get_ns();
		spin(turns);
		fastest = min(fastest, ktime_get_ns() - begin);
		local_irq_restore(flags);
	}
	return fastest;
}

/*
 * What a turn takes, in picoseconds, from what so many more turns take longer: of the coarse loop
 * some 10 ms, as the clocks of several CPUs are 10 us apart.
 */
#define MORE_TURNS 10000

static u64 turn_ps(void (*spin)(u64 turns))
{
	u64 few = timed(spin, 100), many = timed(spin, 100 + MORE_TURNS);

	return max_t(u64, div_u64((many - few) * 1000, MORE_TURNS), 1);
}

/* Turns between two looks whether to go on: about a millisecond. */
#define TURNS_AT_A_TIME 1000

bool scenario_is_over(const struct scenario *s)
{
	return READ_ONCE(s->closing) || (in_task() && fatal_signal_pending(current));
}

bool scenario_busy(const struct scenario *s, u64 ns)
{
	u64 rest_ps, now, turns = div64_u64_rem(ns * 1000, s->coarse_ps, &rest_ps);

	for (; turns; turns -= now) {
		if (scenario_is_over(s))
			return false;
		now = min_t(u64, turns, TURNS_AT_A_TIME);
		preemptlab_scenario_spin(now);
	}
	preemptlab_scenario_spin_finely(div64_u64(rest_ps, s->fine_ps));
	return !scenario_is_over(s);
}

void scenario_calibrate(struct scenario *s)
{
	s->coarse_ps = turn_ps(preemptlab_scenario_spin);
	s->fine_ps = turn_ps(preemptlab_scenario_spin_finely);
}
