/* A service in a control group beside a busy one: how long its requests take.
 *
 * groups WEIGHT TASKS SECONDS
 *
 * The program mounts the hierarchy itself, since nothing else in the guest does. `service` has the weight
 * WEIGHT, `batch` the default of 100, and both have a group inside, as a container in a pod has. TASKS tasks
 * in `batch` never sleep. The service gets a request every 10 ms that needs 2 ms of CPU time; the response
 * times go to /tmp/times, in microseconds. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOT "/tmp/groups"

static void fail(const char *what)
{
    fprintf(stderr, "groups: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long long ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void set(const char *group, const char *file, const char *value)
{
    char path[256];
    snprintf(path, sizeof path, ROOT "/%s/%s", group, file);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail(path);
    close(fd);
}

/* Makes a group with a weight, and one in it for its tasks: only a group without children may have some. */
static void make(const char *group, const char *weight)
{
    char path[256];
    snprintf(path, sizeof path, ROOT "/%s", group);
    if (mkdir(path, 0755))
        fail(path);
    set(group, "cpu.weight", weight);
    set(group, "cgroup.subtree_control", "+cpu");
    snprintf(path, sizeof path, ROOT "/%s/tasks", group);
    if (mkdir(path, 0755))
        fail(path);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: groups WEIGHT TASKS SECONDS\n");
        return 2;
    }
    int tasks = atoi(argv[2]), requests = 100 * atoi(argv[3]), i;
    pid_t children[64];
    if (tasks < 0 || tasks > 64)
        fail("TASKS");
    if (mkdir(ROOT, 0755) || mount("groups", ROOT, "cgroup2", 0, 0))
        fail("mount " ROOT);
    set(".", "cgroup.subtree_control", "+cpu");
    make("service", argv[1]);
    make("batch", "100");
    for (i = 0; i < tasks; i++) {
        children[i] = fork();
        if (children[i] < 0)
            fail("fork");
        if (children[i] == 0) {
            set("batch/tasks", "cgroup.procs", "0");
            for (;;)
                ;
        }
    }
    set("service/tasks", "cgroup.procs", "0");
    FILE *times = fopen("/tmp/times", "w");
    if (!times)
        fail("/tmp/times");
    long long due = ns(CLOCK_MONOTONIC);
    for (i = 0; i < requests; i++) {
        due += 10000000;
        struct timespec until = { due / 1000000000, due % 1000000000 };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        long long worked = ns(CLOCK_THREAD_CPUTIME_ID);
        while (ns(CLOCK_THREAD_CPUTIME_ID) - worked < 2000000)
            ;
        fprintf(times, "%lld\n", (ns(CLOCK_MONOTONIC) - due) / 1000);
    }
    if (fclose(times))
        fail("/tmp/times");
    /* A cell ends with its probes, and these would stay. */
    for (i = 0; i < tasks; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    printf("requests %d\n", requests);
    return 0;
}
