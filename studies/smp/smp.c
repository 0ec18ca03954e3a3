// Measures what several CPUs do at the same time. Usage: tcc -run smp.c CPUS
// Prints one NAME VALUE a line. Every thread is pinned: to a CPU of its own where there are enough.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 64
#define ROUND_TRIPS 500
#define WINDOW_NS 10000000ull
// Ten ticks of HZ=250.
#define WINDOW_ALONE_NS 40000000ull
// Threads that were made have settled by then.
#define SETTLED_US 2000
// A gap between two readings of the clock that is no iteration of the loop.
#define GAP_NS 12000

typedef uint64_t u64;
typedef void iteration(void);

// --- What C11's atomics do; tcc does not know them everywhere. ---

static int exchange(volatile int *at, int value)
{
    asm volatile("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
    return value;
}

static int fetch_add(volatile int *at, int value)
{
    asm volatile("lock; xaddl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
    return value;
}

static void relax(void)
{
    asm volatile("pause" : : : "memory");
}

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

static int cpus;

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % cpus, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

static void work(int iterations)
{
    for (volatile int i = 0; i < iterations; i++) ;
}

// --- Threads that repeat one iteration for a window of time ---

static struct { u64 count, gaps, stolen_ns; char padding[104]; } of[CPUS_MAX];
static volatile int started, ready;
static u64 end_ns;
static iteration *repeated;
// Iterations between two readings of the clock.
static int stride;

static void *repeat(void *cpu_of)
{
    int cpu = (intptr_t)cpu_of;
    u64 count = 0, gaps = 0, stolen_ns = 0, before;
    pin(cpu);
    fetch_add(&ready, 1);
    while (!started) relax();
    before = now_ns();
    for (;;) {
        for (int i = 0; i < stride; i++) repeated();
        count += stride;
        u64 now = now_ns();
        if (now - before > GAP_NS) {
            gaps++;
            stolen_ns += now - before;
        }
        before = now;
        if (now >= end_ns) break;
    }
    of[cpu].count = count;
    of[cpu].gaps = gaps;
    of[cpu].stolen_ns = stolen_ns;
    return 0;
}

// Returns the iterations of all threads, which run on the CPUs from FIRST on.
static u64 run_for(u64 window_ns, iteration *what, int each, int first, int threads)
{
    pthread_t thread[CPUS_MAX];
    u64 sum = 0;
    repeated = what;
    stride = each;
    started = ready = 0;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], 0, repeat, (void *)(intptr_t)(first + i))) fail("pthread_create");
    while (ready < threads) usleep(100);
    usleep(SETTLED_US);
    end_ns = now_ns() + window_ns;
    started = 1;
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], 0);
        sum += of[first + i].count;
    }
    return sum;
}

static u64 run(iteration *what, int each, int first, int threads)
{
    return run_for(WINDOW_NS, what, each, first, threads);
}

// --- Iterations ---

static void independent(void) { work(200); }

// Work under the lock.
static int inside;
#define OUTSIDE 20

static volatile int spinlock __attribute__((aligned(128)));
static void under_spinlock(void)
{
    while (exchange(&spinlock, 1))
        while (spinlock) relax();
    work(inside);
    spinlock = 0;
    work(OUTSIDE);
}

