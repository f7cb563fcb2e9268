/* For session*.c: the inside of sessions. */
#ifndef REMUDA_CONTROLLER_SESSION_INSIDE_H
#define REMUDA_CONTROLLER_SESSION_INSIDE_H

#include "base/map.h"
#include "controller/session/crowd.h"
#include "controller/session/rate.h"
#include "controller/session/session.h"
#include "controller/session/share.h"
#include "io/net/conn.h"

#define FRAME_MAX_BYTES (20u << 20) /* script + environment + specs */
/* The call of a get_script inside, so that no other answer is taken for its own: who asks gives
 * calls the numbers that he likes, and one to several. None of his has this. */
#define SCRIPT_CALL UINT64_MAX
#define GUEST_UID   NAMELESS_UID /* has no jobs and may do nothing */

struct queued {
    struct session *session; /* NULL when it is gone */
    struct str bytes;        /* the frame, when ready */
    bool ready;              /* to be stepped; else it is being looked at */
    struct arena *arena;     /* of the message that waits for its payload */
    struct message msg;
    uint64_t payload_job; /* whose script is attached; 0 = none */
    bool scripting;       /* it is the answer to get_script */
    struct queued *next;
};

/* Of a connection from another host. */
struct remote {
    struct arena *arena;
    const char *address;    /* for the log */
    const char *network;    /* all of whose addresses may be one machine's */
    bool vouched;           /* it is known who speaks */
    bool guest;             /* an administrator on a host that does not speak for such */
    uid_t uid;              /* the user it says */
    gid_t gid;              /* the group it says */
    const char *cert;       /* made for a host that joins, until it is let in */
    struct timer *patience; /* until it is known */
    struct session *next_unknown, **unknown_link; /* link: NULL = it is known */
};

struct session {
    struct sessions *owner;
    uint64_t id; /* never given twice */
    struct conn *conn;
    struct remote *remote; /* NULL: of this host */
    struct conn_peer who;  /* checked by the kernel, or by its certificate */
    bool trusted;          /* may speak as a node daemon */
    /* Of the user's time and connections; NULL: it is not known who speaks, or a node daemon
     * does. */
    struct user_share *share;
    /* By which the connections of a host are counted that is not trusted; NULL: of this host, a
     * trusted one's, a node daemon's. */
    struct user_share *from;
    struct user_share *says;   /* of a host's node: what it says that costs much; NULL: none such */
    struct share_wait waiting; /* for the user's next slice */
    struct crowd_place place;  /* of who has no share to keep within */
    size_t kept;               /* bytes of a message that is not whole yet */
    size_t unsent;             /* bytes on their way, as the share was told */
    bool large;                /* a script is on its way, as the share was told */
    uint64_t bytes, frames;    /* that had come when the user was last charged */
    bool surplus;              /* above a limit: welcome only if it turns out to be a node daemon */
    bool is_node;              /* it has */
    char *node;                /* which it said it is, and may; NULL = none */
    char *remark;              /* goes with the next DONE that says no more; NULL = none */
    bool spoke;                /* the core knows of it */
    bool user_known, querying, held, resting; /* resting: waits for the user's next slice */
    bool user_kept;                           /* users_let_go when it ends */
    bool scripting;                           /* querying, for the answer to get_script */
    uint64_t script_seq;                      /* of that, which is asked as SCRIPT_CALL */
    unsigned asked;                           /* requests since turn `asked_turn` */
    uint64_t asked_turn;                      /* the turn its last request is in */
    struct answer *answer;                    /* that is being sent; NULL = none */
    struct long_read *reading;                /* an answer that is being made */
    struct queued *first, **last;             /* requests, in the order they came */
    struct session *next_held;                /* in sessions.held */
};

struct sessions {
    struct controller *c;
    struct map_u64 *by_id; /* open ones */
    struct shares *shares;
    struct crowd *crowd;
    struct rates *rates;
    bool sweeping;       /* halves of messages are looked through */
    struct timer *sweep; /* looks for halves of messages whose rest does not come */
    size_t nodes;        /* connections of node daemons: as many as there are nodes */
    struct session *unknown,
        **unknown_last; /* from other hosts, who have not said who they are: the oldest first */
    size_t unknown_count;
    struct parked *parked;          /* connections kept aside, of users whose turn it is not */
    size_t nparked, nparked_remote; /* of this host, from others */
    uint64_t last_id;               /* given last */
    struct session *held;           /* who reads nothing for now */
    /* Of the message encoded last, while a turn is let out; many nodes may get the same. */
    const void *same_body;
    struct str same; /* its frame */
    /* Hosts and tokens when connections of those shut out were last looked for. */
    uint64_t hosts_shut_out; /* as many as the core knew of at the last look */
    struct arena *arena;     /* of the frame being decoded */
    bool draining;           /* the daemon ends: nothing more is taken in */
};

