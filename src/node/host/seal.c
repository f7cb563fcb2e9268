/* The encrypting half of a command's streams: `remudad seal LISTEN_FD @NAME`, started by srun
 * (cli/step/stream_hub.c) when the first shepherd of another host connects.
 *
 * It accepts shepherds at the TCP port that the command listens on, speaks TLS with them by the
 * secret of their step (it comes on standard input, and a shepherd got it through the controller),
 * and is a connection to the command's own Unix socket on the other side. So commands need no TLS
 * of their own to start, and the command sees frames as it does from shepherds of its own host. A
 * side stops reading while the other does not take what it has; when one goes, the other gets what
 * is left, however long that takes. It ends with its standard input, that is, with the command.
 *
 * Anybody may connect to the port. The command hears of nobody before something came by the step's
 * secret; of those who wait for that there are so many, and the oldest makes room. */
#include "base/alloc.h"
#include "base/str.h"
#include "io/net/listen.h"
#include "io/net/splice.h"
#include "io/net/tcp_socket.h"
#include "io/process/confine.h"
#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNKNOWN_MAX 256

struct sealer {
    struct loop *loop;
    struct tls_context *tls;
    int listen_fd;
    const char *name; /* of the command's socket */
    struct listener *listening;
    struct fd_watch *command;
    struct sealed *unknown, **unknown_last;
    size_t unknown_count;
};

struct sealed {
    struct splice splice;
    struct sealer *sealer;
    struct sealed *next, **link; /* while it is unknown; NULL afterwards */
};

static void unknown_leave(struct sealed *s)
{
    struct sealer *r = s->sealer;
    if (!s->link)
        return;
    *s->link = s->next;
    *(s->next ? &s->next->link : &r->unknown_last) = s->link;
    s->link = NULL;
    r->unknown_count--;
}

static void unknown_add(struct sealer *r, struct sealed *s)
{
    s->link = r->unknown_last;
    *r->unknown_last = s;
    r->unknown_last = &s->next;
    if (++r->unknown_count <= UNKNOWN_MAX)
        return;
    struct sealed *oldest = r->unknown;
    unknown_leave(oldest);
    conn_abort(oldest->splice.end[SPLICE_FAR]);
}

static void sealed_over(struct splice *s)
{
    struct sealed *sealed = (struct sealed *)s;
    unknown_leave(sealed);
    free(sealed);
}

static int command_connect(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || len > sizeof to.sun_path)
        return -1;
    memcpy(to.sun_path, name, len);
    to.sun_path[0] = '\0'; /* instead of the @ */
    if (connect(fd, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    close(fd);
    return -1;
}

/* It speaks by the secret: the command is to hear it. */
static void shepherd_known(struct sealed *s)
{
    struct err err = {0};
    int command = command_connect(s->sealer->name);
    unknown_leave(s);
    if (command >= 0)
        s->splice.end[SPLICE_NEAR] =
            conn_new(s->sealer->loop, command, &splice_raw_conn_ops, s, &err);
    if (!s->splice.end[SPLICE_NEAR])
        conn_close(s->splice.end[SPLICE_FAR]);
}

static void far_bytes(void *ctx, struct conn *c, const char *data, size_t len)
{
    struct sealed *s = ctx;
    if (s->link)
        shepherd_known(s);
    splice_raw_conn_ops.bytes(ctx, c, data, len);
}

static void far_closed(void *ctx, struct conn *c, const struct err *why)
{
    splice_raw_conn_ops.closed(ctx, c, why);
}

static void far_drained(void *ctx, struct conn *c)
{
    splice_raw_conn_ops.drained(ctx, c);
}

static void shepherd_came(void *ctx, int fd)
{
    static const struct splice_ops ops = {.over = sealed_over, .close = conn_finish};
    static const struct conn_ops far = {
        .bytes = far_bytes, .closed = far_closed, .drained = far_drained};
    struct sealer *r = ctx;
    struct err err = {0};
    struct sealed *s = xcalloc(1, sizeof *s);
    s->sealer = r;
    s->splice.ops = &ops;
    tcp_socket_tune(fd);
    s->splice.end[SPLICE_FAR] = conn_new_tls(r->loop, fd, r->tls, &far, s, &err);
    if (s->splice.end[SPLICE_FAR])
        unknown_add(r, s);
    else
        free(s);
}

/* It says nothing more after the secrets: this is its end. */
static void command_gone(void *ctx)
{
    (void)ctx;
    _exit(0);
}

/* One line on standard input. */
static char *secrets_read(void)
{
    struct str line = STR_INIT;
    char c;
    ssize_t n;
    while ((n = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n')
        str_addc(&line, c);
    return n == 1 ? xstrdup(str_text(&line)) : NULL;
}

int seal_main(int argc, char **argv)
{
    struct err err = {0};
    struct sealer r = {.listen_fd = argc == 3 ? (int)strtol(argv[1], NULL, 10) : -1,
                       .name = argc == 3 ? argv[2] : ""};
    char *secrets = r.name[0] == '@' ? secrets_read() : NULL;
    if (!secrets) {
        fputs("remudad seal: srun starts this\n", stderr);
        return 2;
    }
    r.loop = loop_new(&err);
    r.tls = tls_context_shared(true, secrets, &err);
    if (r.loop && r.tls) {
        r.unknown_last = &r.unknown;
        r.listening = listener_new_of(r.loop, r.listen_fd, shepherd_came, &r, &err);
        r.command = r.listening ? fd_watch_new(r.loop, STDIN_FILENO, command_gone, &r, &err) : NULL;
    }
    const char *why;
    if (r.command)
        confine_process(&why); /* where the kernel has no filters it goes without */
    if (r.command)
        loop_run(r.loop);
    fprintf(stderr, "remudad seal: %s\n", err.text);
    return 1;
}
