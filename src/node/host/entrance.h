/* Who may begin a connection to the controller now: there are few places there for those who have
 * not said who they are, and when they run short the oldest goes. So no more begin here at once
 * than there is room for, and users take turns. Root has no turn: its node daemon keeps the host
 * going. */
#ifndef REMUDA_NODE_HOST_ENTRANCE_H
#define REMUDA_NODE_HOST_ENTRANCE_H

#include "io/loop.h"

#include <stdint.h>
#include <sys/types.h>

#define ENTRANCE_ALL      40 /* of the controller's 64 an address */
#define ENTRANCE_USER     8
#define ENTRANCE_PAUSE_US INT64_C(1000000)

struct entrance; /* opaque */

/* Zeroed before. */
struct entrance_place {
    enum { ENTRANCE_NONE, ENTRANCE_WAITS, ENTRANCE_BEGINS } state;
    struct entrance_user *user;
    loop_fn go; /* called with ctx when it may begin */
    void *ctx;
    struct entrance_place *next; /* of the same user */
};

struct entrance *entrance_new(struct loop *l); /* nobody waits */
void entrance_free(struct entrance *e);        /* no place is in use */

/* go(ctx) is called when it may begin: now, or later. */
void entrance_take(struct entrance *e, struct entrance_place *p, uid_t uid, loop_fn go, void *ctx);
/* It has begun: the controller knows who speaks. */
void entrance_passed(struct entrance *e, struct entrance_place *p);
/* It is gone, whatever it was. Of one that had not begun the place stays taken for a moment: the
 * controller does not know at once. */
void entrance_leave(struct entrance *e, struct entrance_place *p);

#endif
