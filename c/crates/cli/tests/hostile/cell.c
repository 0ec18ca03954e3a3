// SPDX-License-Identifier: MIT
/*
 * A command of a cell on the machine's own kernel that tries to get out of it. Each attempt must
 * fail; those that do not are printed as `DONE`. What benchmarks need must work, or is printed as
 * `LACKING`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int attempts, done, lacking;

static void attempt(const char *what, long result)
{
	attempts++;
	if (result >= 0) {
		done++;
		printf("DONE %s\n", what);
	} else {
		printf("refused %s: %s\n", what, strerror(errno));
	}
	fflush(stdout);
}

static void need(const char *what, long result)
{
	if (result < 0) {
		lacking++;
		printf("LACKING %s: %s\n", what, strerror(errno));
	}
}

static void writes(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	long result = fd < 0 ? -1 : write(fd, text, strlen(text));

	attempt(path, result);
	if (fd >= 0)
		close(fd);
}

static void opens(const char *path, int flags)
{
	int fd = open(path, flags);

	attempt(path, fd);
	if (fd >= 0)
		close(fd);
}

/* Whether a child that becomes something can do it. */
static void in_child(const char *what, long (*work)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		errno = 0;
		_exit(work() < 0 ? errno : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		need("fork", -1);
		return;
	}
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
	attempt(what, status == 0 ? 0 : -1);
}

static long joins(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : setns(fd, 0);
}

static long joins_mounts(void) { return joins("/proc/1/ns/mnt"); }
static long joins_users(void) { return joins("/proc/1/ns/user"); }
static long joins_processes(void) { return joins("/proc/1/ns/pid"); }
static long new_users(void) { return unshare(CLONE_NEWUSER); }
static long new_mounts(void) { return unshare(CLONE_NEWNS); }
static long new_network(void) { return unshare(CLONE_NEWNET); }
static long changes_root(void)
{
	mkdir("/tmp/out", 0755);
	return chroot("/tmp/out");
}
static long clones_users(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}
static long clones3_users(void)
{
	struct { uint64_t flags, rest[10]; } arguments = { .flags = CLONE_NEWUSER };

	return syscall(SYS_clone3, &arguments, sizeof(arguments));
}
static long traces_first(void) { return ptrace(PTRACE_SEIZE, 1, 0, 0); }
static long traces_parent(void) { return ptrace(PTRACE_ATTACH, getppid(), 0, 0); }
static long becomes_privileged(void)
{
	struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
	struct { uint32_t effective, permitted, inheritable; } sets[2];

	memset(sets, 0xff, sizeof(sets));
	return syscall(SYS_capset, &header, sets);
}

