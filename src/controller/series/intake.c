/* Heads alone are read here, on the loop: whose they are. What is behind them the writing thread
 * reads before it keeps it. */
#include "controller/series/intake.h"

#include "base/alloc.h"
#include "wire/series.h"

/* A node's blocks come job by job: the last answer is mostly the next one's. */
struct intake {
    const char *node;
    series_had had;
    void *ctx;
    uint64_t job_id;
    uint32_t attempt;
    bool asked, may;
};

static bool may_have(struct intake *x, const struct series_source_key *key)
{
    if (!x->asked || x->job_id != key->job_id || x->attempt != key->attempt)
        x->may = x->had(x->ctx, key->job_id, key->attempt);
    x->asked = true;
    x->job_id = key->job_id;
    x->attempt = key->attempt;
    return x->may;
}

bool series_intake(const char *data, size_t len, const char *node, series_had had, void *ctx,
                   struct str *out)
{
    ASSERT(node && had);
    struct intake x = {.node = node, .had = had, .ctx = ctx};
    struct span block;
    bool all = true;
    for (size_t n = 0; n < SERIES_INTAKE_BLOCKS && series_next(&data, &len, &block); n++) {
        struct series_head h;
        if (series_head_read(block.data, block.len, &h, NULL) && text_is(h.key.node, node) &&
            may_have(&x, &h.key))
            str_addn(out, block.data - 4, block.len + 4); /* with its length */
        else
            all = false;
    }
    return all && len == 0;
}
