/* What a node says to the tasks of an MPI program that speak PMI, version 1 or 2: their number,
 * where they are, and a space of keys and values in which each writes how it is reached. What a
 * task writes is seen by those of other nodes once all tasks have met (version 1: barrier, 2:
 * fence). No descriptors here: bytes come in and go out.
 *
 * Not served: starting further processes (spawn), meeting other programs (connect, names); these
 * are answered with the protocol's error. */
#ifndef REMUDA_AGENT_PMI_H
#define REMUDA_AGENT_PMI_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI_SPACE_BYTES (32u << 20) /* keys and values of one program on one node */
/* Of these, what its tasks there write from one meeting to the next, which goes out in one frame
 * (LIMIT_FRAME_DATA_BYTES). */
#define PMI_MEET_BYTES (15u << 20)

struct pmi; /* opaque */

struct pmi_ops {
    /* Bytes for the task of that place. */
    void (*say)(void *ctx, size_t place, const char *bytes, size_t len);
    /* All tasks here wait to meet the others; `data` is for pmi_learn of the other nodes. Then
     * pmi_met is called, at once or later. */
    void (*meet)(void *ctx, struct span data);
    /* The program ends all of itself. */
    void (*abort)(void *ctx, int32_t rank, int32_t code, struct span why);
};

struct pmi_world {
    const char *name;    /* of the program, no other's */
    const char *map;     /* pmi_map.h */
    int32_t size;        /* ranks of the step on all nodes */
    const int32_t *rank; /* of each task here; all texts and this live as long as the server */
    size_t n;            /* of them, those of this node */
};

/* Copies `w`, borrows what it points to and `ops` until pmi_free; not NULL. */
struct pmi *pmi_new(const struct pmi_world *w, const struct pmi_ops *ops, void *ctx);
void pmi_free(struct pmi *p); /* NULL is allowed */

/* What a task said; anything may come. False: that was no PMI, nothing more is taken of it. */
bool pmi_take(struct pmi *p, size_t place, const char *bytes, size_t len);
/* It is over: nobody waits for it here. */
void pmi_ended(struct pmi *p, size_t place);
/* What another node brought to a meeting; anything may come. */
void pmi_learn(struct pmi *p, struct span data);
/* All have met. */
void pmi_met(struct pmi *p);

#endif
