/* bqueues, lsid: what there is; and what they have in common with bhosts. A slot is a CPU. */
#include "cli/lsf/overview.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/list.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "cli/submit/host.h"
#include "cli/submit/site.h"
#include "cli/table/listing.h"
#include "model/record/may.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool lsf_overview_word(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lsf_overview *o = to;
    o->words = listing_join(o->words, word, a);
    return true;
}

static const struct option_row queue_rows[] = {
    LSF_OVERVIEW_OPTIONS,
    LSF_FORMAT_OPTIONS,
    {.name = "m",
     .arg = ARG_REQUIRED,
     .metavar = "host",
     .doc = "queues with this host",
     .set = set_text,
     .at = LSF_AT(host)},
    {.name = "u",
     .arg = ARG_REQUIRED,
     .metavar = "user",
     .doc = "queues this user may use; all: every queue",
     .set = set_text,
     .at = LSF_AT(user)},
};
static const struct option_row id_rows[] = {
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
};
OPTION_TABLE(bqueues_options, queue_rows, .usage = "bqueues [OPTIONS] [queue …]",
             .words = WORDS_MIXED, .word = lsf_overview_word, .one_dash = true);
OPTION_TABLE(lsid_options, id_rows, .usage = "lsid [OPTIONS]", .one_dash = true);

/* ---- reading ---- */

static void queue_keep(void *ctx, const void *record)
{
    struct lsf_overview *o = ctx;
    vec_push(&o->queue,
             (const struct partition *)arena_dup(o->a, record, sizeof(struct partition)));
}

static void node_keep(void *ctx, const void *record)
{
    struct lsf_overview *o = ctx;
    vec_push(&o->node, (const struct node *)arena_dup(o->a, record, sizeof(struct node)));
}

static void job_keep(void *ctx, const void *record)
{
    struct lsf_overview *o = ctx;
    vec_push(&o->job, (const struct job *)arena_dup(o->a, record, sizeof(struct job)));
}

bool lsf_queues_read(struct lsf_overview *o, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_PARTITIONS};
    struct msg_done done;
    return client_query(o->client, &q, &partition_fields, o->a, queue_keep, o, &done, ret_err);
}

bool lsf_nodes_read(struct lsf_overview *o, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done;
    return client_query(o->client, &q, &node_fields, o->a, node_keep, o, &done, ret_err);
}

bool lsf_running_read(struct lsf_overview *o, struct err *ret_err)
{
    struct msg_done done;
    struct msg_query q = {
        .what = QUERY_JOBS,
        .fields = "id,array_job_id,array_task_id,array_pending,array_size,state,reason,partition,"
                  "run_partition,ntasks,alloc_tasks,alloc_cpus,alloc,nodes,suspended_by,"
                  "stopped_us"};
    return client_query(o->client, &q, &job_fields, o->a, job_keep, o, &done, ret_err);
}

bool lsf_overview_asked(const struct lsf_overview *o, const char *name)
{
    return !o->words || list_has(o->words, name);
}

bool lsf_words_known(const struct lsf_overview *o,
                     bool (*is_there)(const struct lsf_overview *o, const char *word),
                     const char *what, struct err *ret_err)
{
    struct span rest = span_of(o->words ? o->words : ""), one;
    struct str unknown = STR_INIT;
    while (span_next(&rest, ',', &one)) {
        const char *word = arena_strndup(o->a, one.data, one.len);
        if (*word && !is_there(o, word))
            list_addf(&unknown, "%s", word);
    }
    bool known =
        !unknown.len || err_set(ret_err, ERR_NOT_FOUND, "%s: %s", str_text(&unknown), what);
    str_done(&unknown);
    return known;
}

void lsf_overview_format(struct lsf_overview *o, const char *counted, const void *const *row,
                         size_t n)
{
    struct lsf_json json = {.out = &o->out};
    if (o->json)
        lsf_json_begin(&json, o->name, counted, n);
    else if (!o->noheader && n)
        lsf_format_header(&o->format, &o->out);
    for (size_t i = 0; i < n; i++) {
        struct lsf_row one = {.it = row[i]};
        if (o->json)
            lsf_json_row(&json, &o->format, &one, o->a);
        else
            lsf_format_row(&o->format, &one, o->a, &o->out);
    }
    if (o->json)
        lsf_json_end(&json);
}

