/* Monitoring knows Slurm's names and numbers of messages, so a kind that Slurm has, too, is counted
 * under those; ours are counted under our own. Where there are as many users as are counted one by
 * one, those who have had the least are counted together: else who came with many numbers would
 * keep all who come later out of sight. */
#include "controller/traffic.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdlib.h>

#define USERS_MAX 1000
#define REST      UINT32_MAX /* all further users */

struct traffic_tally {
    uint32_t uid;
    char *user; /* owned */
    uint64_t count;
    int64_t us;
};

struct traffic {
    struct traffic_tally kind[MESSAGE_COUNT], query[QUERY_COUNT];
    struct map_u64 *by_user; /* uid + 1 → struct traffic_tally */
};

struct slurm_name {
    const char *name;
    int32_t number;
};
static const struct slurm_name kind_names[MESSAGE_COUNT] = {
    [MSG_SUBMIT] = {"REQUEST_SUBMIT_BATCH_JOB", 4003},
    [MSG_CANCEL] = {"REQUEST_KILL_JOB", 5032},
    [MSG_UPDATE_JOB] = {"REQUEST_UPDATE_JOB", 3001},
    [MSG_EXTEND] = {"REQUEST_EXTEND_JOB", 0},
    [MSG_UPDATE_NODE] = {"REQUEST_UPDATE_NODE", 3002},
    [MSG_UPDATE_PARTITION] = {"REQUEST_UPDATE_PARTITION", 3005},
    [MSG_UPDATE_RESERVATION] = {"REQUEST_UPDATE_RESERVATION", 3009},
    [MSG_CREATE_STEP] = {"REQUEST_JOB_STEP_CREATE", 5001},
    [MSG_DAEMON] = {"REQUEST_PING", 1008},
    [MSG_NODE_HELLO] = {"MESSAGE_NODE_REGISTRATION_STATUS", 1002},
};
static const struct slurm_name query_names[QUERY_COUNT] = {
    [QUERY_JOBS] = {"REQUEST_JOB_INFO", 2003},
    [QUERY_NODES] = {"REQUEST_NODE_INFO", 2007},
    [QUERY_PARTITIONS] = {"REQUEST_PARTITION_INFO", 2009},
    [QUERY_STEPS] = {"REQUEST_JOB_STEP_INFO", 2005},
    [QUERY_SETTINGS] = {"REQUEST_BUILD_INFO", 2001},
    [QUERY_RESERVATIONS] = {"REQUEST_RESERVATION_INFO", 2024},
    [QUERY_PRIORITY] = {"REQUEST_PRIORITY_FACTORS", 2026},
    [QUERY_SHARES] = {"REQUEST_SHARE_INFO", 2022},
    [QUERY_DIAG] = {"REQUEST_STATS_INFO", 2035},
};

struct traffic *traffic_new(void)
{
    struct traffic *t = xcalloc(1, sizeof *t);
    t->by_user = map_u64_new();
    return t;
}

static void tally_free(struct traffic_tally *one)
{
    free(one->user);
    free(one);
}

static void users_free(struct traffic *t)
{
    struct map_walk walk = {0};
    while (map_u64_next(t->by_user, &walk))
        tally_free(walk.value);
    map_u64_free(t->by_user);
}

void traffic_free(struct traffic *t)
{
    if (!t)
        return;
    users_free(t);
    free(t);
}

void traffic_reset(struct traffic *t)
{
    users_free(t);
    *t = (struct traffic){.by_user = map_u64_new()};
}

static int us_compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static void tally_add(struct traffic_tally *one, int64_t us)
{
    one->count++;
    one->us += us > 0 ? us : 0;
}

static struct traffic_tally *user_tally(struct traffic *t, uint32_t uid, const char *user);

/* A quarter of all at once, so that the next ones need not look. */
static void least_go(struct traffic *t)
{
    struct map_walk walk = {0};
    VEC(int64_t) us = {0};
    struct traffic_tally *rest = user_tally(t, REST, "others");
    while (map_u64_next(t->by_user, &walk))
        vec_push(&us, ((const struct traffic_tally *)walk.value)->us);
    qsort(us.v, us.n, sizeof us.v[0], us_compare);
    int64_t most = us.v[us.n / 4];
    size_t left = us.n / 4;
    vec_done(&us);
    walk = (struct map_walk){0};
    while (left > 0 && map_u64_next(t->by_user, &walk)) {
        struct traffic_tally *one = walk.value;
        if (one == rest || one->us > most)
            continue;
        rest->count += one->count;
        rest->us += one->us;
        tally_free(map_u64_del(t->by_user, walk.key));
        left--;
    }
}

static struct traffic_tally *user_tally(struct traffic *t, uint32_t uid, const char *user)
{
    struct traffic_tally *one = map_u64_get(t->by_user, (uint64_t)uid + 1);
    if (one)
        return one;
    if (map_u64_count(t->by_user) >= USERS_MAX && uid != REST)
        least_go(t);
    one = xcalloc(1, sizeof *one);
    *one = (struct traffic_tally){.uid = uid, .user = user ? xstrdup(user) : NULL};
    map_u64_put(t->by_user, (uint64_t)uid + 1, one);
    return one;
}

void traffic_count(struct traffic *t, const struct message *m, uint32_t uid, const char *user,
                   int64_t spent_us)
{
    ASSERT(m->kind < MESSAGE_COUNT && spent_us >= 0);
    const struct msg_query *q = m->body;
    bool query = m->kind == MSG_QUERY && q->what >= 0 && q->what < QUERY_COUNT;
    tally_add(query ? &t->query[q->what] : &t->kind[m->kind], spent_us);
    tally_add(user_tally(t, uid, user), spent_us);
}

static void row_add(struct str *out, const char *name, uint32_t number,
                    const struct traffic_tally *one)
{
    const struct rpc_count row = {name, number, one->count, (uint64_t)one->us};
    if (one->count > 0)
        rpc_counts_add(out, &row);
}

static const char *text_of(struct str *s, struct arena *a)
{
    const char *text = s->len ? arena_strdup(a, str_text(s)) : NULL;
    str_done(s);
    return text;
}

static const char *upper(const char *text, struct arena *a)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return copy;
}

static void kind_add(struct str *out, const struct traffic_tally *one,
                     const struct slurm_name *known, const char *own, uint32_t number,
                     struct arena *a)
{
    if (known->name)
        row_add(out, known->name, (uint32_t)known->number, one);
    else
        row_add(out, upper(own, a), number, one);
}

void traffic_show(const struct traffic *t, struct arena *a, struct diag *d)
{
    struct str kinds = STR_INIT, users = STR_INIT;
    struct map_walk walk = {0};
    for (uint32_t k = 0; k < MESSAGE_COUNT; k++)
        kind_add(&kinds, &t->kind[k], &kind_names[k], message_table[k].name, k, a);
    for (uint32_t q = 0; q < QUERY_COUNT; q++)
        kind_add(&kinds, &t->query[q], &query_names[q], enum_name(&query_what_names, (int)q), q, a);
    while (map_u64_next(t->by_user, &walk)) {
        const struct traffic_tally *one = walk.value;
        row_add(&users, one->user ? one->user : "nobody", one->uid, one);
    }
    d->rpcs = text_of(&kinds, a);
    d->rpc_users = text_of(&users, a);
}
