// Many tasks that work for a short time and sleep for a shorter one, which a fair scheduler has to give equal shares.
// The idea is that of massive_intr, with which kernel developers compared schedulers.
// Usage: tcc -run massive_intr.c TASKS MILLISECONDS SEED
// Prints the turns of all tasks, and the largest and the smallest share of a task, over the mean.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TASKS_MAX 256
// A turn's work and the sleep after it.
#define WORK_US 200
#define SLEEP_US 50

static uint64_t now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static void sleep_until(uint64_t us)
{
    struct timespec at = { us / 1000000, us % 1000000 * 1000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0) == EINTR) ;
}

// Readings of the time-stamp counter, which take long for an instruction.
static void work(int readings)
{
    for (int i = 0; i < readings; i++) asm volatile("rdtsc" : : : "eax", "edx");
}

// Readings that take WORK_US. They are counted once, before there are other tasks.
static int calibrate(void)
{
    int readings = 1000;
    for (;;) {
        uint64_t before = now_us(CLOCK_PROCESS_CPUTIME_ID);
        work(readings);
        uint64_t took = now_us(CLOCK_PROCESS_CPUTIME_ID) - before;
        if (took >= WORK_US) return (int)((uint64_t)readings * WORK_US / took);
        readings *= 2;
    }
}

int main(int argc, char **argv)
{
    int tasks = argc == 4 ? atoi(argv[1]) : 0;
    if (tasks < 1 || tasks > TASKS_MAX) {
        fprintf(stderr, "usage: massive_intr TASKS MILLISECONDS SEED, up to %d tasks\n", TASKS_MAX);
        return 2;
    }
    uint64_t window_us = strtoull(argv[2], 0, 10) * 1000;
    srandom(strtoul(argv[3], 0, 10));
    int *turns = mmap(0, TASKS_MAX * sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turns == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    int readings = calibrate();
    uint64_t start = now_us(CLOCK_MONOTONIC) + 10000, end = start + window_us;
    for (int i = 0; i < tasks; i++) {
        uint64_t first = start + random() % 1000;
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid) continue;
        sleep_until(first);
        while (now_us(CLOCK_MONOTONIC) < end) {
            work(readings);
            turns[i]++;
            sleep_until(now_us(CLOCK_MONOTONIC) + SLEEP_US);
        }
        _exit(0);
    }
    for (int i = 0; i < tasks; i++) wait(0);
    int sum = 0, most = turns[0], least = turns[0];
    for (int i = 0; i < tasks; i++) {
        sum += turns[i];
        if (turns[i] > most) most = turns[i];
        if (turns[i] < least) least = turns[i];
    }
    double mean = (double)sum / tasks;
    printf("turns %.1f\nmost %.4f\nleast %.4f\n", sum * 1e6 / window_us, most / mean, least / mean);
    return 0;
}
