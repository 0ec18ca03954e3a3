// A low task and a high one share a lock, and others want the CPU of the low one: how long the high one waits.
// Usage: tcc -pthread -run inversion.c CPUS SEED MS
// It plays each LOCK-MIDDLE for MS milliseconds, one after the other.
// LOCK is `none` or `inherit`: a pthread mutex with that protocol; or `file`: the lock of an open file's position
// (fs/file.c, f_pos_lock), a mutex of the kernel, which the low task holds while it reads.
// MIDDLE is `fair`: the low task has nice 19, the others nice 0, and they never sleep; or `rt`: the low task is
// SCHED_FIFO 1, and one of SCHED_FIFO 50 works in bursts. The high task is SCHED_FIFO 80, on the last CPU; the
// rest is on the first. Prints one LOCK-MIDDLE.NAME VALUE a line; times are in microseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAIR_HOGS 2
#define READ_BYTES (4 << 20)
// How long the low task holds the pthread mutex, and about how long it works without a lock.
#define SECTION_NS 250000
#define OUTSIDE_NS 250000
// The high task asks for the lock once in so long, on average; the bursts of the middle one and its pauses.
#define PERIOD_NS 5000000
#define BURST_NS 4000000
#define PAUSE_NS 4000000
#define WAITS_MAX 100000
// A wait that is longer has met something else than one section.
#define LATE_NS 500000

typedef uint64_t u64;

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

static void check(int error, const char *what)
{
    if (!error) return;
    fprintf(stderr, "%s: %s\n", what, strerror(error));
    exit(1);
}

// 16 LFENCE: takes its time on the machine, and can be interrupted at any of them.
static void work(unsigned iterations)
{
    for (unsigned i = 0; i < iterations; i++)
        asm volatile(".rept 16; .byte 0x0f, 0xae, 0xe8; .endr" : : : "memory");
}

static unsigned draw(u64 *random, unsigned below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 11) % below;
}

static void sleep_ns(unsigned ns)
{
    struct timespec pause = { ns / 1000000000, ns % 1000000000 };
    nanosleep(&pause, 0);
}

static int cpus, seed, rt, with_file, fd;
static double iteration_ns = 1e9;
static volatile int started, ready;
static u64 end_ns;
static pthread_mutex_t mutex;
static char *buffer;
static u64 sections, hog_iterations[FAIR_HOGS];
static u64 waits[WAITS_MAX];
static unsigned waited;

static void policy(int priority)
{
    struct sched_param param = { priority };
    check(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), "pthread_setschedparam");
}

static u64 begin(int who, int cpu, int priority)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
    if (priority) policy(priority);
    asm volatile("lock; incl %0" : "+m"(ready) : : "memory");
    while (!started) usleep(1000);
    return (seed * 1000 + who + 1) * 0x9e3779b97f4a7c15ull;
}

static void *low(void *nothing)
{
    u64 random = begin(0, 0, rt ? 1 : 0);
    if (!rt && setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19)) fail("setpriority");
    while (now_ns() < end_ns) {
        if (with_file) {
            if (lseek(fd, 0, SEEK_SET)) fail("lseek");
            ssize_t got = read(fd, buffer, READ_BYTES);
            // The high task moves the position, too, when it comes between the two calls.
            if (got < READ_BYTES - 1) fail("read");
        } else {
            check(pthread_mutex_lock(&mutex), "lock");
            work(SECTION_NS / iteration_ns);
            check(pthread_mutex_unlock(&mutex), "unlock");
        }
        sections++;
        work((OUTSIDE_NS / 2 + draw(&random, OUTSIDE_NS)) / iteration_ns);
    }
    return 0;
}

static void *hog(void *argument)
{
    int who = (intptr_t)argument;
    u64 random = begin(1 + who, 0, rt ? 50 : 0);
    while (now_ns() < end_ns) {
        if (rt) sleep_ns(PAUSE_NS / 2 + draw(&random, PAUSE_NS));
        unsigned iterations = (rt ? BURST_NS / 2 + draw(&random, BURST_NS) : 1e6) / iteration_ns;
        work(iterations);
        hog_iterations[who] += iterations;
    }
    return 0;
}

