// SPDX-License-Identifier: GPL-2.0
/* The system call of several operations. */
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "scenario.h"

static int lock(struct scenario *s, u32 arg)
{
	u32 number = arg & 0xff;

	switch (arg >> 8) {
	case SCENARIO_SPIN:
		spin_lock(&s->spin[number]);
		return 0;
	case SCENARIO_RAW_SPIN:
		raw_spin_lock(&s->raw_spin[number]);
		return 0;
	case SCENARIO_MUTEX:
		return mutex_lock_killable(&s->mutex[number]);
	case SCENARIO_RT_MUTEX:
		return rt_mutex_lock_killable(&s->rt_mutex[number]);
	case SCENARIO_READ:
		read_lock(&s->rwlock[number]);
		return 0;
	default:
		write_lock(&s->rwlock[number]);
		return 0;
	}
}

static void unlock(struct scenario *s, u32 arg)
{
	u32 number = arg & 0xff;

	switch (arg >> 8) {
	case SCENARIO_SPIN:
		spin_unlock(&s->spin[number]);
		break;
	case SCENARIO_RAW_SPIN:
		raw_spin_unlock(&s->raw_spin[number]);
		break;
	case SCENARIO_MUTEX:
		mutex_unlock(&s->mutex[number]);
		break;
	case SCENARIO_RT_MUTEX:
		rt_mutex_unlock(&s->rt_mutex[number]);
		break;
	case SCENARIO_READ:
		read_unlock(&s->rwlock[number]);
		break;
	default:
		write_unlock(&s->rwlock[number]);
		break;
	}
}

static int zero_pages(const struct scenario *s, struct page *page, u32 count)
{
	for (; count; count--) {
		if (scenario_is_over(s))
			return -EINTR;
		clear_highpage(page);
	}
	return 0;
}

static int sleep(u64 ns)
{
	ktime_t left = ns_to_ktime(ns);

	set_current_state(TASK_KILLABLE);
	return schedule_hrtimeout(&left, HRTIMER_MODE_REL) ? -EINTR : 0;
}

static int wait_interrupt(struct line *line)
{
	int done = atomic_read(&line->done);

	return wait_event_killable(line->wait, atomic_read(&line->done) != done);
}

/* Does an operation; EINTR when the caller was killed in it. */
static int perform(struct scenario *s, const struct scenario_operation *operation,
		   struct page *page)
{
	switch (operation->op) {
	case SCENARIO_BUSY:
		return scenario_busy(s, operation->ns) ? 0 : -EINTR;
	case SCENARIO_COND_RESCHED:
		cond_resched();
		return 0;
	case SCENARIO_MIGHT_RESCHED:
		might_resched();
		return 0;
	case SCENARIO_SLEEP:
		return sleep(operation->ns);
	case SCENARIO_PREEMPT_DISABLE:
		preempt_disable();
		return 0;
	case SCENARIO_PREEMPT_ENABLE:
		preempt_enable();
		return 0;
	case SCENARIO_IRQS_DISABLE:
		local_irq_disable();
		return 0;
	case SCENARIO_IRQS_ENABLE:
		local_irq_enable();
		return 0;
	case SCENARIO_BH_DISABLE:
		local_bh_disable();
		return 0;
	case SCENARIO_BH_ENABLE:
		local_bh_enable();
		return 0;
	case SCENARIO_LOCK:
		return lock(s, operation->arg);
	case SCENARIO_UNLOCK:
		unlock(s, operation->arg);
		return 0;
	case SCENARIO_WAIT_INTERRUPT:
		return wait_interrupt(&s->line[operation->arg]);
	default:
		return zero_pages(s, page, operation->arg);
	}
}

/* The operation that ends what another one began, or one that is none. */
static u32 ending(u32 op)
{
	switch (op) {
	case SCENARIO_PREEMPT_DISABLE:
	case SCENARIO_IRQS_DISABLE:
	case SCENARIO_BH_DISABLE:
	case SCENARIO_LOCK:
		return op + 1;
	default:
		return U32_MAX;
	}
}

