/* bkill, bstop, bresume, brequeue, bswitch, btop, bbot: what is done to jobs, one after the other,
 * with a line about each as LSF says it. */
#include "cli/lsf/control.h"

#include "base/alloc.h"
#include "cli/lsf/refusal_words.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "model/grammar/signals.h"
#include "model/job/array.h"
#include "model/job/job_counts.h"
#include "model/limits.h"

#include <stdio.h>
#include <string.h>

/* "0" is every job that the filters mean. */
bool lsf_control_id_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lsf_control *k = to;
    if (text_is(word, "0")) {
        k->every = true;
        return true;
    }
    return lsf_id_take(to, word, a, ret_err);
}

/* bswitch QUEUE JOB … */
static bool queue_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lsf_control *k = to;
    if (k->queue)
        return lsf_control_id_take(to, word, a, ret_err);
    k->queue = arena_strdup(a, word);
    return true;
}

/* btop JOB [POSITION]: of positions only the first is there, as jobs go before or behind all one's
 * others. */
static bool place_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lsf_control *k = to;
    if (!k->filter.ids.n)
        return lsf_control_id_take(to, word, a, ret_err);
    return text_is(word, "1") ||
           err_set(ret_err, ERR_UNSUPPORTED,
                   "position %.20s is not supported: a job goes before or behind all of one's "
                   "others, which is position 1",
                   word);
}

static SETTER(set_signal)
{
    struct lsf_control *k = to;
    return (signal_parse(value, &k->signal) && k->signal > 0) ||
           err_set(ret_err, ERR_VALUE, "%s: Unknown signal", value);
}

#define AT(member) offsetof(struct lsf_control, member)
#define FILTERS                                                                                    \
    {.name = "J",                                                                                  \
     .arg = ARG_REQUIRED,                                                                          \
     .metavar = "name",                                                                            \
     .doc = "jobs of this name",                                                                   \
     .set = set_text,                                                                              \
     .at = AT(filter.name)},                                                                       \
        {.name = "P",                                                                              \
         .arg = ARG_REQUIRED,                                                                      \
         .metavar = "project",                                                                     \
         .doc = "jobs of this project",                                                            \
         .set = set_text,                                                                          \
         .at = AT(filter.project)},                                                                \
        OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),                                        \
        {.name = "g",                                                                              \
         .arg = ARG_REQUIRED,                                                                      \
         .metavar = "group",                                                                       \
         .doc = "jobs of this group, and of those below it",                                       \
         .set = set_text,                                                                          \
         .at = AT(filter.group)},                                                                  \
        {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},               \
        {.name = "m",                                                                              \
         .arg = ARG_REQUIRED,                                                                      \
         .metavar = "host",                                                                        \
         .doc = "jobs on this host",                                                               \
         .set = set_text,                                                                          \
         .at = AT(filter.host)},                                                                   \
        {.name = "q",                                                                              \
         .arg = ARG_REQUIRED,                                                                      \
         .metavar = "queue",                                                                       \
         .doc = "jobs of this queue",                                                              \
         .set = set_text,                                                                          \
         .at = AT(filter.queue)},                                                                  \
    {                                                                                              \
        .name = "u", .arg = ARG_REQUIRED, .metavar = "user", .doc = "jobs of this user; all",      \
        .set = set_text, .at = AT(filter.users)                                                    \
    }

static const struct option_row kill_rows[] = {
    FILTERS,
    OPT_ACCEPTED("b", 0, ARG_NONE, "many at once (always so)"),
    OPT_NO_EFFECT("d", 0, ARG_NONE, "count them as done: they are cancelled jobs all the same"),
    OPT_ACCEPTED("r", 0, ARG_NONE, "without waiting for its host (always so)"),
    {.name = "s",
     .arg = ARG_REQUIRED,
     .metavar = "signal",
     .doc = "send this signal instead of ending them",
     .set = set_signal},
};
static const struct option_row rows[] = {FILTERS};
#define JOBS "[OPTIONS] job_ID | \"job_ID[index]\" | 0 …"
OPTION_TABLE(bkill_options, kill_rows, .usage = "bkill " JOBS, .words = WORDS_MIXED,
             .word = lsf_control_id_take, .one_dash = true);
OPTION_TABLE(bstop_options, rows, .usage = "bstop " JOBS, .words = WORDS_MIXED,
             .word = lsf_control_id_take, .one_dash = true);
OPTION_TABLE(bresume_options, rows, .usage = "bresume " JOBS, .words = WORDS_MIXED,
             .word = lsf_control_id_take, .one_dash = true);
OPTION_TABLE(brequeue_options, rows, .usage = "brequeue " JOBS, .words = WORDS_MIXED,
             .word = lsf_control_id_take, .one_dash = true);
OPTION_TABLE(bswitch_options, rows, .usage = "bswitch [OPTIONS] queue job_ID …",
             .words = WORDS_MIXED, .word = queue_take, .one_dash = true);
OPTION_TABLE(btop_options, rows, .usage = "btop [OPTIONS] job_ID [1]", .words = WORDS_MIXED,
             .word = place_take, .one_dash = true);
