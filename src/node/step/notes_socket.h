/* The socket by which shepherds tell the node daemon: NODE_DIR/shepherds.sock. The kernel says with
 * each piece of what comes who wrote it, at the moment of writing: neither an inherited nor a
 * stolen descriptor lets anybody speak as a shepherd.
 *
 * Notes are lines, each sent whole. Nothing waits in the socket for a daemon that is away: what a
 * daemon must know is in the step's state file before it is told. */
#ifndef REMUDA_NODE_STEP_NOTES_SOCKET_H
#define REMUDA_NODE_STEP_NOTES_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* `steps_fd` is the directory NODE_DIR/steps. All return a descriptor (close-on-exec), or -1 with
 * errno. */
int notes_listen(int steps_fd); /* in the place of an earlier daemon's; does not block */
/* -1: nobody, or the kernel does not tell who sends; each message is one note */
int notes_accept(int listening);
/* Never blocks afterwards; -1, with errno, where nobody listens. */
int notes_connect(int steps_fd);

struct notes_sender {
    pid_t pid; /* checked by the kernel */
    uid_t uid;
};

/* One read without waiting: bytes of one sender only. 0 at the end, -1 with errno. */
ssize_t notes_receive(int fd, void *into, size_t size, struct notes_sender *ret);

#endif