static volatile int ticket_next __attribute__((aligned(128)));
static volatile int ticket_served __attribute__((aligned(128)));
static void under_ticket_lock(void)
{
    int ticket = fetch_add(&ticket_next, 1);
    while (ticket_served != ticket) relax();
    work(inside);
    ticket_served = ticket + 1;
    work(OUTSIDE);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void under_mutex(void)
{
    pthread_mutex_lock(&mutex);
    work(inside);
    pthread_mutex_unlock(&mutex);
    work(OUTSIDE);
}

static volatile u64 stamp_ns __attribute__((aligned(128)));
static volatile int backward, exchanged;
static volatile u64 backward_ns_max;
static void exchange_timestamps(void)
{
    u64 theirs = stamp_ns, mine = now_ns();
    fetch_add(&exchanged, 1);
    if (mine < theirs) {
        fetch_add(&backward, 1);
        if (theirs - mine > backward_ns_max) backward_ns_max = theirs - mine;
    } else stamp_ns = mine;
}

// --- Round trips between CPU 0 and CPU 1 ---

static volatile int ball __attribute__((aligned(128)));
static int there[2], back[2];

static void await_ball(int value)
{
    while (ball != value) syscall(SYS_futex, &ball, FUTEX_WAIT_PRIVATE, 1 - value, 0, 0, 0);
}

static void throw_ball(int value)
{
    exchange(&ball, value);
    syscall(SYS_futex, &ball, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void send_byte(int fd)
{
    char byte = 0;
    if (write(fd, &byte, 1) != 1) fail("write");
}

static void receive_byte(int fd)
{
    char byte;
    if (read(fd, &byte, 1) != 1) fail("read");
}

static void ask_futex(void) { throw_ball(1); await_ball(0); }
static void answer_futex(void) { await_ball(1); throw_ball(0); }
static void ask_pipe(void) { send_byte(there[1]); receive_byte(back[0]); }
static void answer_pipe(void) { receive_byte(there[0]); send_byte(back[1]); }

static void *answer(void *once)
{
    pin(1);
    for (int i = 0; i < ROUND_TRIPS; i++) ((iteration *)once)();
    return 0;
}

static int compare(const void *a, const void *b)
{
    u64 x = *(u64 *)a, y = *(u64 *)b;
    return x < y ? -1 : x > y;
}

static void round_trips(const char *name, iteration *ask, iteration *answers)
{
    static u64 took_ns[ROUND_TRIPS];
    pthread_t thread;
    pin(0);
    if (pthread_create(&thread, 0, answer, (void *)answers)) fail("pthread_create");
    usleep(SETTLED_US);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        u64 before = now_ns();
        ask();
        took_ns[i] = now_ns() - before;
    }
    pthread_join(thread, 0);
    qsort(took_ns, ROUND_TRIPS, sizeof took_ns[0], compare);
    printf("%s.p50 %.2f\n%s.min %.2f\n", name, took_ns[ROUND_TRIPS / 2] / 1e3, name, took_ns[0] / 1e3);
}

// No lock lets its threads do more than each of them does alone, and no two of them are inside at a time:
// the work inside takes what a section takes longer than one without it.
static void locks(const char *name, iteration *section)
{
    inside = 0;
    double without_ns = (double)WINDOW_NS / run(section, 16, 0, 1);
    inside = OUTSIDE;
    double section_ns = (double)WINDOW_NS / run(section, 16, 0, 1);
    double serial = WINDOW_NS / (section_ns - without_ns);
    double two = 2 * WINDOW_NS / section_ns, all = cpus * WINDOW_NS / section_ns;
    printf("%s.two %.4f\n", name, run(section, 16, 0, 2) / (two < serial ? two : serial));
    printf("%s.all %.4f\n", name, run(section, 16, 0, cpus) / (all < serial ? all : serial));
}

int main(int argc, char **argv)
{
    cpus = argc == 2 ? atoi(argv[1]) : 0;
    if (cpus < 1 || cpus > CPUS_MAX / 2) {
        fprintf(stderr, "usage: smp CPUS, from 1 to %d\n", CPUS_MAX / 2);
        return 2;
    }
    if (pipe(there) || pipe(back)) fail("pipe");

    u64 one = run(independent, 1, 0, 1);
    u64 all = run(independent, 1, 0, cpus);
    u64 least = UINT64_MAX, most = 0;
    for (int i = 0; i < cpus; i++) {
        if (of[i].count < least) least = of[i].count;
        if (of[i].count > most) most = of[i].count;
    }
    printf("scaling %.4f\nshares %.4f\n", (double)all / one, (double)most / least);

    locks("spinlock", under_spinlock);
    locks("ticket", under_ticket_lock);
    locks("mutex", under_mutex);

    round_trips("futex", ask_futex, answer_futex);
    round_trips("pipe", ask_pipe, answer_pipe);

    run(exchange_timestamps, 16, 0, 2);
    printf("backward.share %.4f\nbackward.max %.3f\n", (double)backward / exchanged,
           backward_ns_max / 1e3);

    run_for(WINDOW_ALONE_NS, independent, 1, 1, 1);
    printf("stolen %.3f\ngaps %d\n", of[1].stolen_ns / 1e3, (int)of[1].gaps);
    return 0;
}
