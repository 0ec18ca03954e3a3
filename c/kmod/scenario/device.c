// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's part of a scenario: system calls that are busy, sleep, lock and keep from being
 * preempted as a script says, and interrupts that come when it says. guest/player plays the rest.
 *
 * Everything is checked before anything is done. What may still go wrong is what scenarios are
 * about: threads that lock each other out.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "scenario.h"

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
		error = scenario_set_lines(s, &request->lines);
	else
		error = scenario_arm(s, &request->arm);
	mutex_unlock(&s->setup);
	return error;
}

static int answer(struct scenario *s, unsigned int command, union request *request)
{
	switch (command) {
	case SCENARIO_CHECK:
		return scenario_call(s, &request->call, true);
	case SCENARIO_CALL:
		return scenario_call(s, &request->call, false);
	case SCENARIO_PROGRESS:
		return scenario_progress(s, &request->progress);
	case SCENARIO_SET_LINES:
	case SCENARIO_ARM:
		return set_up(s, command, request);
	case SCENARIO_READ_EVENTS:
		return scenario_read_events(s, &request->events);
	default:
		return scenario_drain(s, request->until_ns);
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
	scenario_calibrate(s);
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

	WRITE_ONCE(s->closing, true);
	scenario_free_lines(s);
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
