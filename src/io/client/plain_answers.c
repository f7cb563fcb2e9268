#include "io/client/plain_answers.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "model/record/record_plain.h"

#include <stdlib.h>
#include <string.h>

static void sentence_plain(const char **text, struct arena *a)
{
    struct str s = STR_INIT;
    if (text_is_plain(*text))
        return;
    str_add_plain_lines(&s, *text);
    *text = arena_strdup(a, str_text(&s));
    str_done(&s);
}

void plain_message(struct message *m, struct arena *a)
{
    void *body = (void *)(uintptr_t)m->body; /* decoded for us, into the arena */
    if (m->kind == MSG_DONE)
        sentence_plain(&((struct msg_done *)body)->detail, a);
    else if (m->kind == MSG_SUBMITTED)
        sentence_plain(&((struct msg_submitted *)body)->warning, a);
    else if (m->kind == MSG_EXPLAINED || m->kind == MSG_ALLOWED)
        record_plain(message_fields(m->kind), body, a);
}

struct plain_rows {
    const struct fields *t;
    struct arena *a;
    void (*row)(void *ctx, const void *record);
    void *ctx;
    void *record; /* the row at hand */
};

static void row_plain(void *ctx, const void *record)
{
    struct plain_rows *p = ctx;
    memcpy(p->record, record, p->t->size);
    record_plain(p->t, p->record, p->a);
    p->row(p->ctx, p->record);
}

bool plain_rows_decode(const struct frame *f, const struct fields *t, struct arena *a,
                       void (*row)(void *ctx, const void *record), void *ctx, struct err *ret_err)
{
    struct arena *scratch = a ? NULL : arena_new();
    struct plain_rows p = {
        .t = t, .a = a ? a : scratch, .row = row, .ctx = ctx, .record = xcalloc(1, t->size)};
    bool ok = rows_decode(f, t, p.a, row_plain, &p, ret_err);
    free(p.record);
    arena_free(scratch);
    return ok;
}
