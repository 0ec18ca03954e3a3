// How long a small system call takes, getppid(). Usage: tcc -run syscall.c CALLS
// The mean is that of CALLS calls in a row; the quantiles are of CALLS more, each between two reads of the clock.
// Prints one NAME VALUE a line, in nanoseconds.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_MAX 100000

static unsigned calls_of_ns[NS_MAX + 1];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// The least time within which this share of the calls ended.
static unsigned quantile(double share, unsigned calls)
{
    double seen = 0;
    for (unsigned ns = 0; ns <= NS_MAX; ns++) {
        seen += calls_of_ns[ns];
        if (seen >= share * calls)
            return ns;
    }
    return NS_MAX;
}

int main(int argc, char **argv)
{
    unsigned calls = argc == 2 ? atoi(argv[1]) : 0;
    if (!calls) {
        fprintf(stderr, "usage: syscall CALLS\n");
        return 2;
    }
    uint64_t begin_ns = now_ns();
    for (unsigned call = 0; call < calls; call++)
        getppid();
    printf("mean %.2f\n", (double)(now_ns() - begin_ns) / calls);
    for (unsigned call = 0; call < calls; call++) {
        uint64_t start_ns = now_ns();
        getppid();
        uint64_t took_ns = now_ns() - start_ns;
        calls_of_ns[took_ns < NS_MAX ? took_ns : NS_MAX]++;
    }
    printf("p50 %u\np99 %u\np99.9 %u\n", quantile(0.5, calls), quantile(0.99, calls), quantile(0.999, calls));
}
