// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: the timer in hard interrupt context makes one come, the line's handler does its work
 * and starts the others.
 */
#include <linux/err.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "scenario.h"

static void part_done(struct line *line, unsigned int event)
{
	if (!atomic_dec_and_test(&line->left[event]))
		return;
	atomic_inc(&line->done);
	wake_up_all(&line->wait);
	if (atomic_dec_and_test(&line->scenario->pending))
		wake_up_all(&line->scenario->drained);
}

/* Does a part of every event up to one. */
static __always_inline void do_part(struct line *line, enum scenario_part part, unsigned int until)
{
	while (line->begun[part] < until && !READ_ONCE(line->scenario->closing)) {
		unsigned int event = line->begun[part]++;
		struct scenario_span *span = &line->event[event].part[part];

		WRITE_ONCE(span->begin_ns, ktime_get_ns());
		scenario_busy(line->scenario, line->ns[part]);
		WRITE_ONCE(span->end_ns, ktime_get_ns());
		part_done(line, event);
	}
}

static noinline irqreturn_t preemptlab_scenario_hard(int irq, void *data)
{
	struct line *line = data;
	unsigned int until = READ_ONCE(line->fired);

	do_part(line, SCENARIO_HARD, until);
	smp_store_release(&line->handled, until);
	if (READ_ONCE(line->scenario->closing))
		return IRQ_HANDLED;
	if (line->ns[SCENARIO_SOFTIRQ] != SCENARIO_NO_PART)
		tasklet_schedule(&line->tasklet);
	if (line->ns[SCENARIO_WORK] != SCENARIO_NO_PART)
		queue_work(line->scenario->workqueue, &line->work);
	return line->ns[SCENARIO_THREADED] != SCENARIO_NO_PART ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

static noinline irqreturn_t preemptlab_scenario_thread(int irq, void *data)
{
	struct line *line = data;

	do_part(line, SCENARIO_THREADED, smp_load_acquire(&line->handled));
	return IRQ_HANDLED;
}

static noinline void preemptlab_scenario_softirq(struct tasklet_struct *tasklet)
{
	struct line *line = container_of(tasklet, struct line, tasklet);

	do_part(line, SCENARIO_SOFTIRQ, smp_load_acquire(&line->handled));
}

static noinline void preemptlab_scenario_work(struct work_struct *work)
{
	struct line *line = container_of(work, struct line, work);

	do_part(line, SCENARIO_WORK, smp_load_acquire(&line->handled));
}

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	struct line *line = container_of(timer, struct line, timer);
	unsigned int fired = line->fired;

	if (READ_ONCE(line->scenario->closing))
		return HRTIMER_NORESTART;
	WRITE_ONCE(line->event[fired].fired_ns, ktime_get_ns());
	smp_store_release(&line->fired, fired + 1);
	generic_handle_irq(line->irq);
	if (fired + 1 == line->count)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(line->at_ns[fired + 1]));
	return HRTIMER_RESTART;
}

static void init_timer(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer->function = fire;
#endif
}

/* Work runs on the CPU that queued it, which newer kernels want to be told. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define ON_ITS_CPU WQ_PERCPU
#else
#define ON_ITS_CPU 0
#endif

static int set_line(struct scenario *s, struct line *line, struct scenario_line *wanted)
{
	bool threaded = wanted->threaded_ns != SCENARIO_NO_PART;
	int irq, error;

	line->scenario = s;
	memcpy(line->name, wanted->name, sizeof(line->name));
	line->ns[SCENARIO_HARD] = wanted->hard_ns;
	line->ns[SCENARIO_THREADED] = wanted->threaded_ns;
	line->ns[SCENARIO_SOFTIRQ] = wanted->softirq_ns;
	line->ns[SCENARIO_WORK] = wanted->work_ns;
	init_timer(&line->timer);
	tasklet_setup(&line->tasklet, preemptlab_scenario_softirq);
	INIT_WORK(&line->work, preemptlab_scenario_work);
	init_waitqueue_head(&line->wait);
	irq = irq_alloc_desc(NUMA_NO_NODE);
	if (irq < 0)
		return irq;
	line->irq = irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	/* No IRQF_NO_THREAD: with PREEMPT_RT or `threadirqs` the handler has a thread as well. */
	error = request_threaded_irq(irq, preemptlab_scenario_hard,
				     threaded ? preemptlab_scenario_thread : NULL, 0, line->name,
				     line);
	if (error) {
		irq_free_desc(irq);
		return error;
	}
	line->requested = true;
	wanted->irq = irq;
	return 0;
}

