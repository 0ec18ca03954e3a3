// What a wakeup costs that does not preempt at once. Usage: tcc -pthread -run detour.c CPUS SEED [TIMES]
// Two threads exchange messages over a pty, whose every write queues work for a kworker, or over pipes, which need none.
// Beside them runs nothing, or on each CPU a thread that stays in user mode, or in the kernel for a given time.
// Prints one NAME VALUE a line; TIMES is the file for the response times of the case OF_TIMES, in us.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;

#define CPUS_MAX 8
#define TRIPS_MAX 20000
#define MESSAGE 32
#define WINDOW_NS 30000000ull
#define WINDOW_PACED_NS 60000000ull
#define WINDOW_IDLE_NS 10000000ull
// Between two requests of a paced case: from this on, and so much longer at most.
#define PAUSE_NS 300000
#define PAUSE_SPREAD_NS 1400000
// Beside an idle CPU a request takes less than half of this.
#define DETOUR_NS 100000
#define STREAM_WRITE 65536
#define STREAM_WRITES 64
#define OF_TIMES "pty.paced.kernel10ms"

#ifndef FIONREAD
#define FIONREAD 0x541B
#endif
#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#endif

static int cpus;

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

static void sleep_until(u64 at_ns)
{
    struct timespec at = { at_ns / 1000000000, at_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0) == EINTR) ;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

// --- Random numbers: xorshift64* ---

static u64 state;

static u64 draw(u64 below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 2685821657736338717ull >> 33) % below;
}

// --- What the kernel counts ---

struct counts { long blocks, preempted; u64 wakeups, switches; };

static struct counts of_thread(void)
{
    struct rusage usage;
    struct counts counts = { 0, 0, 0, 0 };
    if (getrusage(RUSAGE_THREAD, &usage)) fail("getrusage");
    counts.blocks = usage.ru_nvcsw;
    counts.preempted = usage.ru_nivcsw;
    return counts;
}

static char text[16384];

static void read_text(const char *path)
{
    int fd = open(path, O_RDONLY);
    int length = 0, more;
    if (fd < 0) fail(path);
    while ((more = read(fd, text + length, sizeof text - 1 - length)) > 0) length += more;
    text[length] = 0;
    close(fd);
}

// The kernel counts wakeups only where it is asked to.
static void count_wakeups(void)
{
    int fd = open("/proc/sys/kernel/sched_schedstats", O_WRONLY);
    if (fd < 0 || write(fd, "1", 1) != 1) fail("/proc/sys/kernel/sched_schedstats");
    close(fd);
}

// The whole system's wakeups and context switches.
static void of_system(struct counts *counts)
{
    counts->wakeups = counts->switches = 0;
    read_text("/proc/schedstat");
    for (char *at = text; (at = strstr(at, "\ncpu")); at++) {
        unsigned long long wakeups;
        if (sscanf(at, "\ncpu%*d %*u %*u %*u %*u %llu", &wakeups) == 1) counts->wakeups += wakeups;
    }
    read_text("/proc/stat");
    char *at = strstr(text, "\nctxt ");
    if (at) counts->switches = strtoull(at + 6, 0, 10);
}

// --- The pair ---

// [0] is the asking thread's end, [1] the answering thread's.
static int reads[2], writes[2];

static void write_all(int fd, const void *from, size_t length)
{
    while (length) {
        ssize_t done = write(fd, from, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail("write");
        from = (const char *)from + done;
        length -= done;
    }
}

static void read_all(int fd, void *to, size_t length)
{
    while (length) {
        ssize_t done = read(fd, to, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail("read");
        to = (char *)to + done;
        length -= done;
    }
}

static void make_raw(int fd)
{
    struct termios termios;
    if (tcgetattr(fd, &termios)) fail("tcgetattr");
    cfmakeraw(&termios);
    termios.c_cc[VMIN] = 1;
    termios.c_cc[VTIME] = 0;
    if (tcsetattr(fd, TCSANOW, &termios)) fail("tcsetattr");
}

static void open_pty(void)
{
    char name[64];
    int master, slave;
    master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY);
    if (master < 0) {
        if (mkdir("/dev/pts", 0755) && errno != EEXIST) fail("mkdir /dev/pts");
        if (mount("devpts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666"))
            fail("mount devpts on /dev/pts (the program needs root for it)");
        master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY);
    }
    if (master < 0) fail("open /dev/pts/ptmx");
    if (unlockpt(master)) fail("unlockpt");
    if (ptsname_r(master, name, sizeof name)) fail("ptsname_r");
    slave = open(name, O_RDWR | O_NOCTTY);
    if (slave < 0) fail(name);
    make_raw(slave);
    make_raw(master);
    reads[0] = writes[0] = master;
    reads[1] = writes[1] = slave;
}