/*
 * Gives back what a call holds after so many of its operations. Going backwards, whatever an
 * operation has ended is passed by together with what began it.
 */
static void give_back(struct scenario *s, const struct scenario_operation *operation,
		      unsigned int done)
{
	unsigned int ended = 0;

	while (done--) {
		struct scenario_operation end = operation[done];

		switch (end.op) {
		case SCENARIO_PREEMPT_ENABLE:
		case SCENARIO_IRQS_ENABLE:
		case SCENARIO_BH_ENABLE:
		case SCENARIO_UNLOCK:
			ended++;
			continue;
		}
		end.op = ending(end.op);
		if (end.op == U32_MAX)
			continue;
		if (ended)
			ended--;
		else
			perform(s, &end, NULL);
	}
}

/* The one function of all calls, for whoever reads a stack. */
static noinline int preemptlab_scenario_call(struct scenario *s, struct slot *slot,
					     unsigned int count, struct page *page)
{
	unsigned int i;
	int error;

	for (i = 0; i < count; i++) {
		WRITE_ONCE(slot->span[i].begin_ns, ktime_get_ns());
		error = perform(s, &slot->operation[i], page);
		if (!error)
			WRITE_ONCE(slot->span[i].end_ns, ktime_get_ns());
		if (error || scenario_is_over(s)) {
			give_back(s, slot->operation, error ? i : i + 1);
			return -EINTR;
		}
	}
	return 0;
}

int scenario_call(struct scenario *s, struct scenario_call *call, bool checks_only)
{
	struct page *page = NULL;
	unsigned int at, i;
	struct slot *slot;
	const char *why;
	int error;

	if (call->thread >= SCENARIO_THREADS_MAX || call->count > SCENARIO_OPERATIONS_MAX) {
		call->refused_at = 0;
		strscpy(call->reason, "there are too many threads or operations",
			sizeof(call->reason));
		return -EINVAL;
	}
	slot = &s->slot[call->thread];
	if (test_and_set_bit_lock(0, &slot->in_use))
		return -EBUSY;
	error = -EFAULT;
	if (copy_from_user(slot->operation, u64_to_user_ptr(call->operations),
			   call->count * sizeof(slot->operation[0])))
		goto out;
	error = -EINVAL;
	why = scenario_check(s, slot->operation, call->count, &at);
	if (why) {
		call->refused_at = at;
		strscpy(call->reason, why, sizeof(call->reason));
		goto out;
	}
	error = 0;
	if (checks_only)
		goto out;
	for (i = 0; i < call->count && !page; i++) {
		if (slot->operation[i].op != SCENARIO_ZERO_PAGES)
			continue;
		error = -ENOMEM;
		page = alloc_page(GFP_KERNEL);
		if (!page)
			goto out;
	}
	memset(slot->span, 0, sizeof(slot->span));
	error = preemptlab_scenario_call(s, slot, call->count, page);
	if (copy_to_user(u64_to_user_ptr(call->spans), slot->span,
			 call->count * sizeof(slot->span[0])) && !error)
		error = -EFAULT;
out:
	if (page)
		__free_page(page);
	clear_bit_unlock(0, &slot->in_use);
	return error;
}

int scenario_progress(struct scenario *s, struct scenario_progress *progress)
{
	struct slot *slot;
	unsigned int begun;

	if (progress->thread >= SCENARIO_THREADS_MAX)
		return -EINVAL;
	slot = &s->slot[progress->thread];
	for (begun = 0; begun < min_t(u32, progress->count, SCENARIO_OPERATIONS_MAX); begun++)
		if (!READ_ONCE(slot->span[begun].begin_ns))
			break;
	if (copy_to_user(u64_to_user_ptr(progress->spans), slot->span,
			 begun * sizeof(slot->span[0])))
		return -EFAULT;
	progress->count = begun;
	return 0;
}
