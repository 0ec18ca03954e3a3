// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's part of a scenario: system calls that are busy, sleep, lock and keep from being
 * preempted as a script says, and interrupts that come when it says. guest/player plays the rest.
 *
 * Everything is checked before anything is done: whatever a call disables or locks it enables or
 * unlocks again, in the reverse order, and it does not sleep where the kernel must not. What may
 * still go wrong is what scenarios are about: threads that lock each other out.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "preemptlab_scenario.h"

#define SLEEPING_SPINLOCKS IS_ENABLED(CONFIG_PREEMPT_RT)

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

/*
 * CPU time of one's own.
 *
 * Whoever looked at the clock would count the time in which another thread ran, so instructions are
 * counted: virtual time passes by them alone. QEMU translates a page's no-operations to next to
 * nothing, up to 512 instructions at a time, so that a second of them takes a fraction of one.
 */
#define COARSE_NOPS 500

static noinline void preemptlab_scenario_spin(u64 turns)
{
	if (!turns)
		return;
	/* Aligned, so that the loop does not cross a page. */
	asm volatile(".p2align 9\n"
		     "1:	.rept %c1\n"
		     "	nop\n"
		     "	.endr\n"
		     "	dec %0\n"
		     "	jnz 1b\n"
		     : "+r" (turns) : "i" (COARSE_NOPS) : "cc");
}

static noinline void preemptlab_scenario_spin_finely(u64 turns)
{
	if (!turns)
		return;
	asm volatile(".p2align 4\n"
		     "1:	dec %0\n"
		     "	jnz 1b\n"
		     : "+r" (turns) : : "cc");
}

/* How long so many turns take, with the calls around them. */
static u64 timed(void (*spin)(u64 turns), u64 turns)
{
	unsigned long flags;
	u64 begin, end;

	local_irq_save(flags);
	begin = ktime_get_ns();
	spin(turns);
	end = ktime_get_ns();
	local_irq_restore(flags);
	return end - begin;
}

/* What a turn takes, in picoseconds: what a thousand more turns take longer. */
static u64 turn_ps(void (*spin)(u64 turns))
{
	u64 few, many;

	timed(spin, 1);
	few = timed(spin, 100);
	many = timed(spin, 1100);
	return max_t(s64, many - few, 1);
}

/* Turns between two looks whether to go on: about a millisecond. */
#define TURNS_AT_A_TIME 1000

/* Whether whoever is busy is to stop at once. */
static bool is_over(const struct scenario *s)
{
	return READ_ONCE(s->closing) || (in_task() && fatal_signal_pending(current));
}

/* Needs the CPU for that long; returns whether it did. */
static bool busy(const struct scenario *s, u64 ns)
{
	u64 rest_ps, now, turns = div64_u64_rem(ns * 1000, s->coarse_ps, &rest_ps);

	for (; turns; turns -= now) {
		if (is_over(s))
			return false;
		now = min_t(u64, turns, TURNS_AT_A_TIME);
		preemptlab_scenario_spin(now);
	}
	preemptlab_scenario_spin_finely(div64_u64(rest_ps, s->fine_ps));
	return !is_over(s);
}

/*
 * Interrupts: the timer in hard interrupt context makes one come, the line's handler does its work
 * and starts the others.
 */

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
		busy(line->scenario, line->ns[part]);
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

static int set_lines(struct scenario *s, struct scenario_lines *wanted)
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

static int arm(struct scenario *s, const struct scenario_arm *arm)
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

static int read_events(struct scenario *s, struct scenario_events *events)
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

static int drain(struct scenario *s, u64 until_ns)
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

/* Calls: first the check. */

/* What an operation begins that another one has to end. */
struct held {
	u32 op;
	u32 arg;
};

/* What an operation must not be inside of. */
static bool is_atomic(const struct held *held)
{
	switch (held->op) {
	case SCENARIO_PREEMPT_DISABLE:
	case SCENARIO_IRQS_DISABLE:
		return true;
	case SCENARIO_LOCK:
		return held->arg >> 8 == SCENARIO_RAW_SPIN;
	default:
		return false;
	}
}

/* The same, and what sleeps only with PREEMPT_RT, or only in other ways than blocking on locks. */
static bool is_sleepless(const struct held *held)
{
	return is_atomic(held) || held->op == SCENARIO_BH_DISABLE ||
	       (held->op == SCENARIO_LOCK && held->arg >> 8 != SCENARIO_MUTEX &&
		held->arg >> 8 != SCENARIO_RT_MUTEX);
}

