/* Sessions: the connections of clients and node daemons, who is at the other end, and their limits.
 * Each has a number that is never used again. */
#ifndef REMUDA_CONTROLLER_SESSION_H
#define REMUDA_CONTROLLER_SESSION_H

#include "controller/answer.h"
#include "controller/controller.h"

struct sessions; /* opaque */

/* none is open; with the shares of users and what bounds them */
struct sessions *sessions_new(struct controller *c);
/* All connections must be gone. */
void sessions_free(struct sessions *s);

/* For the listener: a new connection's descriptor. */
void session_accept(void *sessions, int fd);

/* The same for one from another host. */
struct tls_context;
/* Takes fd. Who speaks is not known yet: an address that has used up its share waits, or is hung up
 * on. */
void session_accept_remote(struct sessions *s, int fd, struct tls_context *tls);

/* What was asked there was done, but for that: goes with the answer, if that says nothing more. */
void session_remark(struct sessions *s, uint64_t id, const char *text);
/* Sends a message to that connection, if it is still there. payload_job ≠ 0: LAUNCH and SCRIPT get
 * that job's script (and environment); what is sent later waits until they are read, so the order
 * stays. */
void session_send(struct sessions *s, uint64_t id, const struct message *m, uint64_t payload_job);
/* Streams an answer as fast as it is taken; further requests of that connection wait meanwhile.
 * Takes the answer; drops it if the connection is gone. */
void session_answer(struct sessions *s, uint64_t id, struct answer *a);
/* The answer, in whole frames, to a request for which the connection was held; NULL: it got one
 * already. It goes on. */
void session_answered(struct sessions *s, uint64_t id, const struct str *frames);
/* Ties a reading that is made a part at a time to its connection: it is freed when that is gone.
 * NULL: it is made. */
struct long_read;
void session_reading(struct sessions *s, uint64_t id, struct long_read *r);
/* So much processor time of the loop went into a part; in which time (µs) the next may be made. */
int64_t session_spent(struct sessions *s, uint64_t id, int64_t ns);
/* Others are about: what can be done in smaller pieces is. */
bool session_hurry(const struct sessions *s, uint64_t id);
/* Where it comes from, if hosts' shares count it there; 0: elsewhere, or gone. */
uint64_t session_origin(const struct sessions *s, uint64_t id);
/* Who pays for what is made necessary by this one's request, of that connection (0: it may be
 * gone): the share of the connection, of those without a name of its host, or of the uid. */
uint64_t session_payer(const struct sessions *s, uint64_t id, const struct peer *who);
/* A commit or a plan that this user's requests made necessary (share.h). */
struct turn_cause;
void session_caused(struct sessions *s, const struct turn_cause *who, int64_t cost_ns,
                    int64_t took_us);
/* What it was answered may still leave; an id that is gone is fine. */
void session_close(struct sessions *s, uint64_t id);
/* may be answered: open, and not closing */
bool session_is_there(const struct sessions *s, uint64_t id);

/* A turn was let out: those that were held back for having asked too much in it go on. */
void sessions_released(struct sessions *s);
/* Ends them all: gently (unsent bytes go out first), or at once. */
void sessions_close(struct sessions *s, bool at_once);
size_t sessions_count(const struct sessions *s); /* closing ones, too */

#endif
