/* The book of accounts. Each record is in memory once, and is changed only by accounts_put, which
 * keeps the indexes and notes the former record in the journal: so a request with many changes is
 * done or undone as a whole, and a trial is a change that is undone.
 *
 * What is removed keeps its number and its row (`deleted`), and is found by nobody. */
#include "core/record/accounts/accounts.h"

#include "core/record/accounts/assoc_index.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/memory.h"
#include "core/record/record.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

struct journal_entry {
    enum store_table table;
    const void *former; /* in the arena; NULL: there was none */
    const void *record; /* what it became; NULL: it went */
};

struct account_journal {
    struct arena *arena;
    uint32_t last_assoc, last_qos, last_wckey; /* given when it was opened */
    VEC(struct journal_entry) entry;
};

/* ---- the journal ---------------------------------------------------------------------------- */

static const struct fields *table_of(enum store_table table)
{
    return store_table_rows[table].fields;
}

/* What the store knows a limit by. */
static void key_write(enum store_table table, void *record, struct arena *a)
{
    if (table == TABLE_LIMIT)
        ((struct limit *)record)->id = limit_id(record, a);
}

static void note(struct core *c, enum store_table table, const void *former, const void *record)
{
    struct account_journal *j = c->accounts.journal;
    if (!j)
        return;
    struct journal_entry e = {.table = table};
    if (former) {
        void *copy = arena_alloc(j->arena, table_of(table)->size);
        record_copy(table_of(table), copy, former, j->arena);
        key_write(table, copy, j->arena);
        e.former = copy;
    }
    if (record) {
        void *copy = arena_alloc(j->arena, table_of(table)->size);
        record_copy(table_of(table), copy, record, j->arena);
        key_write(table, copy, j->arena);
        e.record = copy;
    }
    vec_push(&j->entry, e);
}

void accounts_journal(struct core *c)
{
    CHECK(!c->accounts.journal);
    c->accounts.journal = xcalloc(1, sizeof *c->accounts.journal);
    c->accounts.journal->arena = arena_new();
    c->accounts.journal->last_assoc = c->accounts.last_assoc;
    c->accounts.journal->last_qos = c->accounts.last_qos;
    c->accounts.journal->last_wckey = c->accounts.last_wckey;
}

size_t accounts_journaled(const struct core *c)
{
    return c->accounts.journal ? c->accounts.journal->entry.n : 0;
}

static void journal_close(struct core *c)
{
    struct account_journal *j = c->accounts.journal;
    arena_free(j->arena);
    vec_done(&j->entry);
    free(j);
    c->accounts.journal = NULL;
}

/* ---- records in their places ---------------------------------------------------------------- */

/* The record of that key in memory, for the table; NULL = none. */
static void *record_at(const struct core *c, enum store_table table, const void *record)
{
    const struct account_book *b = &c->accounts;
    if (table == TABLE_ACCOUNT)
        return map_str_get(b->account, ((const struct account *)record)->name);
    if (table == TABLE_ACCOUNT_USER)
        return map_str_get(b->user, ((const struct account_user *)record)->name);
    if (table == TABLE_ASSOC)
        return map_u64_get(b->assoc, ((const struct assoc *)record)->id);
    if (table == TABLE_QOS)
        return map_u64_get(b->qos, ((const struct qos *)record)->id);
    if (table == TABLE_LIMIT)
        return limit_find(c, record);
    if (table == TABLE_WCKEY)
        return map_u64_get(b->wckey, ((const struct wckey *)record)->id);
    CHECK(table == TABLE_TRES);
    return map_u64_get(b->tres, ((const struct tres *)record)->id);
}

static size_t size_at(enum store_table table)
{
    if (table == TABLE_ASSOC)
        return sizeof(struct assocrec);
    return table == TABLE_QOS ? sizeof(struct qosrec) : table_of(table)->size;
}

static void index_new(struct core *c, enum store_table table, void *p)
{
    struct account_book *b = &c->accounts;
    if (table == TABLE_ACCOUNT) {
        map_str_put(b->account, ((struct account *)p)->name, p);
    } else if (table == TABLE_ACCOUNT_USER) {
        map_str_put(b->user, ((struct account_user *)p)->name, p);
    } else if (table == TABLE_ASSOC) {
        map_u64_put(b->assoc, ((struct assocrec *)p)->a.id, p);
    } else if (table == TABLE_QOS) {
        map_u64_put(b->qos, ((struct qosrec *)p)->q.id, p);
        map_str_put(b->qos_of, ((struct qosrec *)p)->q.name, p);
        b->last_qos =
            ((struct qosrec *)p)->q.id > b->last_qos ? ((struct qosrec *)p)->q.id : b->last_qos;
    } else if (table == TABLE_WCKEY) {
        map_u64_put(b->wckey, ((struct wckey *)p)->id, p);
        wckey_index(c, p);
        b->last_wckey =
            ((struct wckey *)p)->id > b->last_wckey ? ((struct wckey *)p)->id : b->last_wckey;
    } else if (table == TABLE_TRES) {
        map_u64_put(b->tres, ((struct tres *)p)->id, p);
        b->last_tres =
            ((struct tres *)p)->id > b->last_tres ? ((struct tres *)p)->id : b->last_tres;
    }
}