OPTION_TABLE(bbot_options, rows, .usage = "bbot [OPTIONS] job_ID [1]", .words = WORDS_MIXED,
             .word = place_take, .one_dash = true);

/* ---- answers ---- */

bool lsf_control_problem(const char *id, const char *words)
{
    fprintf(stderr, "Job <%s>: %s\n", id, words);
    return false;
}

static bool refused(const struct lsf_control *k, const char *id, enum refusal refusal,
                    const char *detail)
{
    struct lsf_job_list l = {0};
    struct lsf_filter one = {0};
    struct err e = {0};
    bool ended = refusal == REFUSE_ALREADY_DONE || refusal == REFUSE_JOB_FINISHED;
    if (refusal == REFUSE_INVALID_JOB_ID) { /* it may have ended so long ago that it is history */
        vec_push(&one.ids, id);
        ended = lsf_jobs_read(k->client, &one, k->a, &l, &e) && l.job.n;
        lsf_filter_done(&one);
        lsf_job_list_done(&l);
    }
    if (ended)
        return lsf_control_problem(id, "Job has already finished");
    if (refusal == REFUSE_INVALID_JOB_ID)
        return lsf_control_problem(id, "No matching job found");
    lsf_control_problem(id, refusal == REFUSE_ACCESS_DENIED       ? "User permission denied"
                            : refusal == REFUSE_INVALID_PARTITION ? "No such queue"
                                                                  : refusal_text(refusal));
    if (!text_empty(detail))
        fprintf(stderr, "%s: %s\n", k->name, detail);
    return false;
}

bool lsf_control_ask(const struct lsf_control *k, const char *id, enum message_kind kind,
                     const void *body)
{
    struct message answer;
    struct err e = {0};
    if (!client_call(k->client, kind, body, 0, k->a, &answer, &e))
        return lsf_control_problem(id, e.text);
    const struct msg_done *done = answer.body;
    const struct result *failed = lsf_result_failed(done);
    if (failed)
        return refused(k, id, (enum refusal)failed->refusal, failed->detail);
    return done->refusal == REFUSE_NONE ||
           refused(k, id, (enum refusal)done->refusal, done->detail);
}

static bool control(const struct lsf_control *k, const char *id, enum job_action action)
{
    struct msg_job_control m = {.action = action, .ids = lsf_job_ref(id, k->a)};
    return lsf_control_ask(k, id, MSG_JOB_CONTROL, &m);
}

const struct job *lsf_control_job(const struct lsf_control *k, const char *id)
{
    struct lsf_filter one = {0};
    struct lsf_job_list l = {0};
    struct err e = {0};
    vec_push(&one.ids, id);
    bool ok = lsf_jobs_read(k->client, &one, k->a, &l, &e);
    const struct job *j = ok && l.job.n ? l.job.v[0] : NULL;
    lsf_filter_done(&one);
    lsf_job_list_done(&l);
    if (!j)
        lsf_control_problem(id, ok ? "No matching job found" : e.text);
    return j;
}

/* ---- what is done to one job ---- */

#define ELEMENTS_SHOWN 1000 /* of very many the words of the user do */

/* "12[1-3]" names elements: a line for each of them, as LSF has it. */
void lsf_done_print(const char *id, const char *what)
{
    const char *open = strchr(id, '[');
    size_t len = open ? strlen(open) : 0;
    struct idset set = IDSET_INIT;
    char list[256];
    bool named = len > 2 && len < sizeof list;
    uint32_t at;
    if (named) {
        memcpy(list, open + 1, len - 2);
        list[len - 2] = 0;
    }
    if (named && idset_parse(&set, list, UINT32_MAX - 2, NULL) && set.count <= ELEMENTS_SHOWN)
        for (bool more = idset_first(&set, &at); more; more = idset_next(&set, at, &at))
            printf("Job <%.*s[%u]> is being %s\n", (int)(open - id), id, at, what);
    else
        printf("Job <%s> is being %s\n", id, what);
    idset_done(&set);
}

static bool all_over(const struct lsf_control *k, const char *id)
{
    struct lsf_filter wanted = {0};
    struct lsf_job_list l = {0};
    struct err e = {0};
    vec_push(&wanted.ids, id);
    bool over = lsf_jobs_read(k->client, &wanted, k->a, &l, &e) && l.job.n > 0;
    for (size_t i = 0; over && i < l.job.n; i++)
        over = lsf_job_is_over(l.job.v[i]);
    lsf_filter_done(&wanted);
    lsf_job_list_done(&l);
    return over;
}

static bool kill_one(const struct lsf_control *k, const char *id)
{
    struct msg_cancel m = {.ids = lsf_job_ref(id, k->a), .signal = k->signal};
    const struct job *j = lsf_control_job(k, id);
    if (!j)
        return false;
    if (lsf_job_is_over(j) && all_over(k, id))
        return lsf_control_problem(id, "Job has already finished");
    if (!lsf_control_ask(k, id, MSG_CANCEL, &m))
        return false;
    lsf_done_print(id, k->signal ? "signaled" : "terminated");
    return true;
}

