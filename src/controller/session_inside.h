/* For session*.c: the inside of sessions. */
#ifndef REMUDA_CONTROLLER_SESSION_INSIDE_H
#define REMUDA_CONTROLLER_SESSION_INSIDE_H

#include "base/map.h"
#include "controller/session.h"
#include "io/conn.h"

struct queued {
    struct session *session; /* NULL when it is gone */
    struct str bytes;        /* the frame, when ready */
    bool ready;
    struct arena *arena; /* of the message that waits for its payload */
    struct message msg;
    uint64_t payload_job;
    struct queued *next;
};

struct session {
    struct sessions *owner;
    uint64_t id;
    struct conn *conn;
    struct conn_peer who;
    bool trusted; /* may speak as a node daemon */
    bool counted; /* in the limits per user */
    bool is_node; /* it has */
    bool spoke;   /* the core knows of it */
    bool user_known, querying, held;
    unsigned asked; /* requests since turn `asked_turn` */
    uint64_t asked_turn;
    struct answer *answer;
    struct queued *first, **last;
    struct session *next_held;
};

struct sessions {
    struct controller *c;
    struct map_u64 *by_id;
    struct map_u64 *per_user; /* uid → size_t *, its connections */
    uint64_t last_id;
    struct session *held;
    struct arena *arena; /* of the frame being decoded */
    bool draining;       /* the daemon ends: nothing more is taken in */
};

/* Input flows unless something holds it. */
void session_gate(struct session *s);
struct peer session_peer(const struct session *s);
/* Steps a message of this session, or one in its name, into the open turn. */
void session_step(struct session *s, const struct message *m, const struct peer *peer);

/* Goes on with the answer that is being sent. */
void session_pump(struct session *s);
/* Drops what waits to be sent. */
void session_out_done(struct session *s);

#endif
