// SPDX-License-Identifier: GPL-2.0
/*
 * Ground truth for what preemptlab measures: one SCHED_NORMAL thread holds the kernel
 * non-preemptible, in every way that there is, for durations that are known.
 *
 * Each kind of hold waits in a function that is named after it, so that whoever says which code was
 * to blame for a latency can be checked by the function's name. With PREEMPT_RT a spinlock_t
 * sleeps and softirqs run in threads: there `spin` and `softirq` hold nothing, on purpose.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../preemptlab.h"

/* The table's one side: how long. */
static const u32 hold_durations_us[] = { 5, 20, 100, 1000, 5000 };

/* The table's other side: how. */
static void preemptlab_hold_preempt(u64 cycles);
static void preemptlab_hold_irq(u64 cycles);
static void preemptlab_hold_spin(u64 cycles);
static void preemptlab_hold_raw_spin(u64 cycles);
static void hold_by_tasklet(u64 cycles);

static void (*const hold_kinds[])(u64 cycles) = {
	preemptlab_hold_preempt,
	preemptlab_hold_irq,
	preemptlab_hold_spin,
	preemptlab_hold_raw_spin,
	hold_by_tasklet,
};

/* Between two holds. A round of all kinds and durations takes 25 x 7 ms + 5 x 6.125 ms = 206 ms. */
#define HOLD_GAP_US 7000

static DEFINE_SPINLOCK(hold_lock);
static DEFINE_RAW_SPINLOCK(hold_raw_lock);

static noinline void preemptlab_hold_preempt(u64 cycles)
{
	preempt_disable();
	preemptlab_busy_wait(cycles);
	preempt_enable();
}

static noinline void preemptlab_hold_irq(u64 cycles)
{
	unsigned long flags;

	local_irq_save(flags);
	preemptlab_busy_wait(cycles);
	local_irq_restore(flags);
}

static noinline void preemptlab_hold_spin(u64 cycles)
{
	spin_lock(&hold_lock);
	preemptlab_busy_wait(cycles);
	spin_unlock(&hold_lock);
}

static noinline void preemptlab_hold_raw_spin(u64 cycles)
{
	raw_spin_lock(&hold_raw_lock);
	preemptlab_busy_wait(cycles);
	raw_spin_unlock(&hold_raw_lock);
}

static u64 tasklet_cycles;
static DECLARE_COMPLETION(tasklet_done);

static noinline void preemptlab_hold_softirq(struct tasklet_struct *unused)
{
	preemptlab_busy_wait(tasklet_cycles);
	complete(&tasklet_done);
}

static DECLARE_TASKLET(hold_tasklet, preemptlab_hold_softirq);

/* The softirq runs when bottom halves are enabled again, or soon after in ksoftirqd. */
static void hold_by_tasklet(u64 cycles)
{
	tasklet_cycles = cycles;
	local_bh_disable();
	tasklet_schedule(&hold_tasklet);
	local_bh_enable();
	wait_for_completion(&tasklet_done);
}

/* Sleeps; returns whether the thread is to go on. */
static bool hold_pause(unsigned long pause_us)
{
	usleep_range(pause_us, pause_us + 1);
	return !kthread_should_stop();
}

static int hold_thread(void *unused)
{
	u64 cycles[ARRAY_SIZE(hold_durations_us)];
	unsigned int i = 0, kinds = ARRAY_SIZE(hold_kinds);
	bool goes_on;
	unsigned int k;

	/* Beside a load of some dozen tasks a round would take a second otherwise. */
	set_user_nice(current, MIN_NICE);
	goes_on = hold_pause(PREEMPTLAB_QUIET_MS * USEC_PER_MSEC);
	/* Only now, when the kernel has calibrated the counter to the last digits. */
	for (k = 0; k < ARRAY_SIZE(cycles); k++)
		cycles[k] = preemptlab_cycles((u64)hold_durations_us[k] * NSEC_PER_USEC);
	/* All kinds with one duration, then all kinds with the next one, for ever. */
	while (goes_on) {
		hold_kinds[i % kinds](cycles[i / kinds]);
		i = (i + 1) % (kinds * ARRAY_SIZE(cycles));
		goes_on = hold_pause(HOLD_GAP_US);
	}
	return 0;
}

static struct task_struct *hold_task;

static int __init hold_init(void)
{
	if (!preemptlab_counter_khz())
		return -ENODEV;
	hold_task = kthread_run(hold_thread, NULL, "preemptlab_hold");
	return PTR_ERR_OR_ZERO(hold_task);
}

static void __exit hold_exit(void)
{
	kthread_stop(hold_task);
	tasklet_kill(&hold_tasklet);
}

module_init(hold_init);
module_exit(hold_exit);
MODULE_DESCRIPTION("Holds the kernel non-preemptible for known durations");
MODULE_LICENSE("GPL");
