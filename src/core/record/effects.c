#include "core/record/record.h"

#include <stdarg.h>
#include <string.h>

void effects_init(struct effects *fx)
{
    *fx = (struct effects){.arena = arena_new()};
}

void effects_reset(struct effects *fx)
{
    arena_reset(fx->arena);
    fx->n = 0;
}

void effects_done(struct effects *fx)
{
    arena_free(fx->arena);
    free(fx->v);
    *fx = (struct effects){0};
}

struct effect *effect_add(struct effects *fx, enum effect_kind kind)
{
    ASSERT(fx->n <= fx->cap);
    if (fx->n == fx->cap) {
        fx->cap = fx->cap ? 2 * fx->cap : 32;
        fx->v = xrealloc(fx->v, fx->cap * sizeof fx->v[0]);
    }
    struct effect *e = &fx->v[fx->n++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

static const void *body_copy(struct effects *fx, const struct fields *t, const void *body)
{
    void *copy = arena_alloc(fx->arena, t->size);
    record_copy(t, copy, body, fx->arena);
    return copy;
}

void fx_store(struct core *c, enum store_table table, const void *record)
{
    ASSERT(table < STORE_TABLE_COUNT);
    struct effect *e = effect_add(c->turn.fx, FX_STORE);
    e->table = table;
    e->record = body_copy(c->turn.fx, store_table_rows[table].fields, record);
}

void fx_remove(struct core *c, enum store_table table, const void *record)
{
    fx_store(c, table, record);
    c->turn.fx->v[c->turn.fx->n - 1].remove = true;
}

void fx_add(struct core *c, enum store_table table, const void *record)
{
    fx_store(c, table, record);
    c->turn.fx->v[c->turn.fx->n - 1].add = true;
}

static void message_add(struct core *c, enum effect_kind effect, uint64_t conn, uint64_t seq,
                        enum message_kind kind, const void *body, uint64_t payload_job)
{
    struct effect *e = effect_add(c->turn.fx, effect);
    e->conn = conn;
    e->payload_job = payload_job;
    e->msg = (struct message){
        .kind = kind, .seq = seq, .body = body_copy(c->turn.fx, message_fields(kind), body)};
}

void fx_reply(struct core *c, uint64_t conn, uint64_t seq, enum message_kind kind, const void *body)
{
    message_add(c, FX_REPLY, conn, seq, kind, body, 0);
}

void fx_archive(struct core *c, const struct msg_archive *m)
{
    message_add(c, FX_ARCHIVE, c->turn.conn, c->turn.seq, MSG_ARCHIVE, m, 0);
}

void fx_send(struct core *c, uint64_t conn, enum message_kind kind, const void *body,
             uint64_t payload_job)
{
    ASSERT(conn != 0);
    message_add(c, FX_SEND, conn, 0, kind, body, payload_job);
}

void fx_send_also(struct core *c, uint64_t conn)
{
    ASSERT(conn && c->turn.fx->n > 0 && c->turn.fx->v[c->turn.fx->n - 1].kind == FX_SEND);
    struct effect *e = effect_add(c->turn.fx, FX_SEND);
    *e = c->turn.fx->v[c->turn.fx->n - 2];
    e->conn = conn;
}

void fx_log(struct core *c, enum log_level level, const char *format, ...)
{
    ASSERT(c->turn.fx);
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    struct effect *e = effect_add(c->turn.fx, FX_LOG);
    e->level = level;
    e->text = arena_strdup(c->turn.fx->arena, str_text(&text));
    str_done(&text);
}

void reply_done(struct core *c, enum refusal refusal, const char *detail)
{
    ASSERT(refusal < REFUSAL_COUNT);
    struct msg_done done = {.refusal = refusal, .detail = text_empty(detail) ? NULL : detail};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}

void plan_soon(struct core *c)
{
    c->planning.needed = true;
}
