/* Stores for tests: fresh ones of both kinds, rows in, rows out. */
#ifndef REMUDA_TESTS_STORE_HELP_H
#define REMUDA_TESTS_STORE_HELP_H

#include "unit.h"

#include "base/vec.h"
#include "store/store.h"

struct world {
    struct store *store;
    uint64_t epoch, seq;
    char *dir, *path;    /* SQLite: a directory of its own and the database in it; else NULL */
    struct arena *arena; /* rows that were read */
};

void world_open_memory(struct world *w);
void world_open_sqlite(struct world *w); /* an empty database */
void world_reopen(struct world *w);      /* SQLite: closes, opens, takes over again */
void world_close(struct world *w);       /* removes the files as well */

/* Commits one batch of puts: `records` are pointers to records, up to a NULL. */
void world_put(struct world *w, enum store_table table, const void *const *records);
void world_put_job(struct world *w, const struct job *j);
/* Commits the batch with the next number; false with *e. Frees it. */
bool world_commit(struct world *w, struct batch *b, struct err *e);
struct batch *world_batch(struct world *w);

/* What was read, one row after another: copies in the world's arena. */
struct rows {
    struct world *world;
    const struct fields *t;
    VEC(const void *) v;
};
void rows_add(void *ctx, const void *record); /* a store_row_fn; ctx is struct rows */
/* Ids of job or step rows, as "1 2 3"; valid until the world closes. Frees the rows. */
const char *rows_ids(struct rows *r);
const char *world_load_ids(struct world *w, enum store_table table, bool live_only,
                           int64_t ended_after_us);
const char *world_query_ids(struct world *w, const struct msg_query *q);

#endif
