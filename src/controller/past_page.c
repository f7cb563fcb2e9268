#include "controller/past_page.h"

#include "base/vec.h"
#include "controller/disk/archive.h"

#include <stdlib.h>

static void row_take(void *ctx, enum store_table table, const void *record)
{
    struct past_page *g = ctx;
    int64_t at_us = 0;
    if (table == STORE_TABLE_COUNT) {
        g->slots++;
        at_us = ((const struct used *)record)->from_us;
    } else {
        struct past_key k = past_key_of(table, record, g->names, &at_us);
        vec_push(&g->key, k);
        g->records += table != TABLE_PAYLOAD && table != TABLE_JOB_PART &&
                      (table != TABLE_STEP || g->kind == PAST_STEPS) && table != TABLE_JOB_RUN;
    }
    if (!g->file)
        return;
    if (table == TABLE_PAYLOAD) { /* what users exported may be secrets */
        struct payload script = *(const struct payload *)record;
        script.env = (struct blob){0};
        archive_row(g->file, table, &script, at_us);
        return;
    }
    archive_row(g->file, table, record, at_us);
}

/* Rows of a job name its array and its company, which only its own row says: that is the last. A
 * former run whose job is not among them is counted itself. */
static void company_tell(struct past_page *g)
{
    uint64_t array = 0, het = 0, id = 0;
    for (size_t i = g->key.n; i-- > 0;) {
        struct past_key *k = &g->key.v[i];
        if (k->table == TABLE_JOB) {
            id = k->id;
            array = k->array_job_id;
            het = k->het_job_id;
        } else if (k->id == id) {
            k->array_job_id = array;
            k->het_job_id = het;
        } else {
            g->records += k->table == TABLE_JOB_RUN;
        }
    }
}

void past_page_read(struct past_page *g, struct store *s, const char *dir, const char *cluster)
{
    if (dir && !(g->file = archive_new(dir, cluster, g->kind, g->query.before_us, &g->err)))
        return;
    if (!store_query_past(s, &g->query, row_take, g, &g->err))
        return;
    company_tell(g);
    struct archive *file = g->file;
    g->file = NULL;
    if (file && (g->key.n || g->slots))
        archive_keep(file, &g->path, &g->err);
    else
        archive_drop(file);
}

void past_page_clear(struct past_page *g)
{
    vec_clear(&g->key);
    arena_reset(g->names);
    free(g->path);
    g->path = NULL;
    g->records = g->slots = 0;
}

void past_page_done(struct past_page *g)
{
    archive_drop(g->file);
    arena_free(g->names);
    vec_done(&g->key);
    free(g->path);
}
