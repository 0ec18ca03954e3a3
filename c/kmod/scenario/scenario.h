/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the module share. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "preemptlab_scenario.h"

struct scenario;

/* An interrupt line. */
struct line {
	struct scenario *scenario;
	char name[16];
	u64 ns[SCENARIO_PARTS];
	unsigned int irq;
	bool requested;
	struct hrtimer timer;
	struct tasklet_struct tasklet;
	struct work_struct work;
	/* Who waits for its events, and how many of these are done. */
	wait_queue_head_t wait;
	atomic_t done;
	unsigned int count;
	unsigned int fired;
	/*
	 * How many events each part has begun with. A part of a line is never in two places at
	 * once, and when it comes late it makes up for every event that was handled by then.
	 */
	unsigned int begun[SCENARIO_PARTS];
	/* How many events the handler has handled. */
	unsigned int handled;
	u64 at_ns[SCENARIO_EVENTS_MAX];
	/* How many parts of an event are not done. */
	atomic_t left[SCENARIO_EVENTS_MAX];
	struct scenario_event event[SCENARIO_EVENTS_MAX];
};

/* The call that a thread of the script is in. */
struct slot {
	unsigned long in_use;
	struct scenario_operation operation[SCENARIO_OPERATIONS_MAX];
	struct scenario_span span[SCENARIO_OPERATIONS_MAX];
};

struct scenario {
	/* Picoseconds that a turn of each loop takes. */
	u64 coarse_ps;
	u64 fine_ps;
	bool closing;
	struct mutex setup;
	spinlock_t spin[SCENARIO_LOCKS_MAX];
	raw_spinlock_t raw_spin[SCENARIO_LOCKS_MAX];
	struct mutex mutex[SCENARIO_LOCKS_MAX];
	struct rt_mutex rt_mutex[SCENARIO_LOCKS_MAX];
	rwlock_t rwlock[SCENARIO_LOCKS_MAX];
	struct slot slot[SCENARIO_THREADS_MAX];
	struct workqueue_struct *workqueue;
	unsigned int lines;
	struct line line[SCENARIO_LINES_MAX];
	/* Events that are armed and not done, and who waits for none to be left. */
	atomic_t pending;
	wait_queue_head_t drained;
};

/* busy.c */

/* Measures how long the loops take. */
void scenario_calibrate(struct scenario *s);
/* Whether whoever is busy is to stop at once. */
bool scenario_is_over(const struct scenario *s);
/* Needs the CPU for that long; returns whether it did. */
bool scenario_busy(const struct scenario *s, u64 ns);

/* interrupt.c */

int scenario_set_lines(struct scenario *s, struct scenario_lines *wanted);
int scenario_arm(struct scenario *s, const struct scenario_arm *arm);
int scenario_read_events(struct scenario *s, struct scenario_events *events);
int scenario_drain(struct scenario *s, u64 until_ns);
void scenario_free_lines(struct scenario *s);

/* check.c */

/* Whether a call can be made; else its first wrong operation, and why it is wrong. */
const char *scenario_check(const struct scenario *s, const struct scenario_operation *operation,
			   unsigned int count, unsigned int *at);

/* call.c */

int scenario_call(struct scenario *s, struct scenario_call *call, bool checks_only);
int scenario_progress(struct scenario *s, struct scenario_progress *progress);

#endif