/* Not what an account is, but whether one that somebody made is there. */
static bool counts_as_account(enum store_table table, const void *p)
{
    const struct account *a = p;
    return table == TABLE_ACCOUNT && p && !a->deleted && !text_is(a->name, ROOT_ACCOUNT);
}

static bool has_priority(enum store_table table, const void *p)
{
    return table == TABLE_ASSOC && p && ((const struct assoc *)p)->priority_plus1;
}

static void record_put(struct core *c, enum store_table table, const void *record)
{
    if (table == TABLE_LIMIT) {
        limit_keep(c, record);
        return;
    }
    void *p = record_at(c, table, record);
    bool is_new = !p;
    if (table == TABLE_ASSOC)
        live_sums_forget(c);
    c->accounts.accounts -= counts_as_account(table, p);
    c->accounts.prioritized -= has_priority(table, p);
    if (is_new) {
        p = xcalloc(1, size_at(table));
        record_intern(c, table_of(table), p, record);
        index_new(c, table, p);
    } else {
        void *former = xcalloc(1, table_of(table)->size);
        if (table == TABLE_ASSOC)
            assoc_unindex(c, p);
        if (table == TABLE_WCKEY)
            wckey_unindex(c, p);
        memcpy(former, p, table_of(table)->size);
        record_intern(c, table_of(table), p, record);
        record_drop(c, table_of(table), former);
        free(former);
        if (table == TABLE_WCKEY)
            wckey_index(c, p);
    }
    c->accounts.accounts += counts_as_account(table, p);
    c->accounts.prioritized += has_priority(table, p);
    if (table == TABLE_ASSOC) {
        assoc_index(c, p);
        assoc_hang(c, p);
    }
}

/* Out of memory: a limit that is lifted, or anything that an undone change had added. */
static void record_remove(struct core *c, enum store_table table, const void *record)
{
    struct account_book *b = &c->accounts;
    if (table == TABLE_LIMIT) {
        limit_remove(c, record);
        return;
    }
    void *p = record_at(c, table, record);
    if (!p)
        return;
    b->accounts -= counts_as_account(table, p);
    b->prioritized -= has_priority(table, p);
    if (table == TABLE_ACCOUNT) {
        map_str_del(b->account, ((struct account *)p)->name);
    } else if (table == TABLE_ACCOUNT_USER) {
        map_str_del(b->user, ((struct account_user *)p)->name);
    } else if (table == TABLE_ASSOC) {
        struct assocrec *r = p;
        live_sums_forget(c);
        assoc_unindex(c, r);
        map_u64_del(b->assoc, r->a.id);
        limit_list_free(c, &r->limit);
    } else if (table == TABLE_QOS) {
        struct qosrec *r = p;
        map_u64_del(b->qos, r->q.id);
        map_str_del(b->qos_of, r->q.name);
        limit_list_free(c, &r->limit);
    } else if (table == TABLE_WCKEY) {
        wckey_unindex(c, p);
        map_u64_del(b->wckey, ((struct wckey *)p)->id);
    } else if (table == TABLE_TRES) {
        map_u64_del(b->tres, ((struct tres *)p)->id);
    }
    record_drop(c, table_of(table), p);
    account_memory_free(c, p);
}

void accounts_put(struct core *c, enum store_table table, const void *record)
{
    ASSERT(table < STORE_TABLE_COUNT);
    const void *former = record_at(c, table, record);
    note(c, table, former, record);
    record_put(c, table, record);
}

void limit_drop(struct core *c, const struct limit *l)
{
    const struct limit *former = limit_find(c, l);
    if (!former)
        return;
    note(c, TABLE_LIMIT, former, NULL);
    limit_remove(c, l);
}

uint32_t accounts_next_id(struct core *c, enum store_table table)
{
    if (table == TABLE_ASSOC)
        return c->accounts.last_assoc + 1;
    if (table == TABLE_QOS)
        return c->accounts.last_qos + 1;
    CHECK(table == TABLE_WCKEY);
    return c->accounts.last_wckey + 1;
}

