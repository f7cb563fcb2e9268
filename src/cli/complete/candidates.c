/* Names that the cluster has at the moment and words of our tables, as candidates for completion in
 * shells. */
#include "cli/complete/candidates.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "cli/record/columns_acct.h"
#include "cli/record/columns_job.h"
#include "cli/record/columns_node.h"
#include "cli/record/columns_step.h"
#include "io/client/client.h"
#include "model/grammar/signals.h"
#include "model/job/mail_type.h"
#include "model/state.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MOST 400 /* more help nobody */

/* What a shell puts into the line stands there as if it had been typed, and names are of others: a
 * feature that a host says, an account. Words that a shell would take for more than a word are not
 * offered. */
static bool is_a_word_to_shells(const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && (unsigned char)*p < 0x80 && !strchr("_.,:=/@%+-[]", *p))
            return false;
    return text_is_plain(word);
}

/* Few enough that a look at each is faster than a table. */
static bool is_shown(const struct completion *k, const char *word)
{
    for (size_t i = 0; i < k->n_shown; i++)
        if (text_is(k->shown[i], word))
            return true;
    return false;
}

static void show(struct completion *k, const char *word)
{
    if (!k->shown)
        k->shown = arena_alloc(k->a, SHOWN_MOST * sizeof *k->shown);
    if (k->n_shown < SHOWN_MOST)
        k->shown[k->n_shown++] = word;
}

void candidates_offer(struct completion *k, const char *word, const char *doc)
{
    struct str plain = STR_INIT;
    if (!*word || !text_starts(word, k->word) || k->n_shown >= SHOWN_MOST ||
        !is_a_word_to_shells(word) || is_shown(k, word))
        return;
    show(k, arena_strdup(k->a, word));
    str_add_plain(&plain, doc ? doc : "");
    printf("%s%s%s%s\n", k->prefix, word, plain.len ? "\t" : "", str_text(&plain));
    str_done(&plain);
}

void candidates_item(struct completion *k, const char *before, const char *list,
                     const char *separators)
{
    const char *item = list;
    for (const char *c = list; *c; c++)
        if (strchr(separators, *c)) {
            show(k, arena_strndup(k->a, item, (size_t)(c - item)));
            item = c + 1;
        }
    k->word = item;
    k->prefix = arena_printf(k->a, "%s%.*s", before, (int)(item - list), list);
}

void candidates_list(struct completion *k, const char *words, char separator)
{
    struct span rest = span_of(words), piece;
    while (span_next(&rest, separator, &piece))
        if (piece.len)
            candidates_offer(k, arena_strndup(k->a, piece.data, piece.len), NULL);
}

/* ---- from the cluster ---- */

static void job_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct job *j = record;
    struct str id = STR_INIT;
    job_label(j, &id);
    if (j->array_job_id)
        candidates_offer(k, arena_printf(k->a, "%llu", (unsigned long long)j->array_job_id),
                         j->spec.name);
    if (!j->array_job_id || j->array_task_id != NO_TASK)
        candidates_offer(k, str_text(&id),
                         arena_printf(k->a, "%s %s", enum_name(&job_state_names, j->state),
                                      j->spec.name ? j->spec.name : ""));
    str_done(&id);
}

static void number_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct job *j = record;
    uint64_t number = j->array_job_id ? j->array_job_id : j->het_job_id ? j->het_job_id : j->id;
    candidates_offer(k, arena_printf(k->a, "%llu", (unsigned long long)number), j->spec.name);
}

static void name_offer(void *ctx, const void *record)
{
    const struct job *j = record;
    if (!text_empty(j->spec.name))
        candidates_offer(ctx, j->spec.name, NULL);
}

static void owner_offer(void *ctx, const void *record)
{
    const struct job *j = record;
    if (!text_empty(j->user_name))
        candidates_offer(ctx, j->user_name, NULL);
}

static void node_offer(void *ctx, const void *record)
{
    candidates_offer(ctx, ((const struct node *)record)->name, NULL);
}

static void features_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct node *n = record;
    if (!text_empty(n->features))
        candidates_list(k, n->features, ',');
}

/* Of "gpu:v100:2" the kind and what is asked for by type; with `types` the types of GPUs alone. */
static void gres_of(struct completion *k, const char *gres, bool types)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *kind = arena_strndup(k->a, piece.data, piece.len);
        const char *colon = strchr(kind, ':'), *type = colon ? colon + 1 : "";
        size_t typed = isdigit((unsigned char)*type) ? 0 : strcspn(type, ":(");
        if (types && typed && text_starts(kind, "gpu:"))
            candidates_offer(k, arena_strndup(k->a, type, typed), NULL);
        if (!types)
            candidates_offer(k, arena_strndup(k->a, kind, strcspn(kind, ":(")), NULL);
        if (!types && typed)
            candidates_offer(k, arena_strndup(k->a, kind, (size_t)(type - kind) + typed), NULL);
    }
}

static void gres_offer(void *ctx, const void *record)
{
    gres_of(ctx, ((const struct node *)record)->gres, false);
}

static void gpu_types_offer(void *ctx, const void *record)
{
    gres_of(ctx, ((const struct node *)record)->gres, true);
}

