// Processes that share one lock like PostgreSQL's s_lock, and how often its holder loses its CPU.
// Usage: tcc -run slock.c CPUS SEED
// Prints one NAME VALUE a line. There are four processes for each CPU, and each repeats: a section under the lock, which
// writes to a page of shared memory, then work without the lock.
//
// small: pages of 4 KiB, so that each section has a page fault in it; huge: one page of 2 MiB, so that one section in 512
// has. The page is there in both cases, and only this process's page tables lack it, as with PostgreSQL's shared buffers.
// Each process sleeps after some sections, as a server's process does that waits for its client.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64
#define PER_CPU 4
#define WINDOW_NS 16000000ull
#define PAGE 4096
#define REGION (2 << 20)
#define PAGES (REGION / PAGE)
// Work without the lock, in readings of the time-stamp counter: some 1.2 us with the prices of amd-epyc. They take
// long for an instruction, so that a virtual machine executes few of them.
#define OUTSIDE 120
// Sections between two sleeps of a client, and how long it sleeps.
#define SECTIONS_AWAKE 64
#define ASLEEP_US_MIN 50
#define ASLEEP_US_RANGE 100

// What PostgreSQL 17 has in s_lock.c and s_lock.h.
#define SPINS_FIRST 100
#define SPINS_MIN 10
#define SPINS_MAX 1000
#define SPINS_MORE 100
#define DELAY_US_MIN 1000
#define DELAY_US_MAX 1000000

typedef uint64_t u64;
typedef uint32_t u32;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static u64 now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void sleep_until(u64 ns)
{
    struct timespec at = { ns / 1000000000, ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0) == EINTR) ;
}

static void work(int readings)
{
    for (int i = 0; i < readings; i += 4)
        asm volatile("rdtsc; rdtsc; rdtsc; rdtsc" : : : "eax", "edx");
}

static u64 random_state;
static u32 random_below(u32 bound)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (random_state >> 33) % bound;
}

// --- Whether this process lost its CPU ---
//
// The kernel clears rseq_cs when it returns to a process that it had switched out and whose instruction is
// outside of the range that rseq_cs names. This costs the section one store, and no system call.

extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;
static struct { u32 version, flags; u64 start, length, abort; } elsewhere __attribute__((aligned(32)));
// The kernel wants the signature before the place where a process would go on.
static u32 never_executed[16] = { 0x53053053 };
static volatile u64 *rseq_cs;

static void watch_begin(void)
{
    char *thread;
    asm volatile("movq %%fs:0, %0" : "=r"(thread));
    if (!__rseq_size) {
        fprintf(stderr, "no rseq\n");
        exit(1);
    }
    elsewhere.start = (u64)(uintptr_t)&never_executed[8];
    elsewhere.length = 4;
    elsewhere.abort = (u64)(uintptr_t)&never_executed[1];
    rseq_cs = (volatile u64 *)(thread + __rseq_offset + 8);
}

static void watch(void) { *rseq_cs = (u64)(uintptr_t)&elsewhere; }
static int lost_since_watch(void)
{
    int lost = *rseq_cs == 0;
    *rseq_cs = 0;
    return lost;
}

// --- The lock ---

struct of { u64 sections, held_ns, lost, lost_ns, waited, sleeps, wait_ns; char padding[72]; };
static struct shared {
    volatile unsigned char lock;
    char padding[127];
    u64 start_ns, end_ns;
    char more_padding[112];
    struct of of[PROCESSES_MAX];
} *shared;
static char *region, *small, *huge;
static struct of *mine;
static int spins_before_sleep;

static int test_and_set(void)
{
    unsigned char was = 1;
    asm volatile("lock; xchgb %0, %1" : "+q"(was), "+m"(shared->lock) : : "memory");
    return was;
}

// Returns 0 if the window ended before the lock was free.
static int acquire(void)
{
    int spins = 0, delay_us = 0;
    if (!test_and_set()) return 1;
    mine->waited++;
    u64 before = now_ns();
    while (shared->lock || test_and_set()) {
        asm volatile("pause" : : : "memory");
        if (++spins < spins_before_sleep) continue;
        spins = 0;
        u64 now = now_ns();
        if (now >= shared->end_ns) return 0;
        if (!delay_us) delay_us = DELAY_US_MIN;
        mine->sleeps++;
        u64 until = now + delay_us * 1000ull;
        sleep_until(until < shared->end_ns ? until : shared->end_ns);
        delay_us += random_below(delay_us) + 1;
        if (delay_us > DELAY_US_MAX) delay_us = DELAY_US_MIN;
    }
    if (delay_us) {
        if (spins_before_sleep > SPINS_MIN) spins_before_sleep--;
    } else {
        spins_before_sleep += SPINS_MORE;
        if (spins_before_sleep > SPINS_MAX) spins_before_sleep = SPINS_MAX;
    }
    mine->wait_ns += now_ns() - before;
    return 1;
}

