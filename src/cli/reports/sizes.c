/* Reports about sizes of jobs: job SizesByAccount, SizesByAccountAndWckey, SizesByWckey. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/program.h"
#include "cli/reports/sreport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX   (REPORT_CELLS - SIZES_COLUMNS - 1)
#define GROUP_WIDTH 13

enum sizes_by { BY_ACCOUNT = 1, BY_WCKEY = 2 };

struct size_row {
    int64_t amount[SIZES_MAX], all;
};

struct sizes {
    struct sreport *s;
    struct sreport_asked k;
    enum sizes_by by;
    used_vec used;
    struct account_tree tree;
    int64_t from[SIZES_MAX]; /* each group begins with so many CPUs */
    int n;
    bool individual;
    bool more; /* groups than there is room for: refused */
    struct report_column column[REPORT_CELLS];
    struct sreport_report report;
    VEC(const char *) name; /* of each row */
    VEC(struct size_row) row;
    struct map_str *place; /* name → its row, +1 */
};

/* ---- groups --------------------------------------------------------------------------------- */

static int number_order(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static void group_add(struct sizes *z, int64_t from)
{
    for (int i = 0; i < z->n; i++)
        if (z->from[i] == from)
            return;
    if (z->n < SIZES_MAX)
        z->from[z->n++] = from;
    else
        z->more = true;
}

static void groups_read(struct sizes *z)
{
    const char *text = z->k.value[COND_GROUPING];
    struct span rest = span_of(text ? text : "50,250,500,1000"), piece;
    if (text && text_starts_nocase("individual", text) && *text) {
        z->individual = true;
        for (size_t i = 0; i < z->used.n; i++)
            group_add(z, z->used.v[i]->job_cpus);
        if (z->n)
            qsort(z->from, (size_t)z->n, sizeof z->from[0], number_order);
        return;
    }
    group_add(z, 0);
    while (span_next(&rest, ',', &piece)) {
        char *number = arena_strndup(z->s->a, piece.data, piece.len);
        int64_t from;
        number[strspn(number, "0123456789")] = 0; /* what follows it is not looked at */
        if (text_to_i64(number, 0, INT32_MAX, &from))
            group_add(z, from);
    }
}

static int group_of(const struct sizes *z, int64_t cpus)
{
    int at = 0;
    for (int i = 1; i < z->n; i++)
        if (z->from[i] <= cpus && z->from[i] >= z->from[at])
            at = i;
    return at;
}

static bool counts_cpus(const struct sizes *z)
{
    return text_is(z->k.tres.v[0].name, "cpu");
}

static void columns_make(struct sizes *z)
{
    const char *unit = counts_cpus(z) ? "CPUs" : "TRES";
    bool both = (z->by & BY_ACCOUNT) && (z->by & BY_WCKEY);
    enum cell_kind kind = z->k.value[COND_PRINT_JOB_COUNT] ? CELL_COUNT : CELL_SIZE;
    memcpy(z->column, sizes_columns, sizeof sizes_columns);
    if (both && !z->k.value[COND_FORMAT])
        z->column[SIZES_COL_ACCOUNT].width = -20;
    for (int i = 0; i < z->n; i++) {
        long long from = (long long)z->from[i];
        const char *header = z->individual   ? arena_printf(z->s->a, "%lld %s", from, unit)
                             : i + 1 == z->n ? arena_printf(z->s->a, ">= %lld %s", from, unit)
                                             : arena_printf(z->s->a, "%lld-%lld %s", from,
                                                            (long long)z->from[i + 1] - 1, unit);
        z->column[SIZES_COLUMNS + i] =
            (struct report_column){.key = arena_printf(z->s->a, "size%d", i),
                                   .least = 5,
                                   .header = header,
                                   .width = GROUP_WIDTH,
                                   .kind = kind};
    }
    z->column[SIZES_COLUMNS + z->n] = (struct report_column){.key = "percent of cluster",
                                                             .least = 18,
                                                             .header = "% of cluster",
                                                             .width = 12,
                                                             .kind = CELL_TEXT};
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t row_of(struct sizes *z, const char *name)
{
    const char *kept;
    void **place = map_str_slot(z->place, name, true, &kept);
    if (!*place) {
        vec_push(&z->name, name);
        vec_push(&z->row, (struct size_row){0});
        *place = (void *)z->name.n; /* NOLINT(performance-no-int-to-ptr) */
    }
    return (size_t)(uintptr_t)*place - 1;
}

/* The account under which it is counted; NULL: under none. */
static const char *account_shown(const struct sizes *z, const struct used *u)
{
    const char *asked = z->k.value[COND_ACCOUNTS];
    size_t at = account_place(&z->tree, u->account), below = SIZE_MAX;
    if (z->k.value[COND_FLAT_VIEW])
        return asked && !list_has_nocase(asked, z->tree.node.v[at].name) ? NULL
                                                                         : z->tree.node.v[at].name;
    if (!asked && !z->k.value[COND_ACCT_AS_PARENT])
        return z->tree.node.v[0].name;
    for (;; below = at, at = z->tree.node.v[at].up) {
        const char *name = z->tree.node.v[at].name;
        if (asked ? list_has_nocase(asked, name) : at == 0)
            return !z->k.value[COND_ACCT_AS_PARENT] ? name
                   : below == SIZE_MAX              ? NULL
                                                    : z->tree.node.v[below].name;
        if (at == 0)
            return NULL;
    }
}

static const char *name_of(const struct sizes *z, const struct used *u)
{
    const char *account = z->by & BY_ACCOUNT ? account_shown(z, u) : NULL;
    if (z->by == BY_WCKEY)
        return u->wckey;
    if (!account || z->by == BY_ACCOUNT)
        return account;
    return text_empty(u->wckey) ? NULL : arena_printf(z->s->a, "%s:%s", account, u->wckey);
}

/* The name it is counted under; NULL: it is not asked about. */
static const char *counted_as(const struct sizes *z, const struct used *u)
{
    bool asked = asked_has(&z->k, COND_USERS, u->user_name) &&
                 asked_has(&z->k, COND_WCKEYS, u->wckey) &&
                 asked_has(&z->k, COND_PARTITIONS, u->partition);
    return asked ? name_of(z, u) : NULL;
}

/* Only rows that are asked about: other people's jobs make no groups. */
static void used_filter(struct sizes *z)
{
    size_t kept = 0;
    for (size_t i = 0; i < z->used.n; i++)
        if (counted_as(z, z->used.v[i]))
            z->used.v[kept++] = z->used.v[i];
    z->used.n = kept;
}

static void used_add(struct sizes *z, const struct used *u)
{
    size_t at = row_of(z, counted_as(z, u));
    struct size_row *row = &z->row.v[at];
    int64_t amount =
        z->k.value[COND_PRINT_JOB_COUNT] ? (int64_t)u->jobs : used_amount(u, z->k.tres.v[0].name);
    row->amount[group_of(z, u->job_cpus)] += amount;
    row->all += amount;
}

static void row_add(struct sizes *z, size_t at, int64_t total)
{
    struct report_row out = {0};
    const struct size_row *row = &z->row.v[at];
    out.cell[SIZES_COL_CLUSTER].text = z->s->cluster;
    out.cell[z->by == BY_WCKEY ? SIZES_COL_WCKEY : SIZES_COL_ACCOUNT].text = z->name.v[at];
    for (int i = 0; i < z->n; i++)
        out.cell[SIZES_COLUMNS + i] =
            (struct report_cell){.amount = row->amount[i], .of = row->all};
    out.cell[SIZES_COLUMNS + z->n].text =
        arena_printf(z->s->a, "%.2f%%", total ? 100.0 * (double)row->all / (double)total : 0.0);
    report_add(&z->report, &out);
}

static void rows_make(struct sizes *z)
{
    int64_t total = 0;
    struct str shown = STR_INIT;
    for (size_t i = 0; i < z->used.n; i++)
        used_add(z, z->used.v[i]);
    for (size_t i = 0; i < z->row.n; i++)
        total += z->row.v[i].all;
    str_add(&shown, z->k.value[COND_FORMAT] ? z->k.value[COND_FORMAT]
                    : z->by == BY_WCKEY     ? "cluster,wckey"
                                            : "cluster,account");
    for (int i = 0; i < z->n; i++)
        str_addf(&shown, ",size%d", i);
    str_add(&shown, ",percent of cluster");
    report_init(&z->report, z->s, z->column, SIZES_COLUMNS + z->n + 1, NULL, str_text(&shown));
    for (size_t i = 0; i < z->row.n; i++)
        row_add(z, i, total);
    str_done(&shown);
}

/* ---- the reports ---------------------------------------------------------------------------- */

static bool is_possible(struct sizes *z)
{
    if (z->k.tres.n > 1) {
        fputs(" Job report only supports a single --tres type.\n"
              " Generate a separate report for each TRES type.\n",
              stderr);
        z->s->rc = 1;
        return false;
    }
    if (!text_empty(z->k.value[COND_GID])) {
        program_error("sreport", "gid= is not supported: what was used is known by account, user, "
                                 "partition, workload key, and of jobs= and nodes=; sacct --gid "
                                 "chooses jobs by it");
        z->s->rc = 1;
        return false;
    }
    return true;
}

static const char *unit_line(const struct sizes *z)
{
    const char *tres =
        z->k.one_tres ? "" : arena_printf(z->s->a, "TRES type is %s\n", z->k.tres.v[0].name);
    return z->k.value[COND_PRINT_JOB_COUNT]
               ? arena_printf(z->s->a, "%sUnits are in number of jobs ran", tres)
               : arena_printf(z->s->a, "%sTime reported in %s", tres, unit_words(z->s));
}

static void sizes_report(struct sreport *s, enum sizes_by by, const char *title, int n, char **word)
{
    struct sizes z = {.s = s, .by = by, .place = map_str_new()};
    asked_read(s,
               1u << COND_ACCOUNTS | 1u << COND_USERS | 1u << COND_WCKEYS |
                   1u << COND_ACCT_AS_PARENT | 1u << COND_FLAT_VIEW | 1u << COND_GID |
                   1u << COND_GROUPING | 1u << COND_JOBS | 1u << COND_NODES |
                   1u << COND_PARTITIONS | 1u << COND_PRINT_JOB_COUNT,
               n, word, &z.k);
    if (asked_tres(s, &z.k) && is_possible(&z) &&
        used_read(s, &z.k, "account,user_name,partition,wckey,job_cpus", false, &z.used) &&
        account_tree_read(s, &z.used, &z.tree)) {
        used_filter(&z);
        groups_read(&z);
        if (z.more) {
            program_error("sreport",
                          "a report has at most %d sizes of jobs; grouping=50,250,1000 "
                          "says where each begins",
                          SIZES_MAX);
            s->rc = 1;
        } else {
            columns_make(&z);
            rows_make(&z);
            report_print(&z.report, title, &z.k, true, unit_line(&z));
        }
    }
    vec_done(&z.used);
    account_tree_done(&z.tree);
    vec_done(&z.name);
    vec_done(&z.row);
    map_str_free(z.place);
    asked_done(&z.k);
}

void report_sizes_by_account(struct sreport *s, int n, char **word)
{
    sizes_report(s, BY_ACCOUNT, "Job Sizes", n, word);
}

void report_sizes_by_both(struct sreport *s, int n, char **word)
{
    sizes_report(s, BY_ACCOUNT | BY_WCKEY, "Job Sizes", n, word);
}

void report_sizes_by_wckey(struct sreport *s, int n, char **word)
{
    sizes_report(s, BY_WCKEY, "Job Sizes by Wckey", n, word);
}