static void part_offer(void *ctx, const void *record)
{
    const struct partition *p = record;
    candidates_offer(ctx, p->name, p->nodes);
}

static void account_offer(void *ctx, const void *record)
{
    candidates_offer(ctx, ((const struct account *)record)->name, NULL);
}

static void user_offer(void *ctx, const void *record)
{
    candidates_offer(ctx, ((const struct account_user *)record)->name, NULL);
}

static void qos_offer(void *ctx, const void *record)
{
    candidates_offer(ctx, ((const struct qos *)record)->name, NULL);
}

static void resv_offer(void *ctx, const void *record)
{
    candidates_offer(ctx, ((const struct reservation *)record)->name, NULL);
}

static void ask(struct completion *k, struct msg_query q, const struct fields *t,
                void (*row)(void *ctx, const void *record))
{
    struct msg_done done = {0};
    if (!k->asked)
        k->client = client_open(state_dir_find(NULL, k->a), NULL);
    k->asked = true;
    if (k->client)
        client_query(k->client, &q, t, k->a, row, k, &done, NULL);
}

/* `states`: NULL = all that are not over. `all`: those of others, too, as far as one may see. */
static void jobs_ask(struct completion *k, const char *states, bool all,
                     void (*row)(void *ctx, const void *record))
{
    const char *mine = arena_printf(k->a, "%u", (unsigned)getuid());
    ask(k,
        (struct msg_query){.what = QUERY_JOBS,
                           .uids = getuid() && !all ? mine : NULL,
                           .states = states,
                           .fields = "id,name,user_name,state,array_job_id,array_task_id,"
                                     "het_job_id,het_offset"},
        &job_fields, row);
}

static void nodes_ask(struct completion *k, const char *fields,
                      void (*row)(void *ctx, const void *record))
{
    ask(k, (struct msg_query){.what = QUERY_NODES, .fields = fields}, &node_fields, row);
}

static void users_ask(struct completion *k)
{
    ask(k, (struct msg_query){.what = QUERY_ACCOUNT_USERS, .fields = "name"}, &account_user_fields,
        user_offer);
    jobs_ask(k, NULL, true, owner_offer);
}

/* ---- words of our own ---- */

static void signals_offer(struct completion *k)
{
    for (int signo = 1; signo < 32; signo++)
        if (signal_name(signo))
            candidates_offer(k, signal_name(signo), NULL);
}

static void mail_offer(struct completion *k)
{
    struct str types = STR_INIT;
    mail_types_format(~0u, &types);
    candidates_list(k, str_text(&types), ',');
    candidates_list(k, "ALL,NONE", ',');
    str_done(&types);
}

static void columns_offer(struct completion *k, const struct column_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->column[i].name)
            candidates_offer(k, t->column[i].name, NULL);
}

void candidates_wanted(struct completion *k, enum wanted wanted)
{
    switch (wanted) {
    case WANTED_NOTHING: return;
    case WANTED_FILE: puts("\t"); return; /* the shell knows better */
    case WANTED_JOBS: jobs_ask(k, NULL, false, job_offer); return;
    case WANTED_RUNNING: jobs_ask(k, "RUNNING", false, job_offer); return;
    case WANTED_QUEUE_FIRST:
    case WANTED_NUMBERS: jobs_ask(k, NULL, false, number_offer); return;
    case WANTED_NAMES: jobs_ask(k, NULL, false, name_offer); return;
    case WANTED_PARTITIONS:
        ask(k, (struct msg_query){.what = QUERY_PARTITIONS, .fields = "name,nodes"},
            &partition_fields, part_offer);
        return;
    case WANTED_NODES: nodes_ask(k, "name", node_offer); return;
    case WANTED_FEATURES: nodes_ask(k, "features", features_offer); return;
    case WANTED_GRES: nodes_ask(k, "gres", gres_offer); return;
    case WANTED_GPU_TYPES: nodes_ask(k, "gres", gpu_types_offer); return;
    case WANTED_ACCOUNTS:
        ask(k, (struct msg_query){.what = QUERY_ACCOUNTS, .fields = "name"}, &account_fields,
            account_offer);
        return;
    case WANTED_USERS: users_ask(k); return;
    case WANTED_QOS:
        ask(k, (struct msg_query){.what = QUERY_QOS, .fields = "name"}, &qos_fields, qos_offer);
        return;
    case WANTED_RESERVATIONS:
        ask(k, (struct msg_query){.what = QUERY_RESERVATIONS, .fields = "name"},
            &reservation_fields, resv_offer);
        return;
    case WANTED_STATES:
        for (int s = 0; s < JOB_STATE_COUNT; s++)
            candidates_offer(k, enum_name(&job_state_names, s), NULL);
        return;
    case WANTED_SIGNALS: signals_offer(k); return;
    case WANTED_MAIL: mail_offer(k); return;
    case WANTED_JOB_COLUMNS: columns_offer(k, &job_columns); return;
    case WANTED_NODE_COLUMNS: columns_offer(k, &node_columns); return;
    case WANTED_ACCT_COLUMNS: columns_offer(k, &acct_columns); return;
    case WANTED_STEP_COLUMNS: columns_offer(k, &step_columns); return;
    }
}

void candidates_done(struct completion *k)
{
    client_close(k->client);
}