static int32_t slots(const struct job *j)
{
    return j->alloc_cpus > 0 && !lsf_job_is_pending(j) ? j->alloc_cpus : lsf_job_slots(j);
}

/* How many jobs a record stands for. */
static uint32_t jobs_in(const struct job *j)
{
    struct idset waiting = IDSET_INIT;
    uint32_t n = 1;
    if (j->array_pending && idset_parse(&waiting, j->array_pending, UINT32_MAX, NULL))
        n = (uint32_t)waiting.count;
    idset_done(&waiting);
    return n;
}

/* ---- queues ---- */

/* Slots of its jobs. */
struct loads {
    long pending, running, system, user; /* suspended by the system, by a person */
};

/* What a row of -o shows. */
struct queue_row {
    const struct partition *p;
    struct loads n;
};

/* To each queue that the job is in. Waiting elements of an array may be many pieces, so they are
 * counted once, and only of an array that one of these queues has. */
static void loads_add(const struct job *j, struct queue_row *const *row, size_t n)
{
    const char *state = lsf_job_state(j);
    long these = 0;
    for (size_t i = 0; i < n; i++) {
        struct loads *to = &row[i]->n;
        if (!job_in_partitions(j, row[i]->p->name))
            continue;
        these = these ? these : (long)slots(j) * jobs_in(j);
        if (text_is(state, "PEND"))
            to->pending += these;
        else if (text_is(state, "SSUSP"))
            to->system += these;
        else if (strstr(state, "SUSP"))
            to->user += these;
        else
            to->running += these;
    }
}

static long suspended(const struct loads *n)
{
    return n->system + n->user;
}

static long all(const struct loads *n)
{
    return n->pending + n->running + suspended(n);
}

static const char *queue_status(const struct partition *p)
{
    switch ((enum part_state)p->state) {
    case PART_UP: return "Open:Active";
    case PART_DOWN: return "Open:Inact";
    case PART_DRAIN: return "Closed:Active";
    case PART_INACTIVE: return "Closed:Inact";
    }
    return "";
}

static void queue_line(struct lsf_overview *o, const struct queue_row *q)
{
    const struct partition *p = q->p;
    struct loads n = q->n;
    str_addf(&o->out, "%-15.*s %3d  %-14s %4s %4s %4s %4s %5ld %5ld %5ld %5ld\n",
             o->wide ? 4096 : 15, p->name, p->priority_tier, queue_status(p), "-", "-", "-", "-",
             all(&n), n.pending, n.running, suspended(&n));
}

static void queue_long(struct lsf_overview *o, const struct queue_row *q)
{
    const struct partition *p = q->p;
    struct loads n = q->n;
    str_addf(&o->out, "\nQUEUE: %s\n", p->name);
    if (p->is_default)
        str_add(&o->out, "  -- This is the default queue.\n");
    str_add(&o->out, "\nPARAMETERS/STATISTICS\nPRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  "
                     "PEND   RUN SSUSP USUSP  RSV\n");
    str_addf(&o->out, "%3d    0  %-14s %4s %4s %4s %4s %5ld %5ld %5ld %5ld %5ld    0\n",
             p->priority_tier, queue_status(p), "-", "-", "-", "-", all(&n), n.pending, n.running,
             n.system, n.user);
    if (p->default_time_us > 0 && p->default_time_us != TIME_UNLIMITED)
        str_addf(&o->out, "\nDEFAULT LIMITS:\n RUNLIMIT\n %.1f min\n",
                 (double)p->default_time_us / (double)USEC_PER_MIN);
    if (p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED)
        str_addf(&o->out, "\nMAXIMUM LIMITS:\n RUNLIMIT\n %.1f min\n",
                 (double)p->max_time_us / (double)USEC_PER_MIN);
    str_addf(&o->out, "\nUSERS:  %s\nHOSTS:  %s\n", p->allow_groups ? p->allow_groups : "all",
             p->nodes ? p->nodes : "none");
}