static void *high(void *nothing)
{
    char byte;
    u64 random = begin(10, cpus - 1, 80);
    for (;;) {
        sleep_ns(PERIOD_NS / 2 + draw(&random, PERIOD_NS));
        u64 before = now_ns(), after;
        if (before >= end_ns || waited == WAITS_MAX) return 0;
        if (with_file) {
            if (read(fd, &byte, 1) < 0) fail("read");
            after = now_ns();
        } else {
            check(pthread_mutex_lock(&mutex), "lock");
            after = now_ns();
            check(pthread_mutex_unlock(&mutex), "unlock");
        }
        waits[waited++] = after - before;
    }
}

static void start(pthread_t *thread, void *(*what)(void *), int who)
{
    check(pthread_create(thread, 0, what, (void *)(intptr_t)who), "pthread_create");
}

static int compare(const void *a, const void *b)
{
    u64 x = *(u64 *)a, y = *(u64 *)b;
    return x < y ? -1 : x > y;
}

static void play(const char *lock, const char *middle, u64 window_ns)
{
    with_file = !strcmp(lock, "file");
    rt = !strcmp(middle, "rt");
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    int protocol = strcmp(lock, "inherit") ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT;
    check(pthread_mutexattr_setprotocol(&attributes, protocol), "protocol");
    check(pthread_mutex_init(&mutex, &attributes), "mutex");

    pthread_t threads[2 + FAIR_HOGS];
    int hogs = rt ? 1 : FAIR_HOGS;
    start(&threads[0], low, 0);
    start(&threads[1], high, 0);
    for (int i = 0; i < hogs; i++) start(&threads[2 + i], hog, i);
    // Else a task that has its real-time priority keeps others from getting theirs.
    while (ready < 2 + hogs) usleep(1000);
    u64 start_ns = now_ns();
    end_ns = start_ns + window_ns;
    started = 1;
    for (int i = 0; i < 2 + hogs; i++) pthread_join(threads[i], 0);
    double took_s = (now_ns() - start_ns) / 1e9;

    if (!waited) {
        fprintf(stderr, "%s-%s: the high task never had the lock\n", lock, middle);
        exit(1);
    }
    unsigned late = 0;
    for (unsigned i = 0; i < waited; i++) late += waits[i] > LATE_NS;
    qsort(waits, waited, sizeof *waits, compare);
    u64 worked = 0;
    for (int i = 0; i < hogs; i++) worked += hog_iterations[i];
    const char *names[] = { "p50", "p99", "max", "late", "requests", "sections", "middle" };
    double values[] = { waits[waited / 2] / 1e3, waits[waited * 99 / 100] / 1e3, waits[waited - 1] / 1e3,
                        100.0 * late / waited, waited / took_s, sections / took_s,
                        worked * iteration_ns / 1e9 / took_s * 100 };
    for (int i = 0; i < 7; i++) printf("%s-%s.%s %.2f\n", lock, middle, names[i], values[i]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: inversion CPUS SEED MS\n");
        return 2;
    }
    cpus = atoi(argv[1]);
    seed = atoi(argv[2]);
    u64 window_ns = atoi(argv[3]) * 1000000ull;

    for (int i = 0; i < 5; i++) {
        u64 before = now_ns();
        work(1000);
        double took = (now_ns() - before) / 1000.0;
        if (took < iteration_ns) iteration_ns = took;
    }
    buffer = malloc(READ_BYTES);
    memset(buffer, 1, READ_BYTES);
    fd = open("/tmp/shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, buffer, READ_BYTES) != READ_BYTES) fail("/tmp/shared");
    u64 alone_ns = -1;
    for (int i = 0; i < 3; i++) {
        if (lseek(fd, 0, SEEK_SET)) fail("lseek");
        u64 before = now_ns();
        if (read(fd, buffer, READ_BYTES) != READ_BYTES) fail("read");
        if (now_ns() - before < alone_ns) alone_ns = now_ns() - before;
    }
    printf("read %.2f\n", alone_ns / 1e3);
    fflush(stdout);

    static const char *const cases[][2] = { { "none", "rt" }, { "inherit", "rt" }, { "file", "rt" },
                                            { "none", "fair" }, { "inherit", "fair" }, { "file", "fair" } };
    for (int i = 0; i < 6; i++) {
        // A process each: every case begins with the same state.
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (!child) {
            play(cases[i][0], cases[i][1], window_ns);
            exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status) return 1;
    }
    return 0;
}