static void open_pipes(void)
{
    int there[2], back[2];
    if (pipe(there) || pipe(back)) fail("pipe");
    writes[0] = there[1];
    reads[1] = there[0];
    writes[1] = back[1];
    reads[0] = back[0];
}

static void close_pair(void)
{
    close(reads[0]);
    close(reads[1]);
    if (writes[0] != reads[0]) {
        close(writes[0]);
        close(writes[1]);
    }
}

// Whether the asking thread stays on the first CPU and the answering one on the last.
static int pinned;
static struct counts of_answers;

static void place(int cpu)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < cpus; i++) CPU_SET(i, &all);
    if (pinned) pin(cpu);
    else if (sched_setaffinity(0, sizeof all, &all)) fail("sched_setaffinity");
}

// Answers every message until one begins with 'q'.
static void *answer(void *unused)
{
    char message[MESSAGE];
    place(cpus - 1);
    struct counts before = of_thread();
    for (;;) {
        read_all(reads[1], message, MESSAGE);
        if (message[0] == 'q') break;
        write_all(writes[1], message, MESSAGE);
    }
    of_answers = of_thread();
    of_answers.blocks -= before.blocks;
    of_answers.preempted -= before.preempted;
    return 0;
}

// --- What runs beside the pair ---

static volatile int over;

static void *stay_in_user(void *cpu_of)
{
    int cpu = (intptr_t)cpu_of;
    pin(cpu);
    while (!over)
        for (volatile int i = 0; i < 1000; i++) ;
    return 0;
}

// One system call that stays in the kernel: it clears the same buffer again and again.
#define PIECE (512 * 1024)
#define PIECES_MAX 1024
static char piece[CPUS_MAX][PIECE] __attribute__((aligned(4096)));
static struct iovec pieces[CPUS_MAX][PIECES_MAX];
static int zero;
// How many bytes one call clears.
static u64 call_bytes;

static void prepare_pieces(void)
{
    zero = open("/dev/zero", O_RDONLY);
    if (zero < 0) fail("/dev/zero");
    for (int cpu = 0; cpu < cpus; cpu++) {
        memset(piece[cpu], 1, PIECE);
        for (int i = 0; i < PIECES_MAX; i++) {
            pieces[cpu][i].iov_base = piece[cpu];
            pieces[cpu][i].iov_len = PIECE;
        }
    }
}

static void clear(struct iovec *from, u64 bytes)
{
    int whole = bytes / PIECE;
    u64 rest = bytes % PIECE;
    if (whole + (rest > 0) > PIECES_MAX) {
        fprintf(stderr, "a system call cannot be so long\n");
        exit(1);
    }
    if (rest) from[whole].iov_len = rest;
    if (readv(zero, from, whole + (rest > 0)) < 0) fail("readv");
    if (rest) from[whole].iov_len = PIECE;
}

static u64 clear_ns(u64 bytes)
{
    u64 best_ns = UINT64_MAX;
    for (int i = 0; i < (bytes > 1000000 ? 1 : 5); i++) {
        u64 before = now_ns();
        clear(pieces[0], bytes);
        u64 took = now_ns() - before;
        if (took < best_ns) best_ns = took;
    }
    return best_ns;
}

// The bytes that take so long: by two lengths, since a call costs something by itself.
static u64 bytes_for(u64 ns)
{
    static u64 small_ns, large_ns;
    if (!large_ns) {
        small_ns = clear_ns(4096);
        large_ns = clear_ns(64 * 4096);
    }
    double page_ns = (large_ns - small_ns) / 63.0;
    double more = ns > small_ns ? (ns - small_ns) / page_ns : 0;
    return 4096 * (1 + (u64)(more + 0.5));
}

static void *stay_in_kernel(void *cpu_of)
{
    int cpu = (intptr_t)cpu_of;
    pin(cpu);
    while (!over) clear(pieces[cpu], call_bytes);
    return 0;
}

