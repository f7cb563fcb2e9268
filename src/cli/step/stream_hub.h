/* Where the shepherds of a command's steps connect to: an abstract Unix socket for those on this
 * host, a TCP port for the others. A hub cuts what comes into messages and queues what is sent; it
 * never blocks. Who connects must show a key first. */
#ifndef REMUDA_CLI_STEP_STREAM_HUB_H
#define REMUDA_CLI_STEP_STREAM_HUB_H

#include "base/arena.h"
#include "base/err.h"
#include "model/message.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define HUB_KEY_CHARS 32

struct stream_hub;  /* opaque */
struct stream_peer; /* a shepherd */

struct hub_ops {
    /* A shepherd showed a key: who is it? NULL = nobody knows it, it is sent away. What is returned
     * is its ctx from now on. */
    void *(*hello)(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m);
    /* A message of a shepherd; valid during the call. */
    void (*message)(void *ctx, void *peer_ctx, struct stream_peer *p, const struct message *m);
    /* Its connection is gone. */
    void (*gone)(void *ctx, void *peer_ctx, struct stream_peer *p);
};

/* Listens. With `remote` also on a TCP port (of `ports` "LOW-HIGH"; NULL = any free one). `sealer`
 * tells the path of remudad, which speaks TLS with those who come there (it is asked, and started,
 * when the first comes); NULL = they are not encrypted. */
struct stream_hub *hub_new(bool remote, const char *ports, const char *(*sealer)(struct arena *a),
                           const struct hub_ops *ops, void *ctx, struct err *ret_err);
/* The secret of a step: who comes from another host must know one of them. Before the step is asked
 * for. */
void hub_secret_add(struct stream_hub *h, const char *key);
void hub_free(struct stream_hub *h); /* closes everything; NULL is allowed */
/* As create_step carries it; lives as long as the hub. */
const char *hub_address(const struct stream_hub *h);
/* A new secret of HUB_KEY_CHARS characters, in the arena. */
const char *hub_key_new(struct arena *a);

size_t hub_count(const struct stream_hub *h); /* of its descriptors, now */
/* Fills v, which has room for hub_count(), and returns how many; then hub_serve with the same
 * entries after poll. While paused no message is read. */
size_t hub_wait_for(struct stream_hub *h, struct pollfd *v, bool paused);
/* Reads, writes, takes in who came; n as hub_wait_for returned it, which peers that came since
 * are not in. */
void hub_serve(struct stream_hub *h, const struct pollfd *v, size_t n);

/* Nothing to one that is gone; what the socket does not take at once is kept. */
void peer_send(struct stream_peer *p, enum message_kind kind, const void *body);
size_t peer_unsent(const struct stream_peer *p); /* bytes */
void peer_close(struct stream_peer *p);          /* after what is unsent; `gone` follows */

#endif
