/* scontrol's actions on jobs: hold, uhold, release, requeue, requeuehold, suspend, resume, top;
 * wait_job, write batch_script, completing. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/listing.h"
#include "model/job/array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct action_word {
    const char *word;
    enum job_action action;
    const char *what; /* begins a second line of an error, as Slurm's; NULL = there is none */
};

static const struct action_word actions[] = {
    {"hold", ACTION_HOLD, "slurm_suspend"},
    {"holdu", ACTION_UHOLD, "slurm_suspend"},
    {"uhold", ACTION_UHOLD, "slurm_suspend"},
    {"release", ACTION_RELEASE, "slurm_suspend"},
    {"requeue", ACTION_REQUEUE, NULL},
    {"requeuehold", ACTION_REQUEUE_HOLD, NULL},
    {"suspend", ACTION_SUSPEND, NULL},
    {"resume", ACTION_RESUME, NULL},
    {"top", ACTION_TOP, NULL},
};

/* "jobname=NAME" → "name=NAME", as the controller takes it; "jobid=5" → "5". */
static const char *reference(struct scontrol *s, const char *word)
{
    static const char *const names[] = {"jobname=", "name="}, *const ids[] = {"jobid=", "job="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_starts_nocase(word, names[i]))
            return arena_printf(s->a, "name=%s", word + strlen(names[i]));
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        if (text_starts_nocase(word, ids[i]))
            return word + strlen(ids[i]);
    return word;
}

/* The only state of requeuehold. */
static bool state_take(struct scontrol *s, const char *state, struct msg_job_control *m)
{
    m->special_exit = text_is_nocase(state, "SpecialExit");
    if (!m->special_exit)
        scontrol_fail(s, "State=SpecialExit is the only state of requeuehold, not \"%s\"", state);
    return m->special_exit;
}

/* Jobs of a name that nobody has are no mistake of hold and release. */
static bool nobody_has(struct scontrol *s, const char *ids)
{
    struct msg_query q = {.what = QUERY_JOBS, .states = "all"};
    if (!text_starts(ids, "name="))
        return false;
    q.names = ids + strlen("name=");
    return !scontrol_any_job(s, &q);
}

static void action_run(struct scontrol *s, const char *command, int n, char **word)
{
    const struct action_word *w = NULL;
    struct msg_job_control m = {0};
    bool incomplete = false;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (text_is(actions[i].word, command))
            w = &actions[i];
    CHECK(w);
    m.action = w->action;
    bool requeues = w->action == ACTION_REQUEUE || w->action == ACTION_REQUEUE_HOLD;
    for (int i = 0; i < n; i++) {
        if (requeues && text_is_nocase(word[i], "Incomplete"))
            incomplete = true;
        else if (w->action != ACTION_REQUEUE_HOLD || !text_starts_nocase(word[i], "State="))
            m.ids = listing_join(m.ids, reference(s, word[i]), s->a);
        else if (!state_take(s, word[i] + strlen("State="), &m))
            return;
    }
    struct msg_query going = {.what = QUERY_JOBS, .ids = m.ids, .states = "RUNNING,SUSPENDED"};
    struct msg_query known = {.what = QUERY_JOBS, .ids = m.ids, .states = "all"};
    if (m.ids && incomplete && scontrol_any_job(s, &known)) /* else they are refused */
        m.ids = scontrol_job_labels(s, &going);
    program_finish_first();
    if (m.ids && !(w->what && nobody_has(s, m.ids)))
        scontrol_change_jobs(s, MSG_JOB_CONTROL, &m, m.ids, w->what);
}

