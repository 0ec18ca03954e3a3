// Prints what this process was started with, a line for each.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void lines(const char *path, const char *begin)
{
	char line[256];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, begin, strlen(begin)))
			printf("%s", line);
	if (file)
		fclose(file);
}

int main(void)
{
	static const struct { int which; const char *name; } limits[] = {
		{RLIMIT_AS, "as"}, {RLIMIT_CORE, "core"}, {RLIMIT_CPU, "cpu"}, {RLIMIT_DATA, "data"},
		{RLIMIT_FSIZE, "fsize"}, {RLIMIT_LOCKS, "locks"}, {RLIMIT_MEMLOCK, "memlock"},
		{RLIMIT_MSGQUEUE, "msgqueue"}, {RLIMIT_NICE, "nice"}, {RLIMIT_NOFILE, "nofile"},
		{RLIMIT_RSS, "rss"}, {RLIMIT_RTPRIO, "rtprio"}, {RLIMIT_RTTIME, "rttime"},
		{RLIMIT_STACK, "stack"},
	};
	struct rlimit limit;
	int signal = -1, policy = -1, count = 0;
	mode_t mask = umask(0);

	printf("slack %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	// 0 goes back to the value that the process was started with.
	prctl(PR_SET_TIMERSLACK, 1234, 0, 0, 0);
	prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0);
	printf("slack_default %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	printf("policy %d\n", sched_getscheduler(0));
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	printf("ioprio %ld\n", syscall(SYS_ioprio_get, 1, 0));
	printf("umask %04o\n", mask);
	printf("personality %d\n", personality(0xffffffff));
	printf("securebits %d\n", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0);
	printf("pdeathsig %d\n", signal);
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	if (!syscall(SYS_get_mempolicy, &policy, 0, 0, 0, 0) || policy == -1)
		printf("mempolicy %d\n", policy == -1 ? 0 : policy);
	lines("/proc/self/status", "SigBlk");
	lines("/proc/self/status", "SigIgn");
	lines("/proc/self/status", "SigCgt");
	lines("/proc/self/status", "Cpus_allowed_list");
	FILE *oom = fopen("/proc/self/oom_score_adj", "r");
	int adj = -9999;
	if (oom && fscanf(oom, "%d", &adj) == 1)
		printf("oom_score_adj %d\n", adj);
	if (oom)
		fclose(oom);
	printf("tty %d\n", open("/dev/tty", O_RDWR) >= 0);
	DIR *files = opendir("/proc/self/fd");
	struct dirent *entry;
	while (files && (entry = readdir(files)))
		count += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(files);
	printf("files %d\n", count);
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		getrlimit(limits[i].which, &limit);
		printf("limit_%s %lld %lld\n", limits[i].name, (long long)limit.rlim_cur,
		       (long long)limit.rlim_max);
	}
	printf("printed 1\n");
	return 0;
}
