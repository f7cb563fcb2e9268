#include "controller/disk/series_read.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "base/map.h"
#include "controller/disk/series_days.h"
#include "io/clock.h"
#include "model/job/owner.h"
#include "store/sqlite/series_file.h"
#include "wire/frame.h"
#include "wire/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES (1u << 20)
#define SLACK_US   SERIES_DAY_US /* clocks of nodes */

static void answer(struct series_ask *q, enum message_kind kind, const void *body)
{
    wire_encode(&(struct message){.kind = kind, .seq = q->seq, .body = body}, &q->out);
}

void series_refuse(struct series_ask *q, enum refusal refusal, const char *detail)
{
    struct msg_done done = {.refusal = (int32_t)refusal, .detail = detail};
    answer(q, MSG_DONE, &done);
}

/* ---- whose job ---- */

struct found_job {
    const struct series_ask *q;
    bool any;
    uint32_t attempt;
    int64_t start_us, end_us; /* of that run */
    struct map_str *node;     /* those that it had: what others say of it is not shown */
};

static void nodes_add(struct found_job *f, const char *nodes)
{
    struct hostlist list = HOSTLIST_INIT;
    if (!text_empty(nodes) && hostlist_parse(&list, nodes, NULL))
        for (size_t i = 0; i < list.n; i++)
            map_str_put(f->node, list.name[i], f->node);
    hostlist_done(&list);
}

static void nodes_forget(struct found_job *f)
{
    map_str_free(f->node);
    f->node = map_str_new();
}

static void job_take(void *ctx, const void *record)
{
    struct found_job *f = ctx;
    const struct job *j = record;
    const char *account = j->spec.req.account;
    const struct core_sight *sight = &f->q->sight;
    bool sees = sight->jobs || job_is_of(j, f->q->uid, f->q->user) ||
                (sight->accounts && account && list_has(sight->accounts, account));
    uint32_t wanted = f->q->get.attempt;
    if (j->id != f->q->get.job_id || !sees || (wanted && j->attempt != wanted) ||
        (f->any && f->start_us && (!j->start_us || j->attempt < f->attempt)))
        return;
    if (f->any && f->attempt != j->attempt)
        nodes_forget(f);
    nodes_add(f, j->nodes); /* and those that it gave back meanwhile, of other rows */
    *f = (struct found_job){f->q, true, j->attempt, j->start_us, j->end_us, f->node};
}

static bool job_find(struct reader *reader, const struct series_ask *q, struct found_job *ret,
                     struct err *ret_err)
{
    char ids[24];
    snprintf(ids, sizeof ids, "%" PRIu64, q->get.job_id);
    const struct msg_query query = {
        .what = QUERY_HISTORY, .ids = ids, .states = "all", .duplicates = true};
    struct store *s = reader_begin(reader, ret_err);
    *ret = (struct found_job){.q = q, .node = map_str_new()};
    bool ok = s && store_query_jobs(s, &query, job_take, ret, ret_err);
    reader_end(reader);
    return ok || ret_err->code == ERR_INVALID;
}

/* ---- its blocks ---- */

struct series_part {
    struct series_ask *q;
    struct str blocks, next;
    const char *file; /* being read */
    const struct map_str *node;
    bool full;
};

/* After this one: "FILE NODE STEP DEVICE FIRST". */
static bool block_take(void *ctx, const struct series_row *r)
{
    struct series_part *p = ctx;
    const struct str block = {(char *)r->data, r->len, 0};
    if (r->len > SERIES_BLOCK_BYTES || !map_str_get(p->node, r->node))
        return true;
    series_put(&p->blocks, &block);
    p->full = p->blocks.len >= PART_BYTES;
    if (p->full)
        str_addf(&p->next, "%s %s %" PRId64 " %d %" PRId64, p->file, r->node, r->step_id, r->device,
                 r->first_ms);
    return !p->full;
}

struct cursor_at {
    char file[64], node[SERIES_NODE_BYTES];
    int64_t step_id, first_ms;
    int device;
};

static bool cursor_read(const char *text, struct cursor_at *ret)
{
    return text && sscanf(text, "%63s %63s %" SCNd64 " %d %" SCNd64, ret->file, ret->node,
                          &ret->step_id, &ret->device, &ret->first_ms) == 5;
}

static void file_take(struct series_part *p, const struct series_day_file *f,
                      struct series_where *w, struct str *warning)
{
    struct err err = {0};
    struct series_file *file = series_file_open(f->path, false, &err);
    p->file = f->name;
    bool ok = file && series_file_read(file, w, block_take, p, &err);
    series_file_close(file);
    if (!ok && err.code != ERR_NOT_FOUND) /* else it was thinned just now */
        str_addf(warning, "%s%s: %s", warning->len ? "; " : "", f->name, err.text);
}

static void blocks_take(struct series_part *p, const struct found_job *j, struct str *warning)
{
    const struct msg_get_series *get = &p->q->get;
    struct series_day_file *f;
    struct cursor_at at = {0};
    size_t n;
    bool resumes = cursor_read(get->after, &at);
    int64_t from = j->start_us - SLACK_US, to = (j->end_us ? j->end_us : clock_now_us()) + SLACK_US;
    series_days_list(p->q->dir, p->q->arena, &f, &n);
    for (size_t i = 0; i < n && !p->full; i++) {
        struct series_where w = {.job_id = get->job_id,
                                 .attempt = j->attempt,
                                 .from_ms = get->from_us / 1000,
                                 .to_ms = get->to_us / 1000};
        if (f[i].day_us + SERIES_DAY_US < from || f[i].day_us > to ||
            (resumes && strncmp(f[i].name, at.file, 10) < 0))
            continue;
        if (resumes && strncmp(f[i].name, at.file, 10) == 0) {
            if (strcmp(f[i].name, at.file) != 0)
                continue; /* files of a day before it were read, or it was thinned meanwhile */
            w.node = at.node;
            w.step_id = at.step_id;
            w.device = at.device;
            w.first_ms = at.first_ms;
            resumes = false;
        }
        file_take(p, &f[i], &w, warning);
    }
}

void series_read(struct reader *store, struct series_ask *q)
{
    struct found_job job;
    struct err err = {0};
    struct series_part p = {.q = q};
    struct str warning = STR_INIT;
    if (!job_find(store, q, &job, &err)) {
        series_refuse(q, REFUSE_STORE, err.text);
        map_str_free(job.node);
        return;
    }
    if (!job.any) {
        series_refuse(q, REFUSE_INVALID_JOB_ID, "Invalid job id specified");
        map_str_free(job.node);
        return;
    }
    p.node = job.node;
    if (job.attempt)
        blocks_take(&p, &job, &warning);
    struct msg_series_part part = {.blocks = {.data = p.blocks.data, .len = p.blocks.len},
                                   .next = p.next.len ? str_text(&p.next) : NULL,
                                   .warning = warning.len ? str_text(&warning) : NULL};
    answer(q, MSG_SERIES_PART, &part);
    map_str_free(job.node);
    str_done(&p.blocks);
    str_done(&p.next);
    str_done(&warning);
}