struct beside { const char *name; void *(*run)(void *); u64 call_ns; };

static pthread_t beside_thread[CPUS_MAX];

static void start_beside(const struct beside *beside)
{
    over = 0;
    if (!beside->run) return;
    if (beside->call_ns) call_bytes = bytes_for(beside->call_ns);
    for (int cpu = 0; cpu < cpus; cpu++)
        if (pthread_create(&beside_thread[cpu], 0, beside->run, (void *)(intptr_t)cpu)) fail("pthread_create");
}

static void stop_beside(const struct beside *beside)
{
    over = 1;
    if (!beside->run) return;
    for (int cpu = 0; cpu < cpus; cpu++) pthread_join(beside_thread[cpu], 0);
}

// --- Cases ---

// From the end of the pause to the answer; of that the wait for the asking thread's own wakeup, and the round trip.
static u64 took_ns[TRIPS_MAX], woken_ns[TRIPS_MAX], trip_ns[TRIPS_MAX];
static const char *times;

static int compare(const void *a, const void *b)
{
    u64 x = *(u64 *)a, y = *(u64 *)b;
    return x < y ? -1 : x > y;
}

static void quantiles(const char *name, const char *what, u64 *ns, int count)
{
    qsort(ns, count, sizeof ns[0], compare);
    printf("%s.%sp50 %.2f\n", name, what, ns[(count * 50 + 99) / 100 - 1] / 1e3);
    printf("%s.%sp90 %.2f\n", name, what, ns[(count * 90 + 99) / 100 - 1] / 1e3);
    printf("%s.%smax %.2f\n", name, what, ns[count - 1] / 1e3);
}

static void write_times(int trips)
{
    FILE *file = fopen(times, "w");
    if (!file) fail(times);
    for (int i = 0; i < trips; i++) fprintf(file, "%.3f\n", took_ns[i] / 1e3);
    fclose(file);
}

// Round trips for a window of time. A paced pair pauses before each request, and counts from the end of the pause; the
// threads of a free pair are not pinned.
static void round_trips(const char *pair, const char *pace, const struct beside *beside)
{
    int paced = !strcmp(pace, "paced");
    char name[64], message[MESSAGE];
    pthread_t thread;
    struct counts before, after, own_before, own;
    u64 start_ns, end_ns, now;
    int trips = 0, detours = 0;

    snprintf(name, sizeof name, "%s.%s.%s", pair, pace, beside->name);
    if (!strcmp(pair, "pty")) open_pty();
    else open_pipes();
    pinned = strcmp(pace, "free");
    place(0);
    if (pthread_create(&thread, 0, answer, 0)) fail("pthread_create");
    memset(message, 'm', MESSAGE);
    for (int i = 0; i < 20; i++) {
        write_all(writes[0], message, MESSAGE);
        read_all(reads[0], message, MESSAGE);
    }
    start_beside(beside);
    sleep_until(now_ns() + 5000000);

    of_system(&before);
    own_before = of_thread();
    start_ns = now = now_ns();
    end_ns = start_ns + (paced ? WINDOW_PACED_NS : beside->run ? WINDOW_NS : WINDOW_IDLE_NS);
    while (now < end_ns && trips < TRIPS_MAX) {
        u64 due_ns = now, sent_ns = now;
        if (paced) {
            due_ns += PAUSE_NS + draw(PAUSE_SPREAD_NS);
            sleep_until(due_ns);
            sent_ns = now_ns();
        }
        write_all(writes[0], message, MESSAGE);
        read_all(reads[0], message, MESSAGE);
        now = now_ns();
        woken_ns[trips] = sent_ns - due_ns;
        trip_ns[trips] = now - sent_ns;
        took_ns[trips] = now - due_ns;
        if (took_ns[trips] > DETOUR_NS) detours++;
        trips++;
    }
    own = of_thread();
    of_system(&after);
    double seconds = (now - start_ns) / 1e9;
    own.blocks -= own_before.blocks;
    own.preempted -= own_before.preempted;

    message[0] = 'q';
    write_all(writes[0], message, MESSAGE);
    pthread_join(thread, 0);
    stop_beside(beside);
    close_pair();
    pin(0);

    if (times && !strcmp(name, OF_TIMES)) write_times(trips);
    printf("%s.rate %.1f\n", name, trips / seconds);
    quantiles(name, "", took_ns, trips);
    if (paced) {
        quantiles(name, "woken_", woken_ns, trips);
        quantiles(name, "trip_", trip_ns, trips);
    }
    printf("%s.detours %.2f\n", name, 100.0 * detours / trips);
    // The answering thread has also answered before the window: 20 times.
    printf("%s.blocks %.3f\n", name, (double)own.blocks / trips + (double)of_answers.blocks / (trips + 20));
    printf("%s.preempted %.3f\n", name, (double)own.preempted / trips + (double)of_answers.preempted / (trips + 20));
    printf("%s.wakeups %.3f\n", name, (double)(after.wakeups - before.wakeups) / trips);
    printf("%s.switches %.3f\n", name, (double)(after.switches - before.switches) / trips);
    printf("%s.trips %d\n", name, trips);
    fflush(stdout);
}

