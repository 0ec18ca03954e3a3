// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and ports. Each benchmark writes what a register holds already, with interrupts off, so
 * that nothing changes on the machine.
 *
 * The instructions are written out: the kernel's own functions have other names in other releases,
 * and a paravirtualized kernel replaces some of them.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/vmalloc.h>
#include <asm/msr-index.h>

#include "micro.h"

/* A hypervisor that reads and writes registers of the guest for it lets it have this one. */
#define REGISTER MSR_KERNEL_GS_BASE

static __always_inline void read_register(u32 *low, u32 *high)
{
	asm volatile("rdmsr" : "=a"(*low), "=d"(*high) : "c"(REGISTER));
}

int micro_rdmsr(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;
	u32 low, high;

	local_irq_save(flags);
	micro_begin(repetition);
	while (operations--)
		read_register(&low, &high);
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}

int micro_wrmsr(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;
	u32 low, high;

	local_irq_save(flags);
	read_register(&low, &high);
	micro_begin(repetition);
	while (operations--)
		asm volatile("wrmsr" : : "c"(REGISTER), "a"(low), "d"(high) : "memory");
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}

/* Empties the TLB of this address space, but for what is global. */
int micro_cr3(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags, value;

	local_irq_save(flags);
	asm volatile("mov %%cr3, %0" : "=r"(value));
	micro_begin(repetition);
	while (operations--)
		asm volatile("mov %0, %%cr3" : : "r"(value) : "memory");
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}

/* The page is touched in between, so that there is an entry to remove. */
int micro_invlpg(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;
	u8 *page = vmalloc(PAGE_SIZE);

	if (!page)
		return -ENOMEM;
	local_irq_save(flags);
	micro_begin(repetition);
	while (operations--) {
		READ_ONCE(*page);
		asm volatile("invlpg (%0)" : : "r"(page) : "memory");
	}
	micro_end(repetition);
	local_irq_restore(flags);
	vfree(page);
	return 0;
}

int micro_flags(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;

	local_irq_save(flags);
	micro_begin(repetition);
	while (operations--)
		asm volatile("sti; cli" : : : "memory");
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}

/* What entries of faults and switches of address spaces read. */
int micro_system(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags, value;

	local_irq_save(flags);
	micro_begin(repetition);
	while (operations--)
		asm volatile("mov %%cr2, %0; mov %%cr3, %0" : "=r"(value));
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}

/* The port of diagnostics, which the kernel itself writes to for a delay. */
int micro_port(struct micro_repetition *repetition, unsigned int operations)
{
	unsigned long flags;

	local_irq_save(flags);
	micro_begin(repetition);
	while (operations--)
		asm volatile("outb %b0, $0x80" : : "a"(0));
	micro_end(repetition);
	local_irq_restore(flags);
	return 0;
}
