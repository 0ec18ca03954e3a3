// Threads that share a lock of user space and ask for a longer time slice while they hold it (Linux 7.0,
// Documentation/userspace-api/rseq.rst). Usage: tcc -pthread -run slice.c CPUS SEED LOCK SECTION_NS OUTSIDE_NS MS
// LOCK is `spin`: a waiter spins until it has the lock; or `sleep`: it spins, then sleeps, as PostgreSQL's s_lock.c.
// Where the kernel has no slice extension, or it is off, the program does the same work without it.
// Prints one NAME VALUE a line.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_A_CPU 4
#define THREADS_MAX 32
#define WAITS_MAX 400000

// PostgreSQL's constants: spins before a sleep, and the sleep, which grows by a random part.
#define SPINS_MIN 10
#define SPINS_MAX 1000
#define SPINS_FIRST 100
#define SLEEP_MIN_US 1000
#define SLEEP_MAX_US 1000000

// include/uapi/linux/prctl.h and syscall_64.tbl of Linux 7.2
#define PR_RSEQ_SLICE_EXTENSION 79
#define PR_RSEQ_SLICE_EXTENSION_SET 2
#define PR_RSEQ_SLICE_EXT_ENABLE 1
#define SYS_RSEQ_SLICE_YIELD 471

typedef uint64_t u64;

// struct rseq as far as it is used here (include/uapi/linux/rseq.h).
struct area {
    uint32_t cpu_id_start, cpu_id;
    volatile u64 section;
    uint32_t flags, node_id, mm_cid;
    volatile uint8_t request, granted;
};

// A restartable sequence that no thread is ever in. The kernel clears the pointer to it when the thread was
// switched out, because the thread is outside of the sequence: so the pointer tells whether it was.
// The kernels before 6.19 look for the signature before the address of the sequence's end, too.
static uint32_t signature[2] = { 0x53053053 };
static struct { uint32_t version, flags; u64 start, length, abort; } elsewhere __attribute__((aligned(32)))
    = { 0, 0, 1, 1, 0 };

static u64 now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

// 16 LFENCE: takes its time on the machine, and can be interrupted at any of them.
static void work(unsigned iterations)
{
    for (unsigned i = 0; i < iterations; i++)
        asm volatile(".rept 16; .byte 0x0f, 0xae, 0xe8; .endr" : : : "memory");
}

