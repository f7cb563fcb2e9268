/* A question that is answered in rows. With patience rows are handed out only when the answer is
 * whole, so that it can be asked once more; a long one, from HELD_MAX_BYTES on, as it comes. */
#include "io/client/inside.h"
#include "io/client/plain_answers.h"

#define HELD_MAX_BYTES (4u << 20)

struct client_asking {
    struct client *c;
    const struct msg_query *q;
    const struct fields *t;
    struct arena *a;
    void (*row)(void *ctx, const void *record);
    void *ctx;
    struct str held; /* frames of rows that were not handed out */
    bool handed_out; /* some were: what follows is too, and the query is not asked again */
};

static bool rows_hand_out(struct client_asking *k, const struct frame *f, struct err *ret_err)
{
    k->handed_out = true;
    return (k->c->exact ? rows_decode : plain_rows_decode)(f, k->t, k->a, k->row, k->ctx, ret_err);
}

static bool held_hand_out(struct client_asking *k, struct err *ret_err)
{
    struct frame f;
    bool ok = true;
    for (size_t at = 0; ok && at < k->held.len;) {
        ssize_t n = frame_take(k->held.data + at, k->held.len - at, &f, ret_err);
        ok = n > 0 && rows_hand_out(k, &f, ret_err);
        at += n > 0 ? (size_t)n : 0;
    }
    str_clear(&k->held);
    return ok;
}

static bool rows_take(struct client_asking *k, const struct frame *f, struct err *ret_err)
{
    if (!k->c->patience || k->handed_out)
        return rows_hand_out(k, f, ret_err);
    str_addn(&k->held, f->json - FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + f->json_len + f->raw_len);
    return k->held.len <= HELD_MAX_BYTES || held_hand_out(k, ret_err);
}

/* Until the closing DONE. */
static bool query_once(struct client_asking *k, struct message *ret, struct err *ret_err)
{
    struct message m = {.kind = MSG_QUERY, .body = k->q};
    if (!client_message_send(k->c, &m, ret_err))
        return false;
    for (;;) {
        struct frame f;
        if (!client_frame_receive(k->c, client_deadline(0), &f, ret_err))
            return false;
        if (wire_is_rows(&f)) {
            if (!rows_take(k, &f, ret_err))
                return false;
            continue;
        }
        if (!wire_decode(&f, k->a, ret, ret_err))
            return false;
        plain_message(ret, k->a);
        client_parting_keep(k->c, ret);
        if (ret->kind != MSG_DONE)
            return err_set(ret_err, ERR_INTERNAL, "the controller answered a query with \"%s\"",
                           message_table[ret->kind].name);
        if (ret->seq == m.seq || ret->seq == 0)
            return true;
    }
}

/* Nobody takes what he may not see, or what could not be read, for what is not there. */
static bool is_whole(const struct msg_done *done, struct err *ret_err)
{
    const char *detail = done->detail ? done->detail : "";
    if (done->refusal == REFUSE_ACCESS_DENIED)
        return err_set(ret_err, ERR_DENIED, "%s%s%s", refusal_text(REFUSE_ACCESS_DENIED),
                       *detail ? ": " : "", detail);
    if (done->refusal == REFUSE_STORE) /* its words are for what was to be written */
        return err_set(ret_err, ERR_UNAVAILABLE, "%s",
                       *detail ? detail : "the store cannot be read");
    if (done->refusal == REFUSE_BUSY)
        return err_set(ret_err, ERR_UNAVAILABLE, "%s%s%s", refusal_text(REFUSE_BUSY),
                       *detail ? ": " : "", detail);
    return true;
}

bool client_query(struct client *c, const struct msg_query *q, const struct fields *t,
                  struct arena *a, void (*row)(void *ctx, const void *record), void *ctx,
                  struct msg_done *ret_done, struct err *ret_err)
{
    struct client_asking k = {.c = c, .q = q, .t = t, .a = a, .row = row, .ctx = ctx};
    int64_t until_ms = 0;
    int pause_ms = CLIENT_PAUSE_FIRST_MS;
    struct message m;
    bool ok;
    for (;;) {
        struct err why = {0};
        ok = query_once(&k, &m, &why);
        if (ok && !k.handed_out && client_is_told_to_wait(&m)) {
            str_clear(&k.held);
            continue;
        }
        bool away = ok && client_is_away(c, &m);
        if ((ok && !away) || k.handed_out || !client_return(c, &until_ms, &pause_ms, &why)) {
            ok = ok && held_hand_out(&k, &why);
            if (!ok && ret_err)
                *ret_err = why;
            break;
        }
        str_clear(&k.held);
    }
    if (ok)
        *ret_done = *(const struct msg_done *)m.body;
    str_done(&k.held);
    return ok && is_whole(ret_done, ret_err);
}
