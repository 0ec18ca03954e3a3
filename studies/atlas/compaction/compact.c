/* Touches memory by pages of 4 KiB, gives every second one back, and asks the kernel to compact memory.
 *
 * compact MEBIBYTES */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

int main(int argc, char **argv)
{
    size_t bytes = argc == 2 ? (size_t)atoi(argv[1]) << 20 : 0, at;
    if (bytes == 0) {
        fprintf(stderr, "usage: compact MEBIBYTES\n");
        return 2;
    }
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