static void files(void)
{
	writes("/proc/sys/kernel/core_pattern", "|/bin/sh");
	writes("/proc/sys/kernel/modprobe", "/tmp/x");
	writes("/proc/sys/kernel/hotplug", "/tmp/x");
	writes("/proc/sys/vm/overcommit_memory", "1");
	writes("/proc/sysrq-trigger", "h");
	writes("/proc/1/oom_score_adj", "1000");
	writes("/proc/self/oom_score_adj", "-1000");
	writes("/proc/self/uid_map", "0 0 1");
	writes("/proc/irq/default_smp_affinity", "1");
	writes("/sys/kernel/uevent_helper", "/tmp/x");
	writes("/sys/kernel/mm/ksm/run", "1");
	writes("/sys/devices/system/cpu/cpu1/online", "0");
	writes("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
	writes("/sys/fs/cgroup/release_agent", "/tmp/x");
	writes("/sys/fs/cgroup/cgroup.procs", "0");
	writes("/sys/kernel/debug/sched/preempt", "none");
	writes("/run/preemptlab/host.json", "{}");
	writes("/recording/recording.json", "{}");
	opens("/first", O_RDONLY);
	opens("/../../../../first", O_RDONLY);
	opens("/proc/1/mem", O_RDWR);
	opens("/proc/1/environ", O_RDONLY);
	opens("/proc/1/root/tmp", O_RDONLY);
	opens("/proc/1/fd/3", O_RDONLY);
	opens("/proc/1/cwd/", O_RDONLY);
	opens("/run/machine/proc", O_RDONLY);
	opens("/proc/kcore", O_RDONLY | O_DIRECTORY);
	opens("/proc/bus/pci", O_RDONLY);
	opens("/proc/kpageflags", O_RDWR | O_EXCL | O_CREAT);
	opens("/dev/mem", O_RDONLY);
	opens("/dev/kmsg", O_RDONLY);
	opens("/dev/vda", O_RDONLY);
	opens("/dev/sda", O_RDONLY);
	opens("/dev/cpu_dma_latency", O_RDWR);
	opens("/dev/kvm", O_RDWR);
	opens("/dev/ttyS0", O_RDWR);
	opens("/dev/console", O_RDWR);
	attempt("mknod block", mknod("/tmp/disk", S_IFBLK | 0600, makedev(8, 0)));
	attempt("mknod mem", mknod("/tmp/mem", S_IFCHR | 0600, makedev(1, 1)));
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			attempt("a descriptor of another", 0);
}

static void mounts(void)
{
	char handle[128] = { 0 };

	attempt("mount tmpfs", mount("none", "/tmp", "tmpfs", 0, 0));
	attempt("mount proc", mount("none", "/tmp", "proc", 0, 0));
	attempt("mount debugfs", mount("none", "/tmp", "debugfs", 0, 0));
	attempt("mount cgroup", mount("none", "/tmp", "cgroup2", 0, 0));
	attempt("remount /proc", mount(0, "/proc", 0, MS_REMOUNT | MS_BIND, 0));
	attempt("bind", mount("/proc", "/tmp", 0, MS_BIND, 0));
	attempt("umount /proc", umount2("/proc", MNT_DETACH));
	attempt("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	attempt("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
	attempt("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0));
	attempt("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/proc", 0, handle, 32));
	attempt("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	attempt("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY));
	attempt("swapon", swapon("/tmp/swap", 0));
	attempt("quotactl", syscall(SYS_quotactl, 0, 0, 0, 0));
	attempt("acct", acct("/tmp/acct"));
}

static void kernel(void)
{
	struct timeval now;
	struct timespec time;
	struct timex adjust = { .modes = ADJ_OFFSET };
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event) };
	char buffer[128] = { 0 };

	attempt("init_module", syscall(SYS_init_module, buffer, sizeof(buffer), ""));
	attempt("finit_module", syscall(SYS_finit_module, 0, "", 0));
	attempt("delete_module", syscall(SYS_delete_module, "loop", 0));
	attempt("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0));
	attempt("kexec_file_load", syscall(SYS_kexec_file_load, 0, 0, 0, "", 0));
	attempt("reboot", reboot(RB_DISABLE_CAD));
	attempt("bpf", syscall(SYS_bpf, 0, buffer, sizeof(buffer)));
	attempt("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
	attempt("io_uring_setup", syscall(SYS_io_uring_setup, 1, buffer));
	attempt("userfaultfd", syscall(SYS_userfaultfd, 1));
	attempt("add_key", syscall(SYS_add_key, "user", "x", "x", 1, -4));
	attempt("keyctl", syscall(SYS_keyctl, 0, -4, 1, 0, 0));
	attempt("request_key", syscall(SYS_request_key, "user", "x", "x", -4));
	attempt("syslog", syscall(SYS_syslog, 3, buffer, sizeof(buffer)));
	attempt("iopl", syscall(SYS_iopl, 3));
	attempt("ioperm", syscall(SYS_ioperm, 0x70, 1, 1));
	attempt("modify_ldt", syscall(SYS_modify_ldt, 0, buffer, sizeof(buffer)));
	attempt("personality", personality(READ_IMPLIES_EXEC));
	attempt("sethostname", sethostname("x", 1));
	gettimeofday(&now, 0);
	clock_gettime(CLOCK_REALTIME, &time);
	attempt("settimeofday", settimeofday(&now, 0));
	attempt("clock_settime", clock_settime(CLOCK_REALTIME, &time));
	attempt("adjtimex", adjtimex(&adjust));
}

static void processes(void)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)0x400000, 1 };

	in_child("ptrace 1", traces_first);
	in_child("ptrace the parent", traces_parent);
	attempt("process_vm_readv", process_vm_readv(1, &local, 1, &remote, 1, 0));
	attempt("process_vm_writev", process_vm_writev(1, &local, 1, &remote, 1, 0));
	attempt("pidfd_getfd", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, 1, 0), 3, 0));
	attempt("kill a process of the machine", kill(0x3ffff, SIGKILL));
	/* Were it not in vain, nothing would come after it. */
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	in_child("setns mnt", joins_mounts);
	in_child("setns user", joins_users);
	in_child("setns pid", joins_processes);
	in_child("unshare user", new_users);
	in_child("unshare mnt", new_mounts);
	in_child("unshare net", new_network);
	in_child("clone user", clones_users);
	in_child("clone3 user", clones3_users);
	in_child("chroot", changes_root);
	in_child("capset", becomes_privileged);
	attempt("PR_CAP_AMBIENT", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	attempt("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0);
	attempt("CAP_SYS_ADMIN", prctl(PR_CAPBSET_READ, 21, 0, 0, 0) == 0 ? -1 : 0);
	attempt("CAP_SYS_MODULE", prctl(PR_CAPBSET_READ, 16, 0, 0, 0) == 0 ? -1 : 0);
	struct rlimit more = { 1 << 20, 1 << 20 };
	attempt("RLIMIT_NOFILE", setrlimit(RLIMIT_NOFILE, &more));
	struct rlimit core = { RLIM_INFINITY, RLIM_INFINITY };
	attempt("RLIMIT_CORE", setrlimit(RLIMIT_CORE, &core));
}

static long connects(int type, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	int fd = socket(AF_INET, type, 0);

	inet_pton(AF_INET, address, &to.sin_addr);
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static void network(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	attempt("udp", connects(SOCK_DGRAM, "192.0.2.1"));
	attempt("tcp", connects(SOCK_STREAM, "10.0.2.2"));
	attempt("AF_PACKET", socket(AF_PACKET, SOCK_RAW, 0));
	attempt("AF_VSOCK", socket(AF_VSOCK, SOCK_STREAM, 0));
	attempt("AF_ALG", socket(AF_ALG, SOCK_SEQPACKET, 0));
	attempt("SOCK_RAW", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	need("a socket", fd);
	attempt("lo down", ioctl(fd, SIOCSIFFLAGS, &request));
}

static void needed(void)
{
	struct sched_param fifo = { .sched_priority = 80 };
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "127.0.0.1", &local.sin_addr);
	need("a port below 1024", bind(fd, (struct sockaddr *)&local, sizeof(local)));
	need("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &fifo));
	need("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
	need("nice", setpriority(PRIO_PROCESS, 0, -20));
	need("a file anywhere", open("/etc/x", O_CREAT | O_WRONLY, 0600));
	need("chown", chown("/etc/x", 1000, 1000));
	need("/dev/urandom", open("/dev/urandom", O_RDONLY));
	need("/proc/cpuinfo", open("/proc/cpuinfo", O_RDONLY));
	need("/sys/devices/system/cpu", open("/sys/devices/system/cpu/online", O_RDONLY));
	need("shared memory", open("/dev/shm/x", O_CREAT | O_RDWR, 0600));
	need("another user", setuid(1000));
}

/* Whether root is another on the machine. */
static void who(void)
{
	unsigned int inside, outside = 0;
	FILE *map = fopen("/proc/self/uid_map", "r");

	if (map && fscanf(map, "%u %u", &inside, &outside) == 2 && outside != 0)
		printf("users of its own\n");
	if (map)
		fclose(map);
}

int main(void)
{
	who();
	files();
	mounts();
	kernel();
	processes();
	network();
	needed();
	printf("attempts %d\ndone %d\nlacking %d\n", attempts, done, lacking);
	return 0;
}
