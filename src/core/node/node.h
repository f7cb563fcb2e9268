/* What node daemons say, and silence. Only core/ includes this. */
#ifndef REMUDA_CORE_NODE_NODE_H
#define REMUDA_CORE_NODE_NODE_H

#include "core/life/life.h"

/* ---- silence.c ---- */
void node_closed(struct core *c, uint64_t conn);
/* It is silent if nothing is heard of it for SlurmdTimeout. */
void node_watch(struct core *c, struct noderec *n);
void node_alarm(struct core *c, struct noderec *n); /* timer: is it? */

/* ---- link.c ---- */
void nodes_welcome(struct core *c); /* the settings, to all that are connected */
/* A node's first word on a connection: what it has and what runs on it; one that was here before is
 * closed. */
void req_node_hello(struct core *c, const struct msg_node_hello *m);
/* Alive, its load, free memory, devices, GPUs; facts where they changed. Not answered. */
void req_heartbeat(struct core *c, const struct msg_heartbeat *m);
/* What became of a part of a job; acknowledged however late it comes, acted on if it is of this
 * run. */
void req_report(struct core *c, const struct msg_report *m);

/* ---- life.c: n.life, as known and as a node tells it; NULL = not told, `-` for a word = unread */
/* What it has not any more is lost: another boot, or another directory. */
bool life_is_another(const char *known, const char *told);
/* Its machine was started anew, or is another. */
bool life_is_another_boot(const char *known, const char *told);
/* Of one boot and one directory, both known: no two daemons that live have that. */
bool life_is_the_same(const char *known, const char *told);
/* What is known once it was told; as long as the arena. */
const char *life_after(const char *known, const char *told, struct arena *a);

/* ---- rival.c ---- */
/* True: another daemon by that name is connected, or may come back at once to what runs there, and
 * who says hello waits until it is gone. */
bool node_rival_waits(struct core *c, struct noderec *n, const struct msg_node_hello *m);
/* A connection has ended, which may be of one that waits. */
void node_rival_gone(struct core *c, uint64_t conn);
/* The node is not connected any more: who waits may come. */
void node_place_free(struct core *c, struct noderec *n);

/* ---- said.c ---- */
/* More devices than a node may have, in a text with a semicolon between them; NULL has none. */
bool node_says_too_many(const char *text);
/* What is taken of what it says: all, or all but its devices where they are too many, or of too
 * many kinds and types; then device_trouble says so. Lasts as long as the turn. */
struct node node_said(struct core *c, struct noderec *n, const struct node *said);

/* ---- devices.c: devices that nobody may be given ---- */
/* What the node says, if it is news. */
void node_devices_set(struct core *c, struct noderec *n, uint64_t seq, const char *out,
                      const char *health);
/* The same; a new daemon may not know of broken ones. */
void node_devices_hello(struct core *c, struct noderec *n, uint64_t seq, const char *out);
/* Of n.devices_out; NULL = none. */
const char *node_devices_failed(const struct core *c, const struct noderec *n);
/* An operator wants the broken ones back. */
void node_devices_retry(struct core *c, struct noderec *n);

#endif