static bool requeue_one(const struct lsf_control *k, const char *id)
{
    if (!control(k, id, ACTION_REQUEUE))
        return false;
    printf("Job <%s> is being requeued \n", id);
    return true;
}

static bool switch_one(const struct lsf_control *k, const char *id)
{
    struct job_spec values = {.req.partition = k->queue};
    struct msg_update_job m = {
        .ids = lsf_job_ref(id, k->a), .fields = "partition", .values = {&values, 1}};
    if (!lsf_control_ask(k, id, MSG_UPDATE_JOB, &m))
        return false;
    printf("Job <%s> is switched to queue <%s>\n", id, k->queue);
    return true;
}

/* ---- which jobs ---- */

/* Adds what is live of the list from `at` on and has one number, which ends before the index that
 * is returned. "12" where all of an array is meant, else "12[1-3,9]", several where there are many:
 * what an element alone has, as its host, does not reach the others. */
static size_t target_add(struct lsf_control *k, const struct lsf_job_list *l, size_t at)
{
    struct idset meant = IDSET_INIT, rest = IDSET_INIT;
    uint64_t number = lsf_job_number(l->job.v[at]);
    const char *whole = arena_printf(k->a, "%llu", (unsigned long long)number), *piece;
    uint32_t index, from = 0;
    bool live = false;
    for (; at < l->job.n && lsf_job_number(l->job.v[at]) == number; at++) {
        const struct job *j = l->job.v[at];
        if (lsf_job_is_over(j)) /* what is ending is listed still */
            continue;
        live = true;
        if (j->array_job_id && j->array_task_id != NO_TASK)
            idset_add(&meant, j->array_task_id);
    }
    for (size_t i = 0; i < l->more.n; i++) /* what waits and is too much for the list */
        if (lsf_job_number(l->more.v[i].job) == number &&
            idset_parse(&rest, l->more.v[i].job->array_pending, UINT32_MAX, NULL))
            for (bool more = idset_first(&rest, &index); more;
                 more = idset_next(&rest, index, &index))
                idset_add(&meant, index);
    if (live && !(meant.count && lsf_job_list_is_part(l, number)))
        vec_push(&k->filter.ids, whole);
    else
        while ((piece = lsf_elements_next(&meant, &from, k->a)))
            vec_push(&k->filter.ids, (const char *)arena_printf(k->a, "%s%s", whole, piece));
    idset_done(&meant);
    idset_done(&rest);
    return at;
}

/* Those that the filters leave, an array once. */
static bool targets_find(struct lsf_control *k, struct err *e)
{
    struct lsf_job_list l = {0};
    bool ok = lsf_jobs_read(k->client, &k->filter, k->a, &l, e);
    for (size_t i = 0; ok && i < l.job.n;)
        i = target_add(k, &l, i);
    lsf_job_list_done(&l);
    return ok;
}

static bool is_filtered(const struct lsf_control *k)
{
    const struct lsf_filter *f = &k->filter;
    return f->name || f->queue || f->host || f->users || f->project || f->group;
}

static int control_run(struct lsf_control *k, lsf_deed one)
{
    struct err e = {0};
    int status = 0;
    if (!k->filter.ids.n && !k->every && !is_filtered(k)) {
        fprintf(stderr, "Job ID or one of the options -J, -g, -q, -m, -u must be specified.\n");
        return LSF_EXIT;
    }
    k->client = lsf_connect(k->name, state_dir_find(NULL, k->a));
    if (!k->client)
        return LSF_EXIT;
    program_finish_first();
    if (!k->filter.ids.n && !targets_find(k, &e)) {
        client_close(k->client);
        return lsf_line_failed(k->name, &e);
    }
    if (!k->filter.ids.n) {
        fprintf(stderr, "No matching job found\n");
        status = LSF_EXIT;
    }
    for (size_t i = 0; i < k->filter.ids.n; i++)
        if (!one(k, k->filter.ids.v[i]))
            status = LSF_EXIT;
    fflush(stdout);
    client_close(k->client);
    return status;
}

int lsf_control_line(struct lsf_control *k, const struct option_table *t, void *to, int argc,
                     char **argv, lsf_deed one)
{
    int status;
    return lsf_line_read(k->name, t, to, k->a, argc, argv, &status) ? control_run(k, one) : status;
}

static int command_run(const char *name, const struct option_table *t, lsf_deed one, int argc,
                       char **argv)
{
    struct lsf_control k = {.name = name, .a = arena_new()};
    int status = lsf_control_line(&k, t, &k, argc, argv, one);
    lsf_filter_done(&k.filter);
    arena_free(k.a);
    return status;
}

#define COMMAND(name, one)                                                                         \
    int cmd_##name(int argc, char **argv)                                                          \
    {                                                                                              \
        return command_run(#name, &name##_options, one, argc, argv);                               \
    }
COMMAND(bkill, kill_one)
COMMAND(bstop, lsf_stop_one)
COMMAND(bresume, lsf_resume_one)
COMMAND(brequeue, requeue_one)
COMMAND(bswitch, switch_one)
COMMAND(btop, lsf_top_one)
COMMAND(bbot, lsf_bottom_one)
