/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the player (guest/player) asks of /dev/preemptlab_scenario. Times are CLOCK_MONOTONIC,
 * durations CPU time of one's own, both in nanoseconds. Whoever opens the device gets locks and
 * interrupt lines of their own, which are given back when it is closed.
 */
#ifndef PREEMPTLAB_SCENARIO_H
#define PREEMPTLAB_SCENARIO_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The limits of crates/protocol. */
#define SCENARIO_THREADS_MAX 32
#define SCENARIO_OPERATIONS_MAX 64
#define SCENARIO_LINES_MAX 8
#define SCENARIO_EVENTS_MAX 64
#define SCENARIO_LOCKS_MAX 16
#define SCENARIO_NS_MAX 1000000000000ULL
/* Clearing so many pages takes about as many times 8 us. */
#define SCENARIO_PAGES_MAX (1U << 20)

/* A part that a line has not got. */
#define SCENARIO_NO_PART (~0ULL)

enum scenario_op {
	SCENARIO_BUSY,			/* ns */
	SCENARIO_COND_RESCHED,
	SCENARIO_MIGHT_RESCHED,
	SCENARIO_SLEEP,			/* ns */
	SCENARIO_PREEMPT_DISABLE,
	SCENARIO_PREEMPT_ENABLE,
	SCENARIO_IRQS_DISABLE,
	SCENARIO_IRQS_ENABLE,
	SCENARIO_BH_DISABLE,
	SCENARIO_BH_ENABLE,
	SCENARIO_LOCK,			/* arg: kind << 8 | number */
	SCENARIO_UNLOCK,		/* arg: likewise */
	SCENARIO_WAIT_INTERRUPT,	/* arg: number of the line */
	SCENARIO_ZERO_PAGES,		/* arg: how many */
};

/* In the order of script::LockKind. */
enum scenario_lock {
	SCENARIO_SPIN,
	SCENARIO_RAW_SPIN,
	SCENARIO_MUTEX,
	SCENARIO_RT_MUTEX,
	SCENARIO_READ,
	SCENARIO_WRITE,
};

/* What an operation does not use is 0. */
struct scenario_operation {
	__u32 op;
	__u32 arg;
	__u64 ns;
};

/* 0 where it has not begun or not ended. */
struct scenario_span {
	__u64 begin_ns;
	__u64 end_ns;
};

/* One system call of several operations, of a thread of the script. */
struct scenario_call {
	__u32 thread;
	__u32 count;
	__u64 operations;	/* of struct scenario_operation */
	__u64 spans;		/* of struct scenario_span, written when the call ends */
	/* Of a call that is refused with EINVAL: its first wrong operation, and why. */
	__u32 refused_at;
	char reason[60];
};

/* What was begun so far of the call that a thread is in, or was in last. */
struct scenario_progress {
	__u32 thread;
	__u32 count;		/* how many spans there is room for; then how many there are */
	__u64 spans;
};

/* An interrupt line. */
struct scenario_line {
	char name[16];
	__u64 hard_ns;
	__u64 threaded_ns;	/* or SCENARIO_NO_PART, as the following */
	__u64 softirq_ns;
	__u64 work_ns;
	__u32 irq;		/* its number, which the kernel chooses */
	__u32 reserved;
};

struct scenario_lines {
	__u32 count;
	__u32 reserved;
	struct scenario_line line[SCENARIO_LINES_MAX];
};

/* When a line's interrupts come: on the CPU of the caller. */
struct scenario_arm {
	__u32 line;
	__u32 count;
	__u64 at_ns;		/* of __u64, in order */
};

/* An event's parts, in the order of enum scenario_part. */
enum scenario_part {
	SCENARIO_HARD,
	SCENARIO_THREADED,
	SCENARIO_SOFTIRQ,
	SCENARIO_WORK,
	SCENARIO_PARTS,
};

struct scenario_event {
	__u64 fired_ns;
	struct scenario_span part[SCENARIO_PARTS];
};

struct scenario_events {
	__u32 line;
	__u32 count;		/* how many events there is room for; then how many have fired */
	__u64 events;		/* of struct scenario_event */
};

/* Checks a call without making it. */
#define SCENARIO_CHECK _IOWR('P', 0, struct scenario_call)
/* Makes a call; EINTR when the caller was killed in it. */
#define SCENARIO_CALL _IOWR('P', 1, struct scenario_call)
#define SCENARIO_PROGRESS _IOWR('P', 2, struct scenario_progress)
/* Sets up every line; once. */
#define SCENARIO_SET_LINES _IOWR('P', 3, struct scenario_lines)
/* Arms a line's events; once. */
#define SCENARIO_ARM _IOW('P', 4, struct scenario_arm)
#define SCENARIO_READ_EVENTS _IOWR('P', 5, struct scenario_events)
/* Waits until every event that was armed is done, but no longer than until a time; ETIME then. */
#define SCENARIO_DRAIN _IOW('P', 6, __u64)

#endif
