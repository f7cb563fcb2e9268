/* What was used, and what there was. */
#include "base/alloc.h"
#include "cli/program/localtime.h"
#include "cli/reports/sreport.h"

#include <string.h>

struct used_reading {
    struct sreport *s;
    used_vec *to;
};

static void used_row(void *ctx, const void *record)
{
    const struct used_reading *r = ctx;
    vec_push(r->to, arena_dup(r->s->a, record, sizeof(struct used)));
}

bool used_read(struct sreport *s, const struct sreport_asked *k, const char *by, bool each_hour,
               used_vec *ret)
{
    struct msg_query q = {.what = QUERY_USED,
                          .from_us = k->from_us,
                          .to_us = k->to_us,
                          .ids = text_empty(k->value[COND_JOBS]) ? NULL : k->value[COND_JOBS],
                          .nodes = text_empty(k->value[COND_NODES]) ? NULL : k->value[COND_NODES],
                          .each_hour = each_hour,
                          .fields = arena_printf(s->a,
                                                 "%s%sfrom_us,jobs,cpu_s,mem_mib_s,node_s,"
                                                 "billing_s,planned_cpu_s,gres",
                                                 by, *by ? "," : "")};
    return sreport_query(s, &q, &used_fields, used_row, &(struct used_reading){s, ret});
}

int64_t gres_amount(const char *gres, const char *name)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    size_t len = strlen(name);
    while (span_next(&rest, ',', &piece)) {
        char number[24] = "";
        int64_t amount;
        if (piece.len <= len || memcmp(piece.data, name, len) != 0 || piece.data[len] != '=' ||
            piece.len - len > sizeof number)
            continue;
        memcpy(number, piece.data + len + 1, piece.len - len - 1);
        if (text_to_i64(number, 0, INT64_MAX, &amount))
            return amount;
    }
    return 0;
}

int64_t used_amount(const struct used *u, const char *tres)
{
    if (text_is(tres, "cpu"))
        return u->cpu_s;
    if (text_is(tres, "mem"))
        return u->mem_mib_s;
    if (text_is(tres, "node"))
        return u->node_s;
    if (text_is(tres, "billing"))
        return u->billing_s;
    return text_starts(tres, "gres/") ? gres_amount(u->gres, tres + strlen("gres/")) : 0;
}

/* ---- what there was ------------------------------------------------------------------------- */

struct spell_reading {
    struct sreport *s;
    spell_vec *to;
};

static void spell_row(void *ctx, const void *record)
{
    const struct spell_reading *r = ctx;
    vec_push(r->to, arena_dup(r->s->a, record, sizeof(struct node_spell)));
}

bool spells_read(struct sreport *s, const struct sreport_asked *k, spell_vec *ret)
{
    struct msg_query q = {.what = QUERY_NODE_SPELLS, .from_us = k->from_us, .to_us = k->to_us};
    return sreport_query(s, &q, &node_spell_fields, spell_row, &(struct spell_reading){s, ret});
}

/* Of a node: "gpu:v100:2,nic" → gpu 2, gpu:v100 2, nic 1. */
static int64_t node_gres(const char *gres, const char *name)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    size_t len = strlen(name);
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        size_t colon = piece.len;
        char number[24] = "";
        int64_t count = 1;
        while (colon > 0 && piece.data[colon - 1] != ':')
            colon--;
        if (colon && piece.len - colon < sizeof number) {
            memcpy(number, piece.data + colon, piece.len - colon);
            if (!text_to_i64(number, 0, INT32_MAX, &count))
                count = 1;
        }
        if (piece.len >= len && memcmp(piece.data, name, len) == 0 &&
            (piece.len == len || piece.data[len] == ':'))
            sum += count;
    }
    return sum;
}

static int64_t spell_has(const struct node_spell *n, const char *tres)
{
    if (text_is(tres, "cpu") || text_is(tres, "billing"))
        return n->cpus;
    if (text_is(tres, "mem"))
        return n->memory_mib;
    if (text_is(tres, "node"))
        return 1;
    return text_starts(tres, "gres/") ? node_gres(n->gres, tres + strlen("gres/")) : 0;
}

struct capacity spells_capacity(const spell_vec *spells, const char *tres, int64_t from_us,
                                int64_t to_us)
{
    struct capacity c = {0};
    int64_t now = time_now_us();
    to_us = to_us < now ? to_us : now;
    for (size_t i = 0; i < spells->n; i++) {
        const struct node_spell *n = spells->v[i];
        int64_t from = n->start_us > from_us ? n->start_us : from_us,
                to = n->end_us && n->end_us < to_us ? n->end_us : to_us;
        int64_t seconds = to / USEC_PER_SEC - from / USEC_PER_SEC, has = spell_has(n, tres);
        if (seconds <= 0 || n->state == NODE_UNKNOWN)
            continue;
        c.all += has * seconds;
        c.count += !n->end_us || n->end_us >= to_us ? has : 0;
        if (n->state == NODE_FUTURE)
            c.future += has * seconds;
        else if (n->state == NODE_DOWN || n->drain)
            c.down += has * seconds;
    }
    return c;
}