static bool is_part(u64 ns)
{
	return ns <= SCENARIO_NS_MAX || ns == SCENARIO_NO_PART;
}

/* Whether a line can be as it is wanted; its name becomes one of procfs. */
static bool is_line(const struct scenario_line *line)
{
	size_t length = strnlen(line->name, sizeof(line->name));

	return length && length < sizeof(line->name) && !strchr(line->name, '/') &&
	       !line->reserved && line->hard_ns <= SCENARIO_NS_MAX && is_part(line->threaded_ns) &&
	       is_part(line->softirq_ns) && is_part(line->work_ns);
}

int scenario_set_lines(struct scenario *s, struct scenario_lines *wanted)
{
	unsigned int i;
	int error;

	if (wanted->count > SCENARIO_LINES_MAX || wanted->reserved)
		return -EINVAL;
	for (i = 0; i < wanted->count; i++)
		if (!is_line(&wanted->line[i]))
			return -EINVAL;
	if (s->workqueue)
		return -EBUSY;
	s->workqueue = alloc_workqueue("preemptlab_scenario", ON_ITS_CPU, 0);
	if (!s->workqueue)
		return -ENOMEM;
	for (i = 0; i < wanted->count; i++) {
		error = set_line(s, &s->line[i], &wanted->line[i]);
		if (error)
			return error;
		/* Only now may anybody wait for it. */
		smp_store_release(&s->lines, i + 1);
	}
	return 0;
}

int scenario_arm(struct scenario *s, const struct scenario_arm *arm)
{
	unsigned int i, part, parts = 0;
	struct line *line;

	if (arm->line >= s->lines || !arm->count || arm->count > SCENARIO_EVENTS_MAX)
		return -EINVAL;
	line = &s->line[arm->line];
	if (line->count)
		return -EBUSY;
	if (copy_from_user(line->at_ns, u64_to_user_ptr(arm->at_ns), arm->count * sizeof(u64)))
		return -EFAULT;
	for (i = 0; i < arm->count; i++)
		if (line->at_ns[i] > KTIME_MAX || (i && line->at_ns[i] < line->at_ns[i - 1]))
			return -EINVAL;
	for (part = 0; part < SCENARIO_PARTS; part++)
		parts += line->ns[part] != SCENARIO_NO_PART;
	for (i = 0; i < arm->count; i++)
		atomic_set(&line->left[i], parts);
	line->count = arm->count;
	atomic_add(arm->count, &s->pending);
	hrtimer_start(&line->timer, ns_to_ktime(line->at_ns[0]), HRTIMER_MODE_ABS_PINNED_HARD);
	return 0;
}

int scenario_read_events(struct scenario *s, struct scenario_events *events)
{
	unsigned int fired;

	if (events->line >= s->lines)
		return -EINVAL;
	fired = min(smp_load_acquire(&s->line[events->line].fired), events->count);
	if (copy_to_user(u64_to_user_ptr(events->events), s->line[events->line].event,
			 fired * sizeof(struct scenario_event)))
		return -EFAULT;
	events->count = fired;
	return 0;
}

int scenario_drain(struct scenario *s, u64 until_ns)
{
	u64 now_ns = ktime_get_ns();

	return wait_event_interruptible_hrtimeout(s->drained, !atomic_read(&s->pending),
						  until_ns > now_ns ? until_ns - now_ns : 0);
}

static void free_line(struct line *line)
{
	if (!line->requested)
		return;
	hrtimer_cancel(&line->timer);
	free_irq(line->irq, line);
	tasklet_kill(&line->tasklet);
	cancel_work_sync(&line->work);
	irq_free_desc(line->irq);
}

void scenario_free_lines(struct scenario *s)
{
	unsigned int i;

	for (i = 0; i < SCENARIO_LINES_MAX; i++)
		free_line(&s->line[i]);
	if (s->workqueue)
		destroy_workqueue(s->workqueue);
}