static void release(void)
{
    asm volatile("" : : : "memory");
    shared->lock = 0;
}

// --- A process ---

static void process(int index, u64 seed)
{
    int page = 0, awake = 0;
    mine = &shared->of[index];
    random_state = seed * 1000 + index;
    random_below(1);
    spins_before_sleep = SPINS_FIRST;
    watch_begin();
    sleep_until(shared->start_ns + random_below(1000000));
    while (now_ns() < shared->end_ns) {
        if (!acquire()) break;
        u64 begin = now_ns();
        watch();
        region[page * PAGE + index * 64]++;
        u64 took = now_ns() - begin;
        int lost = lost_since_watch();
        release();
        mine->sections++;
        if (lost) mine->lost++, mine->lost_ns += took;
        else mine->held_ns += took;
        if (++page == PAGES) {
            page = 0;
            if (madvise(region, REGION, MADV_DONTNEED)) fail("madvise");
        }
        work(OUTSIDE);
        if (++awake == SECTIONS_AWAKE) {
            awake = 0;
            sleep_until(now_ns() + 1000ull * (ASLEEP_US_MIN + random_below(ASLEEP_US_RANGE)));
        }
    }
    _exit(0);
}

static void phase(const char *name, int cpus, u64 seed, char *pages)
{
    int processes = cpus * PER_CPU;
    memset(shared, 0, sizeof *shared);
    region = pages;
    // Time to fork.
    shared->start_ns = now_ns() + 4000000;
    shared->end_ns = shared->start_ns + 1000000 + WINDOW_NS;
    fflush(stdout);
    for (int i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (pid < 0) fail("fork");
        if (!pid) process(i, seed);
    }
    for (int i = 0; i < processes; i++) {
        int status;
        if (wait(&status) < 0 || status) {
            fprintf(stderr, "a process ended with %x\n", status);
            exit(1);
        }
    }
    struct of sum = { 0 };
    for (int i = 0; i < processes; i++) {
        struct of *of = &shared->of[i];
        sum.sections += of->sections;
        sum.held_ns += of->held_ns;
        sum.lost += of->lost;
        sum.lost_ns += of->lost_ns;
        sum.waited += of->waited;
        sum.sleeps += of->sleeps;
        sum.wait_ns += of->wait_ns;
    }
    double window_s = WINDOW_NS / 1e9;
    printf("%s.rate %.0f\n", name, sum.sections / window_s);
    printf("%s.held_ns %.1f\n", name, (double)sum.held_ns / (sum.sections - sum.lost));
    printf("%s.lost %.0f\n", name, sum.lost / window_s);
    printf("%s.lost_us %.1f\n", name, sum.lost ? sum.lost_ns / 1e3 / sum.lost : 0.0);
    printf("%s.lost_share %.4f\n", name, 100.0 * sum.lost_ns / WINDOW_NS);
    printf("%s.held_share %.4f\n", name, 100.0 * (sum.held_ns + sum.lost_ns) / WINDOW_NS);
    printf("%s.waited %.4f\n", name, 100.0 * sum.waited / sum.sections);
    printf("%s.sleeps %.0f\n", name, sum.sleeps / window_s);
}

int main(int argc, char **argv)
{
    int cpus = argc == 3 ? atoi(argv[1]) : 0;
    if (cpus < 1 || cpus * PER_CPU > PROCESSES_MAX) {
        fprintf(stderr, "usage: slock CPUS SEED, from 1 to %d CPUs\n", PROCESSES_MAX / PER_CPU);
        return 2;
    }
    u64 seed = strtoull(argv[2], 0, 10);
    int flags = MAP_SHARED | MAP_ANONYMOUS, protection = PROT_READ | PROT_WRITE;
    shared = mmap(0, sizeof *shared, protection, flags, -1, 0);
    small = mmap(0, REGION, protection, flags, -1, 0);
    // As PostgreSQL's huge_pages=on.
    huge = mmap(0, REGION, protection, flags | MAP_HUGETLB, -1, 0);
    if (shared == MAP_FAILED || small == MAP_FAILED || huge == MAP_FAILED) fail("mmap");
    memset(small, 1, REGION);
    memset(huge, 1, REGION);
    phase("small", cpus, seed, small);
    phase("huge", cpus, seed, huge);
    return 0;
}
