/* Reads series for who sees the job; on a thread of its own. */
#ifndef REMUDA_CONTROLLER_SERIES_READ_H
#define REMUDA_CONTROLLER_SERIES_READ_H

#include "controller/disk/reader.h"
#include "core/core.h"

struct series_ask {
    uint64_t session, seq;   /* who is answered */
    uint32_t uid;            /* of who asks */
    const char *user;        /* his name; NULL = none */
    struct core_sight sight; /* what he may see */
    struct arena *arena;     /* of the next */
    struct msg_get_series get;
    const char *dir; /* where the files are */
    struct str out;  /* the answer: a frame */
};

/* Who does not see the job is told the same as of one that never was. */
void series_read(struct reader *store, struct series_ask *q);
/* instead of rows; ends the question */
void series_refuse(struct series_ask *q, enum refusal refusal, const char *detail);

#endif
