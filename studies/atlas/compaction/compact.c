/* Touches free memory by pages of 4 KiB, gives every second one back, and asks the kernel to compact memory. A part stays free, but
 * too little of it for the kernel to have another place for what it moves.
 *
 * compact MEBIBYTES-THAT-STAY-FREE */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PAGE 4096

int main(int argc, char **argv)
{
    struct sysinfo info;
    size_t left = argc == 2 ? (size_t)atoi(argv[1]) << 20 : 0, bytes, at;
    if (left == 0 || sysinfo(&info) || info.freeram * info.mem_unit <= left) {
        fprintf(stderr, "usage: compact MEBIBYTES-THAT-STAY-FREE\n");
        return 2;
    }
    bytes = (info.freeram * info.mem_unit - left) / (2 * PAGE) * (2 * PAGE);
    char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* A kernel without huge pages knows no such advice. */
    if (memory == MAP_FAILED || (madvise(memory, bytes, MADV_NOHUGEPAGE) && errno != EINVAL)) {
        fprintf(stderr, "compact: memory: %s\n", strerror(errno));
        return 1;
    }
    for (at = 0; at < bytes; at += PAGE)
        memory[at] = 1;
    for (at = 0; at < bytes; at += 2 * PAGE)
        madvise(memory + at, PAGE, MADV_DONTNEED);
    int fd = open("/proc/sys/vm/compact_memory", O_WRONLY);
    if (fd < 0 || write(fd, "1", 1) != 1) {
        fprintf(stderr, "compact: /proc/sys/vm/compact_memory: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
