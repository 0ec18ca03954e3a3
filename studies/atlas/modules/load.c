/* Loads all modules of a folder, those that others need before these, and unloads them again.
 *
 * load FOLDER */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES_MAX 64

static char names[MODULES_MAX][256];
static const char *loaded[MODULES_MAX];

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

int main(int argc, char **argv)
{
    int count = 0, done = 0, before, i;
    char name[256];
    struct dirent *entry;
    DIR *folder = argc == 2 ? opendir(argv[1]) : 0;
    if (!folder || chdir(argv[1])) {
        fprintf(stderr, "usage: load FOLDER\n");
        return 2;
    }
    while ((entry = readdir(folder)) && count < MODULES_MAX)
        if (entry->d_name[0] != '.')
            strcpy(names[count++], entry->d_name);
    qsort(names, count, sizeof names[0], compare);
    /* A module whose symbols another one has is tried again when that one is there. */
    do {
        before = done;
        for (i = 0; i < count; i++) {
            if (!names[i][0])
                continue;
            int fd = open(names[i], O_RDONLY | O_CLOEXEC);
            if (syscall(SYS_finit_module, fd, "", 0) == 0 || errno == EEXIST) {
                loaded[done++] = strdup(names[i]);
                names[i][0] = 0;
            } else if (errno != ENOENT) {
                fprintf(stderr, "load: %s: %s\n", names[i], strerror(errno));
                return 1;
            }
            close(fd);
        }
    } while (done > before);
    if (done < count) {
        fprintf(stderr, "load: %d of %d modules need others that are not there\n", count - done, count);
        return 1;
    }
    while (done > 0) {
        strcpy(name, loaded[--done]);
        *strrchr(name, '.') = 0;
        /* One that was there before may have users. */
        if (syscall(SYS_delete_module, name, O_NONBLOCK) && errno != EWOULDBLOCK) {
            fprintf(stderr, "load: unload %s: %s\n", name, strerror(errno));
            return 1;
        }
    }
    return 0;
}
