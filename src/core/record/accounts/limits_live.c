/* How many jobs there are, waiting and running, by account, user, QOS and partition, of which there
 * are few: what MaxSubmitJobs and GrpSubmitJobs are held against. */
#include "core/record/accounts/limits.h"
#include "core/record/record.h"

#include <stdlib.h>

static void live_key(struct str *key, const struct jobrec *r)
{
    const struct job_request *req = &r->j.spec.req;
    const char *parts[] = {req->account, r->j.user_name, req->qos, req->partition};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (i > 0)
            str_addc(key, '\n');
        str_add(key, parts[i]);
    }
}

static struct live_count *live_of(struct core *c, const struct jobrec *r)
{
    struct str key = STR_INIT;
    const struct job_request *req = &r->j.spec.req;
    live_key(&key, r);
    struct live_count *n = map_str_get(c->accounts.live, str_text(&key));
    if (!n) {
        n = xcalloc(1, sizeof *n);
        text_set(c, &n->account, req->account);
        text_set(c, &n->user, r->j.user_name);
        text_set(c, &n->qos, req->qos);
        text_set(c, &n->partition, req->partition);
        map_str_put(c->accounts.live, str_text(&key), n);
    }
    str_done(&key);
    return n;
}

/* Names are whatever somebody thinks of: those that nobody's job has any more go. */
static void live_drop(struct core *c, const struct jobrec *r)
{
    struct str key = STR_INIT;
    live_key(&key, r);
    struct live_count *n = map_str_del(c->accounts.live, str_text(&key));
    text_set(c, &n->account, NULL);
    text_set(c, &n->user, NULL);
    text_set(c, &n->qos, NULL);
    text_set(c, &n->partition, NULL);
    free(n);
    str_done(&key);
}

void limits_count(struct core *c, const struct jobrec *r, int64_t sign)
{
    ASSERT(sign == 1 || sign == -1);
    uint64_t n = job_is_array(r) ? r->pending.count : 1;
    if (!job_live(r) || !n)
        return;
    struct live_count *at = live_of(c, r);
    CHECK(sign > 0 || at->jobs >= n);
    at->jobs += (uint64_t)sign * n;
    live_sums_count(c, &(struct limit_subject){at->user, at->account, at->qos, at->partition},
                    sign * (int64_t)n);
    if (!at->jobs)
        live_drop(c, r);
}

void limit_full_say(const struct limit_hit *h, uint64_t there, uint64_t more, struct str *out)
{
    limit_say(h, out);
    str_addf(out, ": %llu %s there, %llu more would be too many", (unsigned long long)there,
             there == 1 ? "job is" : "jobs are", (unsigned long long)more);
}

bool limits_room(struct core *c, const struct limit_subject *who, uint64_t more, struct str *detail)
{
    limit_hits hits = {0};
    bool room = true;
    if (!enforces_limits(c))
        return true;
    limits_collect(c, who, COUNTS_LIVE, &hits);
    for (size_t i = 0; i < hits.n && room; i++) {
        if (hits.v[i].above)
            continue;
        uint64_t there = live_sums_of(live_sums_known(c), who, &hits.v[i]);
        room = there + more <= (uint64_t)hits.v[i].value;
        if (!room)
            limit_full_say(&hits.v[i], there, more, detail);
    }
    vec_done(&hits);
    return room;
}