void transaction_put(struct core *c, struct transaction *t)
{
    ASSERT(c->turn.now_us > 0 && !t->id);
    uint64_t now = (uint64_t)c->turn.now_us, last = c->accounts.last_transaction;
    t->at_us = c->turn.now_us;
    t->id = c->accounts.last_transaction = now > last ? now : last + 1;
    fx_store(c, TABLE_TRANSACTION, t);
}

/* What is there though nobody made it. */
static void implied_store(struct core *c)
{
    struct map_walk w = {0};
    if (!c->accounts.implied)
        return;
    c->accounts.implied = false;
    fx_store(c, TABLE_ACCOUNT, map_str_get(c->accounts.account, ROOT_ACCOUNT));
    fx_store(c, TABLE_ACCOUNT_USER, map_str_get(c->accounts.user, "root"));
    fx_store(c, TABLE_ASSOC, &assoc_at(c, ROOT_ACCOUNT, NULL, NULL)->a);
    fx_store(c, TABLE_ASSOC, &assoc_at(c, ROOT_ACCOUNT, "root", NULL)->a);
    fx_store(c, TABLE_QOS, &((struct qosrec *)map_str_get(c->accounts.qos_of, NORMAL_QOS))->q);
    while (map_u64_next(c->accounts.tres, &w))
        fx_store(c, TABLE_TRES, w.value);
}

void accounts_keep(struct core *c)
{
    ASSERT(c->accounts.journal);
    struct account_journal *j = c->accounts.journal;
    if (j->entry.n)
        implied_store(c);
    for (size_t i = 0; i < j->entry.n; i++)
        if (j->entry.v[i].record)
            fx_store(c, j->entry.v[i].table, j->entry.v[i].record);
        else
            fx_remove(c, j->entry.v[i].table, j->entry.v[i].former);
    journal_close(c);
}

void accounts_undo(struct core *c)
{
    ASSERT(c->accounts.journal);
    ASSERT(c->accounts.last_assoc >= c->accounts.journal->last_assoc &&
           c->accounts.last_qos >= c->accounts.journal->last_qos);
    struct account_journal *j = c->accounts.journal;
    for (size_t i = j->entry.n; i > 0; i--) {
        const struct journal_entry *e = &j->entry.v[i - 1];
        if (e->former)
            record_put(c, e->table, e->former);
        else
            record_remove(c, e->table, e->record);
    }
    c->accounts.last_assoc = j->last_assoc; /* numbers are given to what stays alone */
    c->accounts.last_qos = j->last_qos;
    c->accounts.last_wckey = j->last_wckey;
    journal_close(c);
}

/* ---- the beginning and the end -------------------------------------------------------------- */

void accounts_init(struct core *c)
{
    ASSERT(!c->accounts.account);
    struct account_book *b = &c->accounts;
    b->account = map_str_new();
    b->user = map_str_new();
    b->assoc = map_u64_new();
    b->qos = map_u64_new();
    b->qos_of = map_str_new();
    b->wckey = map_u64_new();
    b->wckey_of = map_str_new();
    b->tres = map_u64_new();
    b->cap_of = map_str_new();
    b->together = together_known_new();
    b->live = map_str_new();
    b->sums = live_sums_new();
}

static void values_free_str(struct core *c, struct map_str *m)
{
    struct map_walk w = {0};
    while (map_str_next(m, &w))
        account_memory_free(c, w.value);
    map_str_free(m);
}

static void values_free_u64(struct core *c, struct map_u64 *m)
{
    struct map_walk w = {0};
    while (map_u64_next(m, &w))
        account_memory_free(c, w.value);
    map_u64_free(m);
}

void accounts_free(struct core *c)
{
    struct account_book *b = &c->accounts;
    struct map_walk w = {0};
    while (map_u64_next(b->assoc, &w))
        limit_list_free(c, &((struct assocrec *)w.value)->limit);
    for (w = (struct map_walk){0}; map_u64_next(b->qos, &w);) {
        limit_list_free(c, &((struct qosrec *)w.value)->limit);
        vec_done(&((struct qosrec *)w.value)->worth);
    }
    values_free_str(c, b->account);
    values_free_str(c, b->user);
    free(b->assoc_of.slot);
    map_str_free(b->qos_of);
    map_str_free(b->wckey_of);
    values_free_u64(c, b->assoc);
    values_free_u64(c, b->qos);
    values_free_u64(c, b->wckey);
    values_free_u64(c, b->tres);
    together_known_free(b->together);
    live_sums_free(b->sums);
    accounts_blocks_free(c);
}

void accounts_forget(struct core *c, enum store_table table, const void *record)
{
    record_remove(c, table, record);
}