#define FIELD_FN(name)                                                                             \
    static const char *name##_of(const struct partition *p, const struct loads *n,                 \
                                 struct arena *a);                                                 \
    static const char *name(const struct lsf_row *r, struct arena *a)                              \
    {                                                                                              \
        const struct queue_row *q = r->it;                                                         \
        return name##_of(q->p, &q->n, a);                                                          \
    }                                                                                              \
    static const char *name##_of(const struct partition *p, const struct loads *n, struct arena *a)

FIELD_FN(queue_name)
{
    return p->name;
}

FIELD_FN(description)
{
    return p->is_default ? "This is the default queue." : NULL;
}

FIELD_FN(priority)
{
    return arena_printf(a, "%d", p->priority_tier);
}

FIELD_FN(status)
{
    return queue_status(p);
}

FIELD_FN(slots_all)
{
    return arena_printf(a, "%d", p->total_cpus);
}

FIELD_FN(unlimited)
{
    return NULL;
}

FIELD_FN(jobs_all)
{
    return arena_printf(a, "%ld", all(n));
}

FIELD_FN(jobs_pending)
{
    return arena_printf(a, "%ld", n->pending);
}

FIELD_FN(jobs_running)
{
    return arena_printf(a, "%ld", n->running);
}

FIELD_FN(jobs_suspended)
{
    return arena_printf(a, "%ld", suspended(n));
}

FIELD_FN(jobs_system)
{
    return arena_printf(a, "%ld", n->system);
}

FIELD_FN(jobs_user)
{
    return arena_printf(a, "%ld", n->user);
}

FIELD_FN(jobs_reserved)
{
    return "0";
}

static const struct lsf_field fields[] = {
    {"queue_name", "qname", 15, queue_name, false, false},
    {"description", "desc", 50, description, false, false},
    {"priority", "prio", 10, priority, false, false},
    {"status", "stat", 12, status, false, false},
    {"max", "", 10, unlimited, false, false},
    {"jl_u", "jlu", 10, unlimited, false, false},
    {"jl_p", "jlp", 10, unlimited, false, false},
    {"jl_h", "jlh", 10, unlimited, false, false},
    {"njobs", "", 10, jobs_all, false, false},
    {"pend", "", 10, jobs_pending, false, false},
    {"run", "", 10, jobs_running, false, false},
    {"susp", "", 10, jobs_suspended, false, false},
    {"rsv", "", 10, jobs_reserved, false, false},
    {"ususp", "", 10, jobs_user, false, false},
    {"ssusp", "", 10, jobs_system, false, false},
    {"nhosts_cpus", "slots", 10, slots_all, false, false},
};
static const struct lsf_fields queue_fields = {fields, ARRAY_LEN(fields)};

static bool has_host(const struct partition *p, const char *host)
{
    struct hostlist names = HOSTLIST_INIT;
    bool has =
        !host || (p->nodes && hostlist_parse(&names, p->nodes, NULL) && hostlist_has(&names, host));
    hostlist_done(&names);
    return has;
}

static void queues_print(struct lsf_overview *o, struct queue_row *const *row, size_t n)
{
    if (o->format_text) {
        lsf_overview_format(o, "QUEUES", (const void *const *)row, n);
        return;
    }
    if (!o->noheader && !o->longer && n)
        str_add(&o->out, "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   "
                         "RUN  SUSP \n");
    for (size_t i = 0; i < n; i++) {
        if (o->longer)
            queue_long(o, row[i]);
        else
            queue_line(o, row[i]);
    }
}

/* -u: *ret, names with commas; "" = none. */
static bool usable_read(struct lsf_overview *o, const char **ret, struct err *e)
{
    const struct passwd *p = user_by_name(o->user);
    struct msg_may m = {.user = o->user};
    struct message answer;
    struct str names = STR_INIT;
    bool ok = true;
    if (!p)
        return err_set(e, ERR_NOT_FOUND, "%s: No such user", o->user);
    m.user = p->pw_uid == getuid() ? NULL : o->user;
    m.uid = p->pw_uid;
    m.groups = listing_groups(p->pw_name, p->pw_gid, o->a);
    do {
        ok = client_call(o->client, MSG_MAY, &m, 0, o->a, &answer, e);
        if (ok && answer.kind != MSG_ALLOWED) {
            const struct msg_done *done = answer.body;
            ok = err_set(e, ERR_DENIED, "%s",
                         done->detail ? done->detail : refusal_text((enum refusal)done->refusal));
        }
        if (!ok)
            break;
        const struct msg_allowed *part = answer.body;
        const struct may_partition *of = part->partitions.v;
        for (size_t i = 0; i < part->partitions.n; i++)
            if (of[i].usable)
                list_addf(&names, "%s", of[i].name);
        m.from = part->next;
    } while (m.from);
    *ret = arena_strdup(o->a, str_text(&names));
    str_done(&names);
    return ok;
}

