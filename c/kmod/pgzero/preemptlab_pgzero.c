// SPDX-License-Identifier: GPL-2.0
/*
 * The page-zeroing thread of FreeBSD's discussion of PREEMPTION (freebsd-arch, November 2006): one
 * thread of the idle class that zeroes pages ahead of their use, in its two variants, which either
 * yields by itself as soon as anything else could run, or relies on being preempted.
 *
 * Linux has no list of zeroed pages that the thread could fill: each page is allocated, zeroed and
 * freed at once, and whoever needs a zeroed page zeroes it again. So this is what such a thread
 * costs, without what FreeBSD got for it.
 *
 * Demand: FreeBSD's thread works when less than two thirds of the free pages are zeroed, until four
 * fifths are (vm_page_zero_check). Here as many pages count as zeroed as the thread has zeroed
 * since, less the page faults that the system has taken since; faults are a stand-in for the pages
 * that were used. The thread works when fewer than half of `pages` are left, until all are. So one
 * batch has at most `pages` pages, and the thread sleeps between two batches.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/vmstat.h>
#include <uapi/linux/sched/types.h>

#include "../preemptlab.h"

/*
 * The most that `pages` may be. Zeroing a page takes some 8 us of virtual time, so without kernel
 * preemption `yield=0` holds a CPU for at most 35 ms, far below what the watchdogs complain about.
 */
#define PGZERO_PAGES_MAX 4096

/* How often the demand is looked at; FreeBSD's allocator wakes the thread instead. */
#define PGZERO_LOOK_MS 10

static bool yields = true;
module_param_named(yield, yields, bool, 0444);
MODULE_PARM_DESC(yield, "Whether the thread yields when anything else could run (1), or relies on being preempted (0)");

static unsigned int pages = 512;
module_param(pages, uint, 0444);
MODULE_PARM_DESC(pages, "The most pages that one batch zeroes, and that are ahead of demand; 0: no thread");

/* The page faults since boot. */
static unsigned long pgzero_faults(void)
{
	unsigned long events[NR_VM_EVENT_ITEMS];

	all_vm_events(events);
	return events[PGFAULT];
}

/*
 * Zeroes one page. Nothing is reclaimed and nobody waits for it: when there is no free page, there
 * is nothing to zero.
 */
static bool pgzero_page(void)
{
	struct page *page = alloc_page((GFP_KERNEL & ~__GFP_RECLAIM) | __GFP_ZERO | __GFP_NOWARN |
				       __GFP_NORETRY);

	if (!page)
		return false;
	__free_page(page);
	return true;
}

/* Zeroes at most so many pages; returns how many. */
static unsigned int pgzero_batch(unsigned int wanted)
{
	unsigned int zeroed;

	for (zeroed = 0; zeroed < wanted && !kthread_should_stop(); zeroed++) {
		if (!pgzero_page())
			break;
		/*
		 * FreeBSD's `if (sched_runnable()) mi_switch(SW_VOL, NULL)`. need_resched() would
		 * say so only when the scheduler already wants the CPU for another task, and
		 * schedule() might return to this one until its slice is used up.
		 */
		if (yields && !single_task_running())
			yield();
	}
	return zeroed;
}

static int pgzero_thread(void *unused)
{
	unsigned int ahead = pages;
	unsigned long before, now;

	msleep(PREEMPTLAB_QUIET_MS);
	before = pgzero_faults();
	while (!kthread_should_stop()) {
		now = pgzero_faults();
		ahead -= min_t(unsigned long, now - before, ahead);
		before = now;
		if (ahead < pages - pages / 2)
			ahead += pgzero_batch(pages - ahead);
		msleep(PGZERO_LOOK_MS);
	}
	return 0;
}

static struct task_struct *pgzero_task;

static int __init pgzero_init(void)
{
	const struct sched_attr idle = { .size = sizeof(idle), .sched_policy = SCHED_IDLE };
	struct task_struct *task;
	int error;

	if (pages > PGZERO_PAGES_MAX) {
		pr_err("preemptlab_pgzero: pages=%u is more than %u\n", pages, PGZERO_PAGES_MAX);
		return -EINVAL;
	}
	if (!pages)
		return 0;
	task = kthread_create(pgzero_thread, NULL, "pgzero");
	if (IS_ERR(task))
		return PTR_ERR(task);
	error = sched_setattr_nocheck(task, &idle);
	if (error) {
		kthread_stop(task);
		return error;
	}
	pgzero_task = task;
	wake_up_process(task);
	return 0;
}

static void __exit pgzero_exit(void)
{
	if (pgzero_task)
		kthread_stop(pgzero_task);
}

module_init(pgzero_init);
module_exit(pgzero_exit);
MODULE_DESCRIPTION("Zeroes pages in the idle class, in two variants");
MODULE_LICENSE("GPL");
