/* What a host keeps of the cluster it joined: DIR/host.conf (Key=Value lines, for everybody to
 * read) and its key and certificates in DIR/tls. */
#ifndef REMUDA_NODE_HOST_HOST_FILE_H
#define REMUDA_NODE_HOST_HOST_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "io/net/tcp_socket.h"
#include "io/net/tls.h"
#include "model/message.h"

struct host_file {
    const char *controller; /* HOST:PORT */
    const char *id, *cluster, *role, *node;
    const char *key, *cert, *authority; /* PEM */
};

#define HOST_PORT 6817 /* unless the address names one */

/* ERR_NOT_FOUND: this state directory is not one of a host that joined. Texts live in the arena. */
bool host_file_read(const char *state_dir, struct arena *a, struct host_file *ret,
                    struct err *ret_err);
/* Writes the key first and the file last: what is there is whole. ERR says which could not be
 * written. */
bool host_file_write(const char *state_dir, const struct host_file *h, struct err *ret_err);
/* The certificate alone, renewed. */
bool host_cert_write(const char *state_dir, const char *cert, struct err *ret_err);
/* One call to the controller at that address over TLS: sends the message, waits for the answer at
 * most 30 s. Blocks: for small programs. A DONE with a refusal is an error: ERR_DENIED if this host
 * may not, ERR_UNAVAILABLE if the controller cannot (its disk is full); ret is that DONE then. */
bool host_call(const char *controller, struct tls_context *tls, const struct message *m,
               struct arena *a, struct message *ret, struct err *ret_err);

#endif
