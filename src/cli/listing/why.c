/* remuda why: why jobs wait, when they will start and what would let them start sooner. Of jobs
 * that are over it tells what they waited for; those that left the controller's memory are looked
 * up in the history. */
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/record/why_text.h"
#include "cli/table/json_form.h"
#include "wire/json.h"

#include <stdio.h>
#include <unistd.h>

struct why_asking {
    const char *state_dir;
    enum json_form json;
    bool all, no_advice;
    VEC(const char *) job;
    struct arena *a;
    struct client *client;
    struct str out;
    struct json_out json_out;
    int status;
};

static void show(struct why_asking *k, const struct why *w)
{
    if (k->json)
        json_record(&k->json_out, &why_fields, w);
    else
        why_text(w, time_now_us(), &k->out);
}

/* ---- from the history ---- */

struct why_found {
    struct why_asking *k;
    bool any;
};

static void history_row(void *ctx, const void *record)
{
    struct why_found *f = ctx;
    struct str label = STR_INIT;
    struct why w;
    why_from_history(record, &w, &label);
    show(f->k, &w);
    str_done(&label);
    f->any = true;
}

/* False: nothing was shown; ret_err is set where that is since the past could not be read. */
static bool history_show(struct why_asking *k, const char *job, struct err *ret_err)
{
    struct why_found f = {.k = k};
    struct msg_query q = {.what = QUERY_HISTORY, .ids = job};
    struct msg_done done = {0};
    return client_query(k->client, &q, &job_fields, k->a, history_row, &f, &done, ret_err) &&
           done.refusal == REFUSE_NONE && f.any;
}

/* ---- from the controller ---- */

static bool ask(struct why_asking *k, const struct msg_why *m, struct message *ret,
                struct err *ret_err)
{
    return cluster_ask(k->client, MSG_WHY, m, MSG_EXPLAINED, k->a, ret, ret_err);
}

static void failed(struct why_asking *k, const struct err *e)
{
    program_error("remuda why", "%s", e->text);
    k->status = 1;
}

static void job_show(struct why_asking *k, const char *job)
{
    struct msg_why m = {.ids = job, .no_advice = k->no_advice};
    struct message answer;
    struct err err = {0}, unread = {0};
    if (ask(k, &m, &answer, &err)) {
        const struct msg_explained *e = answer.body;
        for (size_t i = 0; i < e->jobs.n; i++)
            show(k, (const struct why *)e->jobs.v + i);
        if (e->more && !k->json)
            str_addf(&k->out, "%llu further jobs are meant by %s; ask for them one by one\n",
                     (unsigned long long)e->more, job);
    } else if (err.code != ERR_DENIED || !history_show(k, job, &unread)) {
        failed(k, unread.code == ERR_UNAVAILABLE ? &unread : &err);
    }
}

static void list_show(struct why_asking *k)
{
    struct message answer;
    struct msg_why m = {.uids = k->all ? NULL : arena_printf(k->a, "%u", (unsigned)getuid())};
    struct err err = {0};
    if (!ask(k, &m, &answer, &err)) {
        failed(k, &err);
        return;
    }
    const struct msg_explained *e = answer.body;
    if (!k->json && e->jobs.n == 0)
        str_add(&k->out, k->all ? "no job waits\n" : "no job of yours waits\n");
    else if (!k->json)
        why_heading(&k->out);
    for (size_t i = 0; i < e->jobs.n; i++) {
        const struct why *w = (const struct why *)e->jobs.v + i;
        if (k->json)
            json_record(&k->json_out, &why_fields, w);
        else
            why_line(w, time_now_us(), &k->out);
    }
    if (e->more && !k->json)
        str_addf(&k->out, "and %llu more\n", (unsigned long long)e->more);
}

static void answer_all(struct why_asking *k)
{
    if (k->json) {
        json_begin(&k->json_out, &k->out, true);
        json_object(&k->json_out);
        json_key_text(&k->json_out, "schema", "remuda.why/1");
        json_key(&k->json_out, "jobs");
        json_array(&k->json_out);
    }
    if (k->job.n == 0)
        list_show(k);
    for (size_t i = 0; i < k->job.n; i++)
        job_show(k, k->job.v[i]);
    if (k->json) {
        json_array_end(&k->json_out);
        json_object_end(&k->json_out);
    }
    json_form_print(&k->out, k->json);
}

/* ---- the command line ---- */

static bool job_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct why_asking *k = to;
    vec_push(&k->job, word);
    return true;
}

static const struct option_row rows[] = {
    OPT_FLAG("all", 'a', "waiting jobs of all users", offsetof(struct why_asking, all)),
    OWN_JSON(struct why_asking,
             "as JSON, with all of it: a promise to programs (why.md of `remuda docs`)"),
    OPT_FLAG("no-advice", 0, "without what would let a job start sooner, which takes longest",
             offsetof(struct why_asking, no_advice)),
    OWN_STATE(struct why_asking),
    OWN_YAML(struct why_asking),
    OWN_HELP,
};
OPTION_TABLE(why_options, rows, .usage = "remuda why [OPTIONS] [JOB...]",
             .about =
                 "  With JOB: everything that keeps it waiting, its place in the order, its "
                 "planned start and how sure that is,\n"
                 "  and changes with which it would start sooner, each tried by planning it. Of "
                 "a job that runs or is over: what\n"
                 "  it waited for, and how long. Without JOB: your own waiting jobs in short, "
                 "with --all those of all users.\n",
             .words = WORDS_MIXED, .word = job_take);

static int why(struct why_asking *k)
{
    k->client = program_connect("remuda why", state_dir_find(k->state_dir, k->a));
    if (!k->client)
        return 1;
    if (k->json)
        client_keep_texts(k->client, true);
    answer_all(k);
    client_close(k->client);
    return k->status;
}

int cmd_why(int argc, char **argv)
{
    struct why_asking k = {.a = arena_new()};
    struct option_line line = {.table = &why_options, .to = &k, .a = k.a};
    int rc;
    if (own_line_read("remuda why", &line, argc, argv, &rc))
        rc = why(&k);
    str_done(&k.out);
    vec_done(&k.job);
    arena_free(k.a);
    return rc;
}
