/* Touches 1 GiB of pages of 4 KiB, and exits. */
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
    size_t bytes = 1UL << 30, at;
    char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    return 0;
}
