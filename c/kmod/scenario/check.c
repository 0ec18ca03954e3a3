// SPDX-License-Identifier: GPL-2.0
/*
 * The check of a call before anything of it is done: whatever it disables or locks it enables or
 * unlocks again, in the reverse order, and it does not sleep where the kernel must not.
 */
#include <linux/kernel.h>

#include "scenario.h"

#define SLEEPING_SPINLOCKS IS_ENABLED(CONFIG_PREEMPT_RT)

/* What an operation begins that another one has to end. */
struct held {
	u32 op;
	u32 arg;
};

/* Where nothing may sleep, not even a spinlock of PREEMPT_RT. */
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

/* Where nothing may sleep, but for a spinlock of PREEMPT_RT. */
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

const char *scenario_check(const struct scenario *s, const struct scenario_operation *operation,
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