static bool any(const struct held *held, unsigned int depth, bool (*is)(const struct held *held))
{
	unsigned int i;

	for (i = 0; i < depth; i++)
		if (is(&held[i]))
			return true;
	return false;
}

static bool are_irqs_disabled(const struct held *held)
{
	return held->op == SCENARIO_IRQS_DISABLE;
}

static const char *check_lock(const struct scenario_operation *operation, const struct held *held,
			      unsigned int depth)
{
	u32 kind = operation->arg >> 8, number = operation->arg & 0xff;
	bool rw = kind == SCENARIO_READ || kind == SCENARIO_WRITE;
	unsigned int i;

	if (kind > SCENARIO_WRITE || number >= SCENARIO_LOCKS_MAX)
		return "there is no such lock";
	for (i = 0; i < depth; i++) {
		u32 other = held[i].arg >> 8;

		if (held[i].op != SCENARIO_LOCK || (held[i].arg & 0xff) != number)
			continue;
		if (other == kind || (rw && (other == SCENARIO_READ || other == SCENARIO_WRITE)))
			return "the call holds this lock already";
	}
	if (kind == SCENARIO_RAW_SPIN)
		return NULL;
	if (kind == SCENARIO_MUTEX || kind == SCENARIO_RT_MUTEX)
		return any(held, depth, is_sleepless) ? "this lock sleeps, and the call must not" : NULL;
	if (SLEEPING_SPINLOCKS && any(held, depth, is_atomic))
		return "with PREEMPT_RT this lock sleeps, and the call must not";
	return NULL;
}

/* Whether a call may do this next; then what it holds afterwards. Else why not. */
static const char *check_operation(const struct scenario *s,
				   const struct scenario_operation *operation, struct held *held,
				   unsigned int *depth)
{
	bool with_ns = operation->op == SCENARIO_BUSY || operation->op == SCENARIO_SLEEP;
	bool with_arg = false, begins = false, ends = false, sleeps = false;
	const char *why;
	u32 begun_by;

	switch (operation->op) {
	case SCENARIO_BUSY:
		break;
	case SCENARIO_COND_RESCHED:
	case SCENARIO_MIGHT_RESCHED:
	case SCENARIO_SLEEP:
		sleeps = true;
		break;
	case SCENARIO_IRQS_DISABLE:
		if (any(held, *depth, are_irqs_disabled))
			return "interrupts are disabled already";
		begins = true;
		break;
	case SCENARIO_BH_DISABLE:
		if (any(held, *depth, SLEEPING_SPINLOCKS ? is_atomic : are_irqs_disabled))
			return "softirqs cannot be disabled here";
		begins = true;
		break;
	case SCENARIO_PREEMPT_DISABLE:
		begins = true;
		break;
	case SCENARIO_PREEMPT_ENABLE:
	case SCENARIO_IRQS_ENABLE:
	case SCENARIO_BH_ENABLE:
		ends = true;
		begun_by = operation->op - 1;
		break;
	case SCENARIO_LOCK:
		why = check_lock(operation, held, *depth);
		if (why)
			return why;
		with_arg = true;
		begins = true;
		break;
	case SCENARIO_UNLOCK:
		with_arg = true;
		ends = true;
		begun_by = SCENARIO_LOCK;
		break;
	case SCENARIO_WAIT_INTERRUPT:
		with_arg = true;
		sleeps = true;
		if (operation->arg >= smp_load_acquire(&s->lines))
			return "there is no such interrupt line";
		break;
	case SCENARIO_ZERO_PAGES:
		with_arg = true;
		if (operation->arg > SCENARIO_PAGES_MAX)
			return "too many pages";
		break;
	default:
		return "there is no such operation";
	}
	if ((operation->ns && !with_ns) || (operation->arg && !with_arg))
		return "the operation takes no such argument";
	if (operation->ns > SCENARIO_NS_MAX)
		return "that is too long";
	if (sleeps && any(held, *depth, is_sleepless))
		return "this may sleep, and the call must not";
	if (begins)
		held[(*depth)++] = (struct held){ operation->op, operation->arg };
	if (ends) {
		if (!*depth || held[*depth - 1].op != begun_by ||
		    held[*depth - 1].arg != operation->arg)
			return "this does not end what was begun last";
		--*depth;
	}
	return NULL;
}

/* Whether a call can be made; else its first wrong operation, and why it is wrong. */
static const char *check(const struct scenario *s, const struct scenario_operation *operation,
			 unsigned int count, unsigned int *at)
{
	struct held held[SCENARIO_OPERATIONS_MAX];
	unsigned int depth = 0;
	const char *why;

	for (*at = 0; *at < count; ++*at) {
		why = check_operation(s, &operation[*at], held, &depth);
		if (why)
			return why;
	}
	return depth ? "the call ends with something held" : NULL;
}