static void *write_stream(void *unused)
{
    static char block[STREAM_WRITE];
    memset(block, 's', sizeof block);
    pin(0);
    for (int i = 0; i < STREAM_WRITES; i++) write_all(writes[0], block, sizeof block);
    return 0;
}

// One thread writes long blocks, the other reads: the writer is in the kernel while the kworker is woken.
static void stream(const struct beside *beside)
{
    static char block[4096];
    char name[64];
    pthread_t thread;
    struct counts before, after;
    u64 start_ns, got = 0, reads_done = 0;

    snprintf(name, sizeof name, "pty.stream.%s", beside->name);
    open_pty();
    start_beside(beside);
    sleep_until(now_ns() + 5000000);
    pin(cpus - 1);
    of_system(&before);
    start_ns = now_ns();
    if (pthread_create(&thread, 0, write_stream, 0)) fail("pthread_create");
    while (got < (u64)STREAM_WRITE * STREAM_WRITES) {
        ssize_t done = read(reads[1], block, sizeof block);
        if (done <= 0) fail("read");
        got += done;
        reads_done++;
    }
    double seconds = (now_ns() - start_ns) / 1e9;
    of_system(&after);
    pthread_join(thread, 0);
    stop_beside(beside);
    close_pair();
    pin(0);
    double kib = got / 1024.0;
    printf("%s.rate %.3f\n", name, kib / 1024 / seconds);
    printf("%s.wakeups %.3f\n", name, (after.wakeups - before.wakeups) / kib);
    printf("%s.switches %.3f\n", name, (after.switches - before.switches) / kib);
    printf("%s.reads %.3f\n", name, reads_done / kib);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct beside idle = { "idle", 0, 0 };
    static const struct beside user = { "user", stay_in_user, 0 };
    static const struct beside kernel20us = { "kernel20us", stay_in_kernel, 20000 };
    static const struct beside kernel1ms = { "kernel1ms", stay_in_kernel, 1000000 };
    static const struct beside kernel10ms = { "kernel10ms", stay_in_kernel, 10000000 };
    static const struct beside *const all[] = { &idle, &user, &kernel20us, &kernel1ms, &kernel10ms };

    cpus = argc >= 3 ? atoi(argv[1]) : 0;
    if (cpus < 1 || cpus > CPUS_MAX) {
        fprintf(stderr, "usage: detour CPUS SEED [TIMES], of 1 to %d CPUs\n", CPUS_MAX);
        return 2;
    }
    state = (strtoull(argv[2], 0, 10) + 1) * 0x9e3779b97f4a7c15ull;
    times = argc > 3 ? argv[3] : 0;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    pin(0);
    count_wakeups();
    prepare_pieces();
    // Before anything runs beside it.
    bytes_for(0);
    printf("call.ms10 %.3f\n", clear_ns(bytes_for(10000000)) / 1e6);
    round_trips("pty", "closed", &idle);
    round_trips("pty", "closed", &user);
    round_trips("pty", "closed", &kernel10ms);
    round_trips("pty", "free", &kernel10ms);
    for (int i = 0; i < 5; i++) round_trips("pty", "paced", all[i]);
    round_trips("pipe", "closed", &idle);
    round_trips("pipe", "closed", &kernel10ms);
    round_trips("pipe", "paced", &idle);
    round_trips("pipe", "paced", &kernel10ms);
    stream(&idle);
    return 0;
}
