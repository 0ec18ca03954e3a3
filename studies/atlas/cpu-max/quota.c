/* A group with a quota of 2 ms in 10 ms, and groups in it with a task each that never sleeps: the kernel goes through all
 * of them when it stops the group, and when it lets it go on.
 *
 * quota GROUPS MILLISECONDS */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define ALL ROOT "/all"

static void fail(const char *what)
{
    fprintf(stderr, "quota: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void set(const char *group, const char *file, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", group, file);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail(path);
    close(fd);
}

int main(int argc, char **argv)
{
    static pid_t children[1000];
    int gate[2];
    char byte, pid[16];
    int groups = argc == 3 ? atoi(argv[1]) : 0, i;
    if (groups < 1 || groups > 1000) {
        fprintf(stderr, "usage: quota GROUPS MILLISECONDS\n");
        return 2;
    }
    if (mount("cgroup2", ROOT, "cgroup2", 0, 0) && errno != EBUSY)
        fail("mount " ROOT);
    if (pipe(gate))
        fail("pipe");
    set(ROOT, "cgroup.subtree_control", "+cpu");
    if (mkdir(ALL, 0755))
        fail(ALL);
    set(ALL, "cgroup.subtree_control", "+cpu");
    set(ALL, "cpu.max", "2000 10000");
    for (i = 0; i < groups; i++) {
        char path[64];
        snprintf(path, sizeof path, ALL "/g%d", i);
        if (mkdir(path, 0755))
            fail(path);
        children[i] = fork();
        if (children[i] < 0)
            fail("fork");
        if (children[i] == 0) {
            close(gate[1]);
            if (read(gate[0], &byte, 1) < 0)
                fail("read");
            for (;;)
                ;
        }
        snprintf(pid, sizeof pid, "%d", children[i]);
        set(path, "cgroup.procs", pid);
    }
    /* A task takes a grace period of RCU into its group, which the others spend asleep. */
    close(gate[1]);
    usleep(1000 * atoi(argv[2]));
    for (i = 0; i < groups; i++)
        kill(children[i], SIGKILL);
    for (i = 0; i < groups; i++)
        waitpid(children[i], 0, 0);
    return 0;
}