static int exchange(volatile int *at, int value)
{
    asm volatile("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
    return value;
}

static void relax(void)
{
    asm volatile("pause" : : : "memory");
}

static volatile int lock __attribute__((aligned(128)));
static volatile int started __attribute__((aligned(128)));
static volatile u64 end_ns;
static int sleeps, extends;
static unsigned inside, outside;
static ptrdiff_t rseq_offset;

static struct of {
    u64 sections, switched, yielded, revoked, late, slept, involuntary;
    u64 random;
    uint32_t *waits;
    unsigned waited;
    char padding[64];
} of[THREADS_MAX];

static unsigned draw(struct of *mine, unsigned below)
{
    mine->random ^= mine->random << 13;
    mine->random ^= mine->random >> 7;
    mine->random ^= mine->random << 17;
    return (mine->random >> 11) % below;
}

static void acquire(struct of *mine, int *spins_before)
{
    int spins = 0, slept = 0;
    unsigned sleep_us = 0;
    if (!exchange(&lock, 1)) return;
    for (;;) {
        relax();
        // It looks at the lock again after some 0.1 us.
        if (!sleeps) work(1);
        else if (++spins >= *spins_before) {
            if (!sleep_us) sleep_us = SLEEP_MIN_US;
            usleep(sleep_us);
            slept++;
            sleep_us += sleep_us * draw(mine, 1000) / 1000 + 1;
            if (sleep_us > SLEEP_MAX_US) sleep_us = SLEEP_MIN_US;
            spins = 0;
        }
        if (!lock && !exchange(&lock, 1)) break;
    }
    mine->slept += slept;
    if (!slept) *spins_before = *spins_before + 100 > SPINS_MAX ? SPINS_MAX : *spins_before + 100;
    else if (*spins_before > SPINS_MIN) --*spins_before;
}

static void *repeat(void *argument)
{
    struct of *mine = argument;
    struct area *area = (void *)((char *)pthread_self() + rseq_offset);
    struct rusage usage;
    int spins_before = SPINS_FIRST;
    if (extends && prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_SET, PR_RSEQ_SLICE_EXT_ENABLE, 0, 0))
        fail("prctl of a thread");
    while (!started) usleep(100);
    for (;;) {
        // Work outside of the lock: between one half and three halves of OUTSIDE_NS.
        work(outside / 2 + draw(mine, outside + 1));
        u64 before = now_ns();
        if (before >= end_ns) break;

        // The request comes right after the lock is taken, so its holder has mostly made one.
        acquire(mine, &spins_before);
        area->section = (u64)(uintptr_t)&elsewhere;
        area->request = extends;
        u64 after = now_ns();
        work(inside);
        lock = 0;
        int switched = !area->section, requested = area->request;
        area->request = 0;
        area->section = 0;
        int granted = area->granted;
        if (granted) {
            if (syscall(SYS_RSEQ_SLICE_YIELD)) mine->yielded++;
            else mine->late++;
        } else if (extends && !requested) mine->revoked++;

        mine->switched += switched;
        mine->sections++;
        if (mine->waited < WAITS_MAX) mine->waits[mine->waited++] = after - before;
    }
    if (getrusage(RUSAGE_THREAD, &usage)) fail("getrusage");
    mine->involuntary = usage.ru_nivcsw;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(uint32_t *)a, y = *(uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: slice CPUS SEED spin|sleep SECTION_NS OUTSIDE_NS MS\n");
        return 2;
    }
    int threads = THREADS_A_CPU * atoi(argv[1]);
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    sleeps = !strcmp(argv[3], "sleep");
    double window_s = atoi(argv[6]) / 1e3;

    // What an iteration of work() takes when nothing disturbs it.
    double iteration_ns = 1e9;
    for (int i = 0; i < 5; i++) {
        u64 before = now_ns();
        work(1000);
        double took = (now_ns() - before) / 1000.0;
        if (took < iteration_ns) iteration_ns = took;
    }
    inside = atoi(argv[4]) / iteration_ns + 0.5;
    outside = atoi(argv[5]) / iteration_ns + 0.5;

    ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    if (!offset || !size || !*size) {
        fprintf(stderr, "no rseq\n");
        return 1;
    }
    rseq_offset = *offset;
    elsewhere.abort = (u64)(uintptr_t)&signature[1];
    extends = !prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_SET, PR_RSEQ_SLICE_EXT_ENABLE, 0, 0);
    fprintf(stderr, "rseq size %u, iteration %.2f ns, extends %d (%m)\n", *size, iteration_ns, extends);

    pthread_t thread[THREADS_MAX];
    for (int i = 0; i < threads; i++) {
        of[i].random = (atoi(argv[2]) * 1000 + i + 1) * 0x9e3779b97f4a7c15ull;
        of[i].waits = malloc(WAITS_MAX * sizeof *of[i].waits);
        memset(of[i].waits, 0, WAITS_MAX / 8 * sizeof *of[i].waits);
        if (pthread_create(&thread[i], 0, repeat, &of[i])) fail("pthread_create");
    }
    u64 start_ns = now_ns();
    end_ns = start_ns + window_s * 1e9;
    started = 1;
    struct of sum = { 0 };
    for (int i = 0; i < threads; i++) pthread_join(thread[i], 0);
    double took_s = (now_ns() - start_ns) / 1e9;
    uint32_t *waits = 0;
    for (int i = 0; i < threads; i++) {
        sum.sections += of[i].sections;
        sum.switched += of[i].switched;
        sum.yielded += of[i].yielded;
        sum.revoked += of[i].revoked;
        sum.late += of[i].late;
        sum.slept += of[i].slept;
        sum.involuntary += of[i].involuntary;
        waits = realloc(waits, (sum.waited + of[i].waited + 1) * sizeof *waits);
        memcpy(waits + sum.waited, of[i].waits, of[i].waited * sizeof *waits);
        sum.waited += of[i].waited;
    }
    if (!sum.waited) {
        fprintf(stderr, "no section was entered\n");
        return 1;
    }
    qsort(waits, sum.waited, sizeof *waits, compare);
    printf("extends %d\n", extends);
    printf("sections %.0f\n", sum.sections / took_s);
    printf("switched %.1f\n", sum.switched / took_s);
    printf("granted %.1f\n", (sum.yielded + sum.late + sum.revoked) / took_s);
    printf("yielded %.1f\n", sum.yielded / took_s);
    printf("revoked %.1f\n", (sum.late + sum.revoked) / took_s);
    printf("slept %.1f\n", sum.slept / took_s);
    printf("involuntary %.1f\n", sum.involuntary / took_s);
    printf("wait.p50 %.2f\nwait.p99 %.2f\nwait.max %.2f\n", waits[sum.waited / 2] / 1e3,
           waits[(u64)sum.waited * 99 / 100] / 1e3, waits[sum.waited - 1] / 1e3);
    return 0;
}