/* Then the call itself. */

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
		if (is_over(s))
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
		return busy(s, operation->ns) ? 0 : -EINTR;
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
		if (error || is_over(s)) {
			give_back(s, slot->operation, error ? i : i + 1);
			return -EINTR;
		}
	}
	return 0;
}

static int call(struct scenario *s, struct scenario_call *call, bool checks_only)
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
	why = check(s, slot->operation, call->count, &at);
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

static int progress(struct scenario *s, struct scenario_progress *progress)
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

/* The device. */

/* What is asked for, without a byte on the stack. */
union request {
	struct scenario_call call;
	struct scenario_progress progress;
	struct scenario_lines lines;
	struct scenario_arm arm;
	struct scenario_events events;
	u64 until_ns;
};

static int set_up(struct scenario *s, unsigned int command, union request *request)
{
	int error = mutex_lock_killable(&s->setup);

	if (error)
		return error;
	if (command == SCENARIO_SET_LINES)
		error = set_lines(s, &request->lines);
	else
		error = arm(s, &request->arm);
	mutex_unlock(&s->setup);
	return error;
}

static int answer(struct scenario *s, unsigned int command, union request *request)
{
	switch (command) {
	case SCENARIO_CHECK:
		return call(s, &request->call, true);
	case SCENARIO_CALL:
		return call(s, &request->call, false);
	case SCENARIO_PROGRESS:
		return progress(s, &request->progress);
	case SCENARIO_SET_LINES:
	case SCENARIO_ARM:
		return set_up(s, command, request);
	case SCENARIO_READ_EVENTS:
		return read_events(s, &request->events);
	default:
		return drain(s, request->until_ns);
	}
}

static long scenario_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	union request *request;
	long result;

	switch (command) {
	case SCENARIO_CHECK:
	case SCENARIO_CALL:
	case SCENARIO_PROGRESS:
	case SCENARIO_SET_LINES:
	case SCENARIO_ARM:
	case SCENARIO_READ_EVENTS:
	case SCENARIO_DRAIN:
		break;
	default:
		return -ENOTTY;
	}
	request = memdup_user(user, _IOC_SIZE(command));
	if (IS_ERR(request))
		return PTR_ERR(request);
	result = answer(file->private_data, command, request);
	if ((_IOC_DIR(command) & _IOC_READ) && copy_to_user(user, request, _IOC_SIZE(command)) &&
	    !result)
		result = -EFAULT;
	kfree(request);
	return result;
}

static int scenario_open(struct inode *inode, struct file *file)
{
	struct scenario *s = kvzalloc(sizeof(*s), GFP_KERNEL);
	unsigned int i;

	if (!s)
		return -ENOMEM;
	/* Only now, and not when the module is loaded: the kernel calibrates the TSC for a second. */
	s->coarse_ps = turn_ps(preemptlab_scenario_spin);
	s->fine_ps = turn_ps(preemptlab_scenario_spin_finely);
	mutex_init(&s->setup);
	for (i = 0; i < SCENARIO_LOCKS_MAX; i++) {
		spin_lock_init(&s->spin[i]);
		raw_spin_lock_init(&s->raw_spin[i]);
		mutex_init(&s->mutex[i]);
		rt_mutex_init(&s->rt_mutex[i]);
		rwlock_init(&s->rwlock[i]);
	}
	init_waitqueue_head(&s->drained);
	file->private_data = s;
	return nonseekable_open(inode, file);
}

static int scenario_release(struct inode *inode, struct file *file)
{
	struct scenario *s = file->private_data;
	unsigned int i;

	WRITE_ONCE(s->closing, true);
	for (i = 0; i < SCENARIO_LINES_MAX; i++)
		free_line(&s->line[i]);
	if (s->workqueue)
		destroy_workqueue(s->workqueue);
	kvfree(s);
	return 0;
}

static const struct file_operations scenario_operations = {
	.owner = THIS_MODULE,
	.open = scenario_open,
	.release = scenario_release,
	.unlocked_ioctl = scenario_ioctl,
};

static struct miscdevice scenario_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "preemptlab_scenario",
	.fops = &scenario_operations,
	/* Whoever may open it can stop the machine, as interrupts can be disabled for minutes. */
	.mode = 0600,
};

module_misc_device(scenario_device);
MODULE_DESCRIPTION("The kernel's part of a scenario");
MODULE_LICENSE("GPL");
