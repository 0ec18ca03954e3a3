/* Sends UDP packets of 64 bytes to the other end of the pair, 256 in a system call; nobody reads them. Then waits until they
 * have come there.
 *
 * burst PACKETS MILLISECONDS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EACH 256

int main(int argc, char **argv)
{
    static char payload[64];
    static struct mmsghdr messages[EACH];
    struct iovec part = { payload, sizeof payload };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int left = argc == 3 ? atoi(argv[1]) : 0, i, fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || left < 1)
        return 2;
    inet_aton("10.9.0.2", &to.sin_addr);
    for (i = 0; i < EACH; i++) {
        messages[i].msg_hdr.msg_name = &to;
        messages[i].msg_hdr.msg_namelen = sizeof to;
        messages[i].msg_hdr.msg_iov = &part;
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    while (left > 0) {
        int sent = sendmmsg(fd, messages, left < EACH ? left : EACH, 0);
        /* Nobody listens: the other end says so. */
        if (sent < 0 && errno != ECONNREFUSED) {
            perror("sendmmsg");
            return 1;
        }
        left -= sent > 0 ? sent : 1;
    }
    usleep(1000 * atoi(argv[2]));
    return 0;
}