#define ACTION(name)                                                                               \
    void scontrol_##name(struct scontrol *s, int n, char **word)                                   \
    {                                                                                              \
        action_run(s, #name, n, word);                                                             \
    }
ACTION(hold)
ACTION(holdu)
ACTION(uhold)
ACTION(release)
ACTION(requeue)
ACTION(requeuehold)
ACTION(suspend)
ACTION(resume)
ACTION(top)

/* notify JOB WORD…: the words make one line. */
void scontrol_notify(struct scontrol *s, int n, char **word)
{
    struct msg_job_control m = {.action = ACTION_NOTIFY};
    struct message answer;
    struct err err = {0};
    struct str text = STR_INIT;
    uint64_t id;
    if (!text_to_u64(word[0], UINT64_MAX, &id)) {
        scontrol_refuse(s, "Invalid job_id %s", word[0]);
        return;
    }
    for (int i = 1; i < n; i++)
        str_addf(&text, "%s%s", i > 1 ? " " : "", word[i]);
    m.ids = word[0];
    m.text = str_text(&text);
    if (!scontrol_connect(s, "job notify failure")) {
        str_done(&text);
        return;
    }
    const struct msg_done *done =
        client_call(s->client, MSG_JOB_CONTROL, &m, 0, s->a, &answer, &err) ? answer.body : NULL;
    str_done(&text);
    if (!done)
        scontrol_fail(s, "%s", err.text);
    else if (done->refusal != REFUSE_NONE)
        scontrol_refuse(s, "job notify failure: %s", refusal_text((enum refusal)done->refusal));
}

/* ---- one job -------------------------------------------------------------------------------- */

static bool id_take(struct scontrol *s, const char *text, uint64_t *ret)
{
    struct job_ref ref;
    struct err err = {0};
    if (!job_ref_parse(text, &ref, &err)) {
        scontrol_refuse(s, "job script retrieval failed: Invalid job id specified");
        return false;
    }
    *ret = ref.job_id;
    job_ref_done(&ref);
    return true;
}

struct readiness {
    bool known, started, waits;
};

static void readiness_note(void *ctx, const void *record)
{
    struct readiness *r = ctx;
    const struct job *j = record;
    r->known = true;
    r->started |= j->state == JOB_RUNNING || j->state == JOB_SUSPENDED;
    r->waits |= j->state == JOB_PENDING || j->state == JOB_REQUEUED || j->state == JOB_SPECIAL_EXIT;
}

static void wait_say(struct scontrol *s, const struct readiness *r, const char *id)
{
    if (r->started && !s->quiet)
        fprintf(stderr, "scontrol: Nodes are ready for job %s\n", id);
    else if (!r->started && r->known)
        scontrol_refuse(s, "scontrol: Job %s no longer running", id);
    else if (!r->started)
        scontrol_refuse(s, "scontrol: Problem running job %s", id);
}

/* Until it has started (a job that runs is ready: 0), or is over (1). A script may ask this about
 * its own job, so it must not wait for the end. */
void scontrol_wait_job(struct scontrol *s, int n, char **word)
{
    struct timespec pause = {.tv_nsec = 50000000L};
    uint64_t id;
    (void)n;
    if (!text_to_u64(word[0], UINT64_MAX, &id)) {
        scontrol_refuse(s, "Invalid job_id %s", word[0]);
        return;
    }
    for (;;) {
        struct readiness r = {0};
        struct msg_query q = {
            .what = QUERY_JOBS, .ids = word[0], .states = "all", .fields = "id,state"};
        struct msg_done done = {0};
        struct err err = {0};
        struct client *c = scontrol_connect(s, "slurm_load_jobs error");
        if (!c)
            return;
        if (!client_query(c, &q, &job_fields, s->a, readiness_note, &r, &done, &err)) {
            scontrol_fail(s, "slurm_load_jobs error: %s", err.text);
            return;
        }
        if (r.started || !r.waits) {
            wait_say(s, &r, word[0]);
            return;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 800000000L)
            pause.tv_nsec *= 2;
    }
}

/* Who looks at a stranger's job, perhaps root, writes what the stranger wrote: not where he has
 * laid a link. */
static bool script_save(const struct msg_script *script, const char *path, bool named)
{
    if (text_is(path, "-"))
        return foreign_out(script->script.data, script->script.len);
    return file_rewrite(path, named, script->script.data, script->script.len);
}

/* write batch_script ID [FILE|-] */
void scontrol_write(struct scontrol *s, int n, char **word)
{
    struct msg_get_script m = {0};
    struct message answer;
    struct err err = {0};
    if (text_starts_nocase("config", word[0])) {
        scontrol_write_config(s, n > 1 ? word[1] : NULL);
        return;
    }
    if (!text_starts_nocase("batch_script", word[0])) {
        scontrol_refuse(s, "invalid write argument:%s", word[0]);
        scontrol_fail(
            s, "write batch_script JOB [FILE|-] and write config [FILE] are what can be written");
        return;
    }
    if (n < 2) {
        scontrol_refuse(s, "too few arguments for keyword:write");
        return;
    }
    if (!id_take(s, word[1], &m.job_id) || !scontrol_connect(s, "job script retrieval failed"))
        return;
    if (!client_call(s->client, MSG_GET_SCRIPT, &m, 0, s->a, &answer, &err)) {
        scontrol_fail(s, "job script retrieval failed: %s", err.text);
        return;
    }
    if (answer.kind != MSG_SCRIPT) {
        scontrol_refuse(
            s, "job script retrieval failed: %s",
            refusal_text((enum refusal)((const struct msg_done *)answer.body)->refusal));
        return;
    }
    const char *path =
        n > 2 ? word[2] : arena_printf(s->a, "slurm-%llu.sh", (unsigned long long)m.job_id);
    if (!script_save(answer.body, path, n > 2))
        scontrol_fail(s, "cannot write %s: %s", path, strerror(errno));
    else if (!text_is(path, "-") && !s->quiet)
        printf("batch script for job %llu written to %s\n", (unsigned long long)m.job_id, path);
}

/* ---- completing ----------------------------------------------------------------------------- */

static void completing_print(void *ctx, const void *record)
{
    const struct cell_env *env = ctx;
    const struct job *j = record;
    struct str line = STR_INIT;
    str_addf(&line, "JobId=%llu EndTime=", (unsigned long long)j->id);
    cell_time(env, j->end_us, "Unknown", &line);
    str_add(&line, " CompletingTime=");
    duration_format(j->end_us && env->now_us > j->end_us ? env->now_us - j->end_us : 0, &line);
    str_addf(&line, " Nodes(COMPLETING)=%s\n", j->nodes ? j->nodes : "");
    listing_flush(&line);
    str_done(&line);
}

void scontrol_completing(struct scontrol *s, int n, char **word)
{
    struct msg_query q = {
        .what = QUERY_JOBS, .states = "COMPLETING", .fields = "id,end_us,nodes,state"};
    struct cell_env env = listing_env();
    struct msg_done done = {0};
    struct err err = {0};
    struct client *c = scontrol_connect(s, "slurm_load_jobs error");
    (void)n;
    (void)word;
    if (c && !client_query(c, &q, &job_fields, s->a, completing_print, &env, &done, &err))
        scontrol_fail(s, "slurm_load_jobs error: %s", err.text);
}
