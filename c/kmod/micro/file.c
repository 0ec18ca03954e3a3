// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/preemptlab_micro: whoever has opened it writes `time` or `count` from a CPU that it stays on,
 * and then reads a line for each benchmark: `name operations ns_min ns_quartile`, or without the
 * times. docs/calibrate.md describes it.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "micro.h"

#define FILE_NAME "preemptlab_micro"

/* More than all lines have. */
#define TEXT_BYTES 2048

struct result {
	size_t length;
	char text[TEXT_BYTES];
};

/* Two that measure at a time would disturb each other. */
static DEFINE_MUTEX(measuring);

static int micro_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(struct result), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int micro_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t micro_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct result *result = file->private_data;
	char word[8] = {};
	bool counts;
	int error;

	if (size >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, size))
		return -EFAULT;
	counts = !strcmp(word, "count");
	if (!counts && strcmp(word, "time"))
		return -EINVAL;
	/* The writer has chosen its CPU, and a benchmark must not move to another one. */
	if (current->nr_cpus_allowed != 1)
		return -EXDEV;
	error = mutex_lock_interruptible(&measuring);
	if (error)
		return error;
	error = micro_execute(counts, result->text, sizeof(result->text), &result->length);
	if (error)
		result->length = 0;
	mutex_unlock(&measuring);
	return error ? error : size;
}

static ssize_t micro_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct result *result = file->private_data;
	loff_t from = *at;
	ssize_t copied;

	if (mutex_lock_interruptible(&measuring))
		return -EINTR;
	copied = simple_read_from_buffer(to, size, &from, result->text, result->length);
	mutex_unlock(&measuring);
	if (copied > 0)
		*at = from;
	return copied;
}

static const struct proc_ops micro_ops = {
	.proc_open = micro_open,
	.proc_release = micro_release,
	.proc_write = micro_write,
	.proc_read = micro_read,
};

static int __init micro_init(void)
{
	if (!tsc_khz)
		return -ENODEV;
	return proc_create(FILE_NAME, 0600, NULL, &micro_ops) ? 0 : -ENOMEM;
}

static void __exit micro_exit(void)
{
	/* Waits for those that are in a call, and releases what others have opened. */
	remove_proc_entry(FILE_NAME, NULL);
}

module_init(micro_init);
module_exit(micro_exit);
MODULE_DESCRIPTION("Micro-benchmarks of what only a kernel may execute");
MODULE_LICENSE("GPL");
