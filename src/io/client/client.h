/* The commands' side of a connection to the controller: plain blocking sockets, nothing else
 * linked, so that sbatch takes about a millisecond. */
#ifndef REMUDA_IO_CLIENT_CLIENT_H
#define REMUDA_IO_CLIENT_CLIENT_H

#include "base/arena.h"
#include "base/err.h"
#include "model/message.h"

#include <stdbool.h>

/* The state directory of the cluster to talk to: explicit (--state), else REMUDA_STATE, else the
 * directory of the file SLURM_CONF names if that is a state directory, else one's own (below); a
 * user who has none of their own gets the machine's, whether it runs or not. */
const char *state_dir_find(const char *explicit_dir, struct arena *a);
/* The same where the machine's is in that directory; for tests. */
const char *state_dir_find_beside(const char *explicit_dir, const char *machine_dir,
                                  struct arena *a);
/* The state directory of the machine's cluster, or of what it joined, if there is one and it is not
 * `state_dir`; else NULL. */
const char *state_dir_machine(const char *state_dir);
/* Whose the cluster in that directory is, if it is somebody else's who alone may start and stop it:
 * a name, or "user 1234", in the arena. NULL: it is ours, or there is none. Root may do what others
 * may. */
const char *state_dir_owner(const char *state_dir, struct arena *a);
/* The state directory `remuda up` starts a cluster in: explicit, else REMUDA_STATE, else
 * /var/lib/remuda for root, else $XDG_STATE_HOME/remuda or ~/.local/state/remuda. */
const char *state_dir_own(const char *explicit_dir, struct arena *a);
/* Path of the controller's socket in it. */
const char *state_socket_path(const char *state_dir, struct arena *a);

/* Was a cluster started in that directory, and not taken down since? Then a controller that does
 * not answer is away for a moment, as far as one can know. */
bool state_dir_expected(const char *state_dir, struct arena *a);
/* Path of the mark that `remuda down` leaves there, and a start takes away. */
const char *state_down_path(const char *state_dir, struct arena *a);
#define STATE_DOWN "down" /* its name there */

/* The names of a store that was restored, until it has its place (controller/disk/switch.h). */
#define STATE_STORE_CHOSEN   "remuda.db.chosen"
#define STATE_STORE_RESTORED "remuda.db.restored"
/* Is one there: do the files of the directory belong to a restore that was cut off, and that the
 * controller finishes as it starts? */
bool state_dir_half_restored(const char *state_dir, struct arena *a);

struct client; /* opaque */

/* How long a command waits for a controller that is away, in ms; asked only when it is. 0 = not at
 * all. */
typedef int (*client_patience)(const char *state_dir);

/* ERR_UNAVAILABLE: "controller not running in DIR; start it with: remuda up --state DIR", or whose
 * it is, who starts it; errno has the reason. */
struct client *client_open(const char *state_dir, struct err *ret_err);
/* The same with patience: it is tried again, at growing, uneven intervals, before that is said.
 * Calls and queries on this connection outlive the controller: they are asked again, and what was
 * done is not done twice (message.request). A long answer of which rows were handed out already is
 * not. */
struct client *client_reach(const char *state_dir, client_patience patience, struct err *ret_err);
/* What was not sent is lost. NULL is fine. */
void client_close(struct client *c);
/* Sends one request and waits for its answer (a message; the answer lives in `a`). DONE with a
 * refusal is an answer, not an error, but for RATE_LIMITED: then it waits and asks again.
 * timeout_ms 0 = 60 s; then ERR_UNAVAILABLE "Socket timed out on send/recv operation"; negative =
 * wait for ever. */
bool client_call(struct client *c, enum message_kind kind, const void *body, int timeout_ms,
                 struct arena *a, struct message *ret, struct err *ret_err);
/* Sends a query and calls row(ctx, record) for each record that comes; texts of records live in
 * `a`, and may go to terminals as they are (base/plain.h). *ret_done is the closing DONE. What the
 * user may not see is ERR_DENIED, what the controller could not read for now or at all
 * ERR_UNAVAILABLE: rows that came before are not all. */
bool client_query(struct client *c, const struct msg_query *q, const struct fields *t,
                  struct arena *a, void (*row)(void *ctx, const void *record), void *ctx,
                  struct msg_done *ret_done, struct err *ret_err);
/* From now on texts of rows and of explanations come as people gave them (`exact`), for what quotes
 * them itself, as JSON does; or plain, as at first. */
void client_keep_texts(struct client *c, bool exact);
/* For many requests in flight (bench, several jobs): send without waiting, then take answers in
 * order. */
bool client_send(struct client *c, enum message_kind kind, const void *body, uint64_t *ret_seq,
                 struct err *ret_err);
/* Timeouts as client_call takes them. False: nothing came, or the connection is lost: *ret_err. */
bool client_receive(struct client *c, int timeout_ms, struct arena *a, struct message *ret,
                    struct err *ret_err);

/* For commands with a loop of their own: the socket, to wait for input on it … */
int client_fd(const struct client *c);
/* … and what has come, without waiting. LOST: the connection is of no more use; ret_err says
 * why. */
enum client_got { CLIENT_NOTHING, CLIENT_MESSAGE, CLIENT_LOST };
enum client_got client_take(struct client *c, struct arena *a, struct message *ret,
                            struct err *ret_err);

#endif