/* ---- facts.c ---- */
/* Input flows unless something holds it. */
void session_gate(struct session *s);
/* Who speaks, as the core is told; texts live until the loop goes round. */
struct peer session_peer(const struct session *s);
/* Answers request `seq` (0 = none in particular) with the refusal, at once. */
void session_refuse(struct session *s, uint64_t seq, enum refusal refusal, const char *detail);
/* The same of one that may be asked again after so long. */
void session_refuse_now(struct session *s, uint64_t seq, int64_t again_us, const char *detail);
/* Are there as many connections, of all or of those who have the share (NULL: it is a user's own)
 * and so many, as may be? */
bool session_surplus(const struct sessions *s, const struct user_share *share, size_t has);
/* Why no more connections are taken, of all or of that user, or of those who have the share
 * together (NULL: it is the user's own); in the arena. */
const char *session_surplus_text(const struct sessions *s, const struct conn_peer *who,
                                 const struct user_share *share, struct arena *a);
/* NULL: those whose share it has may have it. Else the sentence, in the arena. */
const char *session_share_surplus(const struct session *s, struct arena *a);
/* NULL: the host that the session comes from may have it. Else the sentence, in the arena. */
const char *session_host_surplus(const struct session *s, struct arena *a);
/* By which users without a name of that host, which is trusted with who they are, are counted
 * (share_join_guests): what is known of them when their connection is gone. */
const char *session_guests_of(const struct sessions *s, const char *host);
/* The host that a connection from another one comes from; NULL: shut out, or none yet. */
const struct host *remote_host(const struct session *s);

/* ---- step.c ---- */
/* Steps a message of this session, or one in its name, into the open turn. */
void session_step(struct session *s, const struct message *m, const struct peer *peer);
/* Does the request leave everything as it is? Such are served while the store is away. */
bool session_reads(const struct message *m);
/* The share of who speaks on this host; to be left. Users without a name are one together: whoever
 * may have user namespaces (/etc/subuid) is 65,536 of them. So are those whose name was not looked
 * up yet, apart from those: they only begin. */
struct user_share *session_share_here(struct sessions *all, const struct conn_peer *who);
/* It no longer counts among its user's connections, and waits no more for that user's turn. */
void session_uncount(struct session *s);
/* It counts among those of its host, if that has a bound. */
void session_count_host(struct session *s);
/* It counts among those of the user for whom it speaks. */
void session_count(struct session *s);
/* It is known by now who the user is. Before anything was asked. */
void session_recount(struct session *s);
/* Where the user is known: whom the controller does not know, of a host that may have made him up,
 * is nobody in particular from now on, and what is counted by user counts all such together. */
void session_guest(struct session *s);

/* ---- session.c ---- */
/* It is known who speaks: looks whether they are welcome, and their names up. */
void session_admit(struct session *s);
/* Takes in a connection of this host, or from another. */
void session_begin(struct sessions *s, int fd);
/* Takes fd; who speaks is known by the certificate, later. */
void session_begin_remote(struct sessions *s, int fd, struct tls_context *tls);
/* ---- session_share.c: for conn_ops, and a timer's ---- */
bool session_ready(void *session, struct conn *conn);
/* The connection took so much processor time: it counts for its user, or for the crowd of those
 * whom nobody knows. */
void session_worked(void *session, struct conn *conn, int64_t ns);
/* The connection keeps so many bytes more (less than 0: fewer) of what is not whole; too many close
 * it. */
void session_kept(void *session, struct conn *conn, ptrdiff_t more);
/* Closes those that have begun something and do not go on. */
void halves_sweep(void *sessions);
/* Does the user read what he asks for? Else this is refused, and the connection closed. */
bool session_reads_on(struct session *s, const struct message *m);
/* What is on its way to the user has changed. */
void session_unsent_note(struct session *s);
/* A new connection of this host, of a user whose turn it is not, is kept aside until it is: true.
 * One too many is sent away: true. */
bool session_park(struct sessions *s, int fd, const struct conn_peer *who);
/* The same of one from another host, by its address. */
bool session_park_remote(struct sessions *s, int fd, const char *address);
/* Ends those kept aside. */
void sessions_unpark(struct sessions *s);

/* ---- remote.c ---- */
/* It gets one of the few places of those who have not said who they are. */
void remote_begin(struct session *s, int fd);
/* Nothing where it is not a remote one. */
void remote_end(struct session *s);
/* True when the message is to be taken as from a local connection; else it was dealt with. */
bool remote_admits(struct session *s, const struct message *m);
/* May this host say that it is that node? If not, it is told so. */
bool remote_speaks_for(struct session *s, const struct msg_node_hello *hello, const struct host *h);
/* Makes the secret of a token asked for, and opens the port. False: it was refused. */
bool token_prepare(struct session *s, const struct message *m, struct msg_make_token *ret,
                   struct token *token);
/* After a turn: connections of hosts that were shut out are ended. */
void remote_sweep(struct sessions *all);

/* Goes on with the answer that is being sent, by so much as a round may take. When that has left,
 * session_worked goes on: what is given to a connection is written at the round's end. */
void session_pump(struct session *s);
/* Drops what waits to be sent. */
void session_out_done(struct session *s);

#endif
