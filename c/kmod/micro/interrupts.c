// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: of this CPU by itself, of another CPU, of the timer, and out of HLT. Handlers run in
 * hard interrupt context with PREEMPT_RT as well.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/version.h>

#include "micro.h"

static bool arrived;

static void arrive(struct irq_work *unused)
{
	WRITE_ONCE(arrived, true);
}

static struct irq_work self = IRQ_WORK_INIT_HARD(arrive);

/* Only one caller at a time measures: file.c. */
int micro_self_ipi(struct micro_repetition *repetition, unsigned int operations)
{
	int error = 0;

	preempt_disable();
	micro_begin(repetition);
	while (operations-- && !error) {
		WRITE_ONCE(arrived, false);
		irq_work_queue(&self);
		error = micro_wait(READ_ONCE(arrived));
	}
	micro_end(repetition);
	preempt_enable();
	/* The module may not go away before the work is over. */
	irq_work_sync(&self);
	return error;
}

static void answer(void *unused)
{
}

/* The call returns when the other CPU has answered. */
int micro_other_ipi(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned int other;
	int error = 0;

	cpus_read_lock();
	preempt_disable();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (other >= nr_cpu_ids)
		error = -ENODEV;
	if (!error) {
		micro_begin(repetition);
		while (operations-- && !error)
			error = smp_call_function_single(other, answer, NULL, 1);
		micro_end(repetition);
	}
	preempt_enable();
	cpus_read_unlock();
	return error;
}

static enum hrtimer_restart fire(struct hrtimer *unused)
{
	WRITE_ONCE(arrived, true);
	return HRTIMER_NORESTART;
}

static struct hrtimer timer;

static void init_timer(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer.function = fire;
#endif
}

/* A timer that expires when it is set: what is waited for is the interrupt and nothing else. */
int micro_timer(struct micro_repetition *repetition, unsigned int operations)
{
	int error = 0;

	init_timer();
	preempt_disable();
	micro_begin(repetition);
	while (operations-- && !error) {
		WRITE_ONCE(arrived, false);
		hrtimer_start(&timer, ktime_get(), HRTIMER_MODE_ABS_PINNED_HARD);
		error = micro_wait(READ_ONCE(arrived));
	}
	micro_end(repetition);
	preempt_enable();
	hrtimer_cancel(&timer);
	return error;
}

/* Longer than it takes to fall asleep, and short enough that no tick comes in most repetitions. */
#define SLEEP_NS 50000

/*
 * Sleeps until a timer expires, and measures from there: what a processor takes to wake up. The
 * instructions that are counted are HLT and those that follow.
 */
int micro_halt(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;
	u64 since, expires;
	int error = 0;

	init_timer();
	preempt_disable();
	local_irq_save(flags);
	WRITE_ONCE(arrived, false);
	expires = ktime_get_ns() + SLEEP_NS;
	hrtimer_start(&timer, ns_to_ktime(expires), HRTIMER_MODE_ABS_PINNED_HARD);
	since = rdtsc();
	micro_begin(repetition);
	/* Interrupts are on from the instruction after STI, so that none comes before HLT. */
	while (!READ_ONCE(arrived) && rdtsc() - since < micro_wait_cycles())
		asm volatile("sti; hlt; cli" : : : "memory");
	micro_end(repetition);
	/* The timer's clock is not the TSC: how long ago it expired is told by the timer's. */
	repetition->begin = 0;
	repetition->end = div64_u64((ktime_get_ns() - expires) * tsc_khz, USEC_PER_SEC);
	if (!READ_ONCE(arrived))
		error = -ETIMEDOUT;
	local_irq_restore(flags);
	preempt_enable();
	hrtimer_cancel(&timer);
	return error;
}
