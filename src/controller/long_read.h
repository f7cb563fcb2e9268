/* A reading of very many records is made a part at a time; requests of others come in between. */
#ifndef REMUDA_CONTROLLER_LONG_READ_H
#define REMUDA_CONTROLLER_LONG_READ_H

#include "controller/answer.h"
#include "controller/controller.h"

struct long_read {
    struct controller *c;
    uint64_t session;       /* whose reading it is; it may be gone when the next part is due */
    struct answer *answer;  /* owned */
    struct arena *arena;    /* of the next two */
    struct msg_query query; /* copied, with its texts */
    struct peer peer;       /* copied */
    struct query_at at;     /* where the next part begins */
    struct timer *next;     /* when it is made; owned */
    int parts;              /* made so far */
};

/* Drops it and its answer; NULL is fine. */
void long_read_free(struct long_read *r);

#endif
