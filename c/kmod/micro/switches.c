// SPDX-License-Identifier: GPL-2.0
/*
 * Switches between two threads of this CPU, from before one wakes the other until the other goes on.
 *
 * With cold caches, each thread has walked through memory of its own before the switch. The walk is
 * not within the time, so that it need not be taken away from it: it takes a hundred times as long.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "micro.h"

/* More than the second cache of any processor, and of most of them several times. */
#define WALK_BYTES (4UL << 20)

#define LINE_BYTES 64

#define THREADS 2

/* Round trips before the switch that is measured: the first ones find their code in no cache. */
#define ROUNDS 4

struct thread {
	struct completion turn;
	struct thread *other;
	struct micro_repetition *repetition;
	/* NULL: caches stay warm. */
	const u8 *memory;
	/* The first thread measures its last switch to the second one. */
	bool is_first;
	struct task_struct *task;
	struct completion done;
};

static void walk(const u8 *memory)
{
	unsigned long at;

	for (at = 0; memory && at < WALK_BYTES; at += LINE_BYTES)
		READ_ONCE(memory[at]);
}

static int take_turns(void *data)
{
	struct thread *thread = data;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		bool is_measured = round == ROUNDS - 1;

		if (!thread->is_first) {
			wait_for_completion(&thread->turn);
			if (is_measured)
				micro_end(thread->repetition);
		}
		walk(thread->memory);
		if (thread->is_first && is_measured)
			micro_begin(thread->repetition);
		complete(&thread->other->turn);
		if (thread->is_first)
			wait_for_completion(&thread->turn);
	}
	complete(&thread->done);
	/* Whoever made the thread reaps it, and so knows that it executes no code of the module. */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int take_turns_over(struct micro_repetition *repetition, u8 *memory)
{
	struct thread thread[THREADS] = {};
	unsigned int i, made = 0;
	int error = 0;

	for (i = 0; i < THREADS; i++) {
		init_completion(&thread[i].turn);
		init_completion(&thread[i].done);
		thread[i].other = &thread[1 - i];
		thread[i].repetition = repetition;
		thread[i].memory = memory ? memory + i * WALK_BYTES : NULL;
		thread[i].is_first = i == 0;
	}
	for (; made < THREADS; made++) {
		struct task_struct *task = kthread_create(take_turns, &thread[made],
							  "preemptlab/%u", made);
		if (IS_ERR(task)) {
			error = PTR_ERR(task);
			break;
		}
		kthread_bind(task, raw_smp_processor_id());
		/* Nothing but another real-time task comes between the two. */
		sched_set_fifo_low(task);
		thread[made].task = task;
	}
	/* The second one waits for its turn before the first one begins. */
	for (i = made; !error && i-- > 0;)
		wake_up_process(thread[i].task);
	for (i = 0; !error && i < made; i++)
		wait_for_completion(&thread[i].done);
	for (i = 0; i < made; i++)
		kthread_stop(thread[i].task);
	return error;
}

int micro_switch(struct micro_repetition *repetition, unsigned int operations)
{
	return take_turns_over(repetition, NULL);
}

int micro_switch_cold(struct micro_repetition *repetition, unsigned int operations)
{
	u8 *memory = vzalloc(THREADS * WALK_BYTES);
	int error;

	if (!memory)
		return -ENOMEM;
	error = take_turns_over(repetition, memory);
	vfree(memory);
	return error;
}
