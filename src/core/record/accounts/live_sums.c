/* How many jobs there are under each association, in each account, of each user, in each QOS: each
 * count of live jobs is added wherever a limit might ask for it. To count them for each limit anew
 * is as many users times as many limits.
 *
 * Those that new and moved jobs are held against are kept: kinds of jobs are as many as their users
 * make, who name partitions in whatever order, and a request may ask of 128 jobs. They are worked
 * out when a limit is first asked of, go along with each job, and are worked out anew when it is
 * another association or partition that a job counts in. */
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/limits.h"
#include "core/record/record.h"

#include <string.h>

#define WORK_KIND 64u /* of WORK_JOB: a kind of jobs that is added to all that it counts in */

struct live_sums {
    struct map_str *sum; /* by what is counted, as key_under and key_qos write it */
    struct str key;
    bool known; /* of those that are kept: all jobs are in */
};

const struct partrec *limits_counted_in(const struct core *c, const struct limit_subject *who)
{
    const struct partrec *first = part_first(c, who->partition);
    for (const char *at = who->partition, *comma; at; at = comma ? comma + 1 : NULL) {
        const struct partrec *p = part_first(c, at);
        if (p && assoc_for(c, who->account, who->user, p->p.name))
            return p;
        comma = strchr(at, ',');
    }
    return first;
}

bool limits_next_subject(const struct core *c, struct map_walk *w, struct limit_subject *ret)
{
    if (!map_str_next(c->accounts.live, w))
        return false;
    const struct live_count *n = w->value;
    *ret = (struct limit_subject){n->user, n->account, n->qos, n->partition};
    return true;
}

static const char *text(const char *name)
{
    return name ? name : "";
}

/* One that is nothing again goes: names are whatever somebody thinks of. */
static void sum_add(struct live_sums *s, int64_t n)
{
    const char *key;
    void **at = map_str_slot(s->sum, str_text(&s->key), true, &key);
    ASSERT(n > 0 || (uintptr_t)*at >= (uintptr_t)-n);
    *at = (void *)((uintptr_t)*at + (uintptr_t)n);
    if (!*at)
        map_str_del(s->sum, str_text(&s->key));
}

/* Below an association: all, or those of one account. */
static void key_under(struct str *key, const struct assocrec *r, const char *account)
{
    str_clear(key);
    str_addf(key, "under %llu %s", (unsigned long long)r->a.id, text(account));
}

static void key_user(struct str *key, const char *user, const char *account)
{
    str_clear(key);
    str_addf(key, "user %s\n%s", text(user), text(account));
}

/* Of a QOS: all ("", NULL), or those of one user, or of one account. */
static void key_qos(struct str *key, const char *qos, char whose, const char *name)
{
    str_clear(key);
    str_addf(key, "qos %s\n%c%s", qos, whose, text(name));
}

static void qos_add(struct live_sums *s, const char *qos, const struct limit_subject *who,
                    int64_t n)
{
    key_qos(&s->key, qos, '-', NULL);
    sum_add(s, n);
    key_qos(&s->key, qos, 'u', who->user);
    sum_add(s, n);
    key_qos(&s->key, qos, 'a', who->account);
    sum_add(s, n);
}

static void live_add(struct live_sums *s, const struct core *c, const struct limit_subject *who,
                     int64_t n)
{
    const struct partrec *part = limits_counted_in(c, who);
    const char *part_qos = part && !text_empty(part->p.qos) ? part->p.qos : NULL;
    const char *in = part ? part->p.name : NULL;
    for (const struct assocrec *r = assoc_for(c, who->account, who->user, in); r; r = r->up) {
        key_under(&s->key, r, NULL);
        sum_add(s, n);
        key_under(&s->key, r, who->account);
        sum_add(s, n);
    }
    key_user(&s->key, who->user, who->account);
    sum_add(s, n);
    if (who->qos)
        qos_add(s, who->qos, who, n);
    if (part_qos && !text_is(part_qos, who->qos))
        qos_add(s, part_qos, who, n);
}

struct live_sums *live_sums_new(void)
{
    struct live_sums *s = xcalloc(1, sizeof *s);
    s->sum = map_str_new();
    return s;
}

bool live_sums_go(struct live_sums *s, const struct core *c, struct map_walk *w, size_t *most)
{
    struct limit_subject who;
    for (; *most; --*most) {
        if (!limits_next_subject(c, w, &who))
            return true;
        live_add(s, c, &who, (int64_t)((const struct live_count *)w->value)->jobs);
    }
    return false;
}

void live_sums_free(struct live_sums *s)
{
    map_str_free(s->sum);
    str_done(&s->key);
    free(s);
}

uint64_t live_sums_of(const struct live_sums *s, const struct limit_subject *who,
                      const struct limit_hit *h)
{
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    struct str key = STR_INIT;
    if (h->qos)
        key_qos(&key, h->qos->q.name,
                scope == SCOPE_USER      ? 'u'
                : scope == SCOPE_ACCOUNT ? 'a'
                                         : '-',
                scope == SCOPE_USER      ? who->user
                : scope == SCOPE_ACCOUNT ? who->account
                                         : NULL);
    else if (scope == SCOPE_USER)
        key_user(&key, who->user, who->account);
    else
        key_under(&key, h->assoc, scope == SCOPE_ACCOUNT ? who->account : NULL);
    uint64_t n = (uint64_t)(uintptr_t)map_str_get(s->sum, str_text(&key));
    str_done(&key);
    return n;
}

/* ---- those that are kept -------------------------------------------------------------------- */

const struct live_sums *live_sums_known(struct core *c)
{
    struct live_sums *s = c->accounts.sums;
    struct map_walk w = {0};
    size_t all = SIZE_MAX;
    if (s->known)
        return s;
    work_add(c, WORK_KIND * map_str_count(c->accounts.live));
    s->known = live_sums_go(s, c, &w, &all);
    return s;
}

void live_sums_forget(struct core *c)
{
    struct live_sums *s = c->accounts.sums;
    if (!s->known)
        return;
    map_str_free(s->sum);
    s->sum = map_str_new();
    s->known = false;
}

void live_sums_count(struct core *c, const struct limit_subject *who, int64_t n)
{
    if (c->accounts.sums->known)
        live_add(c->accounts.sums, c, who, n);
}

void live_sums_check(const struct core *c)
{
    struct map_walk w = {0};
    size_t all = SIZE_MAX;
    if (!c->accounts.sums->known)
        return;
    struct live_sums *anew = live_sums_new();
    (void)live_sums_go(anew, c, &w, &all);
    CHECK(map_str_count(anew->sum) == map_str_count(c->accounts.sums->sum));
    for (w = (struct map_walk){0}; map_str_next(anew->sum, &w);)
        CHECK(map_str_get(c->accounts.sums->sum, w.text) == w.value);
    live_sums_free(anew);
}