bool lsf_is_queue(const struct lsf_overview *o, const char *word)
{
    for (size_t i = 0; i < o->queue.n; i++)
        if (text_is(o->queue.v[i]->name, word))
            return true;
    return false;
}

static bool queues_show(struct lsf_overview *o, struct err *e)
{
    VEC(struct queue_row *) row = {0};
    const char *usable = NULL;
    if (!lsf_queues_read(o, e) || !lsf_running_read(o, e) ||
        (o->user && !text_is(o->user, "all") && !usable_read(o, &usable, e)))
        return false;
    for (size_t i = 0; i < o->queue.n; i++) {
        struct queue_row q = {.p = o->queue.v[i]};
        if (lsf_overview_asked(o, q.p->name) && has_host(q.p, o->host) &&
            (!usable || list_has(usable, q.p->name)))
            vec_push(&row, (struct queue_row *)arena_dup(o->a, &q, sizeof q));
    }
    for (size_t i = 0; i < o->job.n; i++)
        loads_add(o->job.v[i], row.v, row.n);
    size_t shown = row.n;
    queues_print(o, row.v, row.n);
    vec_done(&row);
    if (!lsf_words_known(o, lsf_is_queue, "No such queue", e))
        return false;
    if (!shown && usable && !o->words)
        return err_set(e, ERR_NOT_FOUND, "%s: User cannot use any queue", o->user);
    return shown || err_set(e, ERR_NOT_FOUND, "%s: No such queue", o->words ? o->words : "none");
}

/* ---- the cluster ---- */

static bool id_show(struct lsf_overview *o, struct err *e)
{
    struct dialect_site site = submit_site(state_dir_find(NULL, o->a), o->a);
    str_addf(&o->out, LSF_VERSION_TEXT "\n\nMy cluster name is %s\nMy master name is %s\n",
             site.cluster ? site.cluster : "unknown", submit_hostname(o->a));
    return true;
}

/* ---- the commands ---- */

static bool format_read(struct lsf_overview *o, const struct lsf_fields *f, struct err *e)
{
    if (!o->format_text)
        return !o->json || err_set(e, ERR_VALUE, "-json goes with -o");
    return lsf_format_parse(f, o->format_text, o->a, &o->format, e);
}

static int run(struct lsf_overview *o, const struct lsf_fields *f,
               bool (*show)(struct lsf_overview *o, struct err *e))
{
    struct err e = {0};
    if (!format_read(o, f, &e))
        return lsf_line_failed(o->name, &e);
    o->client = lsf_connect(o->name, state_dir_find(NULL, o->a));
    if (!o->client)
        return LSF_EXIT;
    bool ok = show(o, &e);
    if (!ok)
        fprintf(stderr, "%s\n", e.text);
    listing_flush(&o->out);
    client_close(o->client);
    return ok ? 0 : LSF_EXIT;
}

int lsf_overview_run(const char *name, const struct option_table *t, const struct lsf_fields *f,
                     bool (*show)(struct lsf_overview *o, struct err *e), int argc, char **argv)
{
    struct lsf_overview o = {.name = name, .a = arena_new()};
    int status;
    if (lsf_line_read(name, t, &o, o.a, argc, argv, &status))
        status = run(&o, f, show);
    lsf_format_done(&o.format);
    vec_done(&o.queue);
    vec_done(&o.node);
    vec_done(&o.job);
    str_done(&o.out);
    arena_free(o.a);
    return status;
}

int cmd_bqueues(int argc, char **argv)
{
    return lsf_overview_run("bqueues", &bqueues_options, &queue_fields, queues_show, argc, argv);
}

int cmd_lsid(int argc, char **argv)
{
    return lsf_overview_run("lsid", &lsid_options, NULL, id_show, argc, argv);
}