void accounts_load(struct core *c, enum store_table table, const void *record)
{
    c->accounts.rehang |= table == TABLE_ASSOC;
    record_put(c, table, record);
}

static void tres_put(struct core *c, uint32_t id, const char *type, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.tres, &w)) {
        const struct tres *t = w.value;
        if (text_is(t->type, type) && (t->name == name || text_is(t->name, name)))
            return;
    }
    struct tres t = {.id = id ? id : c->accounts.last_tres + 1, .type = type, .name = name};
    record_put(c, TABLE_TRES, &t);
    if (!c->accounts.implied)
        fx_store(c, TABLE_TRES, &t);
}

static void tres_fixed(struct core *c)
{
    static const struct tres fixed[] = {
        {1, "cpu", NULL},     {2, "mem", NULL},  {3, "energy", NULL}, {4, "node", NULL},
        {5, "billing", NULL}, {6, "fs", "disk"}, {7, "vmem", NULL},   {8, "pages", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        tres_put(c, fixed[i].id, fixed[i].type, fixed[i].name);
    if (c->accounts.last_tres < 1000)
        c->accounts.last_tres = 1000;
}

/* ",gres/gpu=4,gres/gpu:v100=4" of a node. */
static void tres_of_node(struct core *c, const struct noderec *n)
{
    struct str text = STR_INIT;
    struct arena *a = arena_new();
    gres_text_tres(n->n.gres, &text);
    struct span rest = span_of(str_text(&text)), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        size_t len = equals ? (size_t)(equals - piece.data) : piece.len;
        if (len > 5 && memcmp(piece.data, "gres/", 5) == 0)
            tres_put(c, 0, "gres", arena_strndup(a, piece.data + 5, len - 5));
    }
    arena_free(a);
    str_done(&text);
}

void accounts_tres_note(struct core *c)
{
    tres_fixed(c);
    for (size_t i = 0; i < c->node.n; i++)
        tres_of_node(c, c->node.v[i]);
}

/* all: nobody has made accounts yet. Else its row alone was lost. */
static void implied_put(struct core *c, enum store_table table, const void *record, bool all)
{
    record_put(c, table, record);
    c->accounts.implied |= all;
    if (all)
        return;
    c->accounts.rehang = true;
    fx_store(c, table, record_at(c, table, record));
    fx_log(c, LEVEL_ERROR, "table %s of the store had no row of root's: it is made anew",
           store_table_rows[table].name);
}

static void implied_people(struct core *c, bool all)
{
    const struct account account = {.name = ROOT_ACCOUNT,
                                    .description = "default root account",
                                    .organization = "root",
                                    .made_us = c->turn.now_us,
                                    .changed_us = c->turn.now_us};
    const struct account_user user = {.name = "root",
                                      .default_account = ROOT_ACCOUNT,
                                      .admin_level = ADMIN_ADMINISTRATOR,
                                      .made_us = c->turn.now_us,
                                      .changed_us = c->turn.now_us};
    if (!map_str_get(c->accounts.account, ROOT_ACCOUNT))
        implied_put(c, TABLE_ACCOUNT, &account, all);
    if (!map_str_get(c->accounts.user, "root"))
        implied_put(c, TABLE_ACCOUNT_USER, &user, all);
}

static void implied_assoc(struct core *c, const char *user, const char *qos, bool all)
{
    const struct assoc a = {.id = accounts_next_id(c, TABLE_ASSOC),
                            .account = ROOT_ACCOUNT,
                            .user = user,
                            .qos = qos,
                            .made_us = c->turn.now_us,
                            .changed_us = c->turn.now_us};
    if (!assoc_at(c, ROOT_ACCOUNT, user, NULL))
        implied_put(c, TABLE_ASSOC, &a, all);
}

void accounts_restore(struct core *c)
{
    bool all = !map_str_get(c->accounts.account, ROOT_ACCOUNT) && !map_u64_count(c->accounts.assoc);
    const struct qos normal = {.id = accounts_next_id(c, TABLE_QOS),
                               .name = NORMAL_QOS,
                               .description = "Normal QOS default",
                               .made_us = c->turn.now_us,
                               .changed_us = c->turn.now_us};
    struct map_walk w = {0};
    implied_people(c, all);
    if (all && !map_str_get(c->accounts.qos_of, NORMAL_QOS))
        implied_put(c, TABLE_QOS, &normal, all);
    implied_assoc(c, NULL, NORMAL_QOS, all);
    implied_assoc(c, "root", NULL, all);
    while (c->accounts.rehang && map_u64_next(c->accounts.assoc, &w))
        assoc_hang(c, w.value);
    accounts_tres_note(c);
}
