/* qdel, qhold, qrls, qsig, qrerun, qmove, qmsg: what is done to jobs; silent where it works. */
#include "cli/pbs/qcontrol.h"
#include "base/alloc.h"
#include "cli/lsf/refusal_words.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "model/grammar/signals.h"

#include <stdio.h>
#include <string.h>

bool qcontrol_word(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct qcontrol *q = to;
    if (q->takes_first && !q->first)
        q->first = arena_strdup(a, word);
    else if (!pbs_operand(word, a))
        return err_set(ret_err, ERR_VALUE, "illegally formed job identifier: %s", word);
    else
        vec_push(&q->id, arena_strdup(a, word));
    return true;
}

SETTER(qcontrol_elements)
{
    struct qcontrol *q = to;
    (void)row;
    q->elements = arena_strdup(a, value);
    return pbs_operand(arena_printf(a, "1[%s]", value), a) != NULL ||
           err_set(ret_err, ERR_VALUE, "illegal -t value: %s; elements are needed: 1-3,7", value);
}

/* "12[].server" and "12" become "12[1-3].server" and "12[1-3]"; an element stays what it is. */
static const char *elements_of(const struct qcontrol *q, const char *id)
{
    size_t digits = strspn(id, "0123456789");
    const char *rest = strncmp(id + digits, "[]", 2) == 0 ? id + digits + 2 : id + digits;
    if (!q->elements || *rest == '[')
        return id;
    return arena_printf(q->a, "%.*s[%s]%s", (int)digits, id, q->elements, rest);
}

static SETTER(set_hold)
{
    *(const char **)((char *)to + row->at) = arena_strdup(a, value);
    return (*value && strspn(value, "uosnp") == strlen(value)) ||
           err_set(ret_err, ERR_VALUE, "illegal -h value: %s; u, o, s, p and n are allowed", value);
}

#define COMMON                                                                                     \
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),                                           \
        OPT_ACCEPTED("version", 0, ARG_NONE, "show the version")
static const struct option_row rows[] = {COMMON};
static const struct option_row del_rows[] = {
    COMMON,
    OPT_ACCEPTED("W", 0, ARG_REQUIRED,
                 "force: at once (a job goes KillWait after SIGTERM at most)"),
    OPT_REFUSED("m", 0, ARG_REQUIRED, "a text with the mail", "scontrol notify tells the job"),
    OPT_ACCEPTED("p", 0, ARG_NONE, "purge (the same as without)"),
    {.name = "t",
     .arg = ARG_REQUIRED,
     .metavar = "list",
     .doc = "these elements of the arrays (Torque): 1-3,7",
     .set = qcontrol_elements},
    {.name = "x",
     .doc = "jobs that are over, too: their history is kept, which is said",
     .set = set_flag,
     .at = offsetof(struct qcontrol, over)},
};
static const struct option_row hold_rows[] = {
    COMMON,
    {.name = "h",
     .arg = ARG_REQUIRED,
     .metavar = "uosnp",
     .doc = "u, o, s: which hold (each is the user's); n: none",
     .set = set_hold,
     .at = offsetof(struct qcontrol, hold)},
    {.name = "t",
     .arg = ARG_REQUIRED,
     .metavar = "list",
     .doc = "these elements of the arrays (Torque): 1-3,7",
     .set = qcontrol_elements},
};
static const struct option_row signal_rows[] = {
    COMMON,
    {.name = "s",
     .arg = ARG_REQUIRED,
     .metavar = "signal",
     .doc = "signal; suspend, resume",
     .set = set_text,
     .at = offsetof(struct qcontrol, signal)},
};
static const struct option_row rerun_rows[] = {
    COMMON,
    OPT_ACCEPTED("W", 0, ARG_REQUIRED, "force (always so)"),
};
static const struct option_row message_rows[] = {
    COMMON,
    {.name = "E",
     .doc = "to its error file (so without -O)",
     .set = set_flag,
     .at = offsetof(struct qcontrol, to_error)},
    {.name = "O",
     .doc = "to its output file",
     .set = set_flag,
     .at = offsetof(struct qcontrol, to_output)},
};
#define TABLE(name, rows_, words_)                                                                 \
    OPTION_TABLE(name##_options, rows_, .usage = #name " [OPTIONS] " words_, .words = WORDS_MIXED, \
                 .word = qcontrol_word, .one_dash = true, .letters_attach = true)
TABLE(qdel, del_rows, "job_id …");
TABLE(qhold, hold_rows, "job_id …");
TABLE(qrls, hold_rows, "job_id …");
TABLE(qsig, signal_rows, "job_id …");
TABLE(qrerun, rerun_rows, "job_id …");
TABLE(qmove, rows, "queue job_id …");
TABLE(qmsg, message_rows, "text job_id …");

/* ---- one job ---- */

/* As PBS prints it, whatever form it was given in. */
static const char *full_id(const struct qcontrol *q, const char *id)
{
    return strpbrk(id, ".@") ? id : arena_printf(q->a, "%s.%s", id, pbs_server(q->site));
}

int qcontrol_problem(const struct qcontrol *q, const char *words, const char *id, int status)
{
    fprintf(stderr, "%s: %s %s\n", q->name, words, full_id(q, id));
    return status;
}

static int refused(const struct qcontrol *q, const char *id, enum refusal refusal,
                   const char *detail)
{
    if (refusal == REFUSE_ACCESS_DENIED)
        return qcontrol_problem(q, "Unauthorized Request ", id, PBS_DENIED);
    if (refusal == REFUSE_INVALID_PARTITION)
        return qcontrol_problem(q, "Unknown queue", id, PBS_UNKNOWN_QUEUE);
    qcontrol_problem(q, "Request invalid for state of job", id, 0);
    fprintf(stderr, "%s: %s\n", q->name, text_empty(detail) ? refusal_text(refusal) : detail);
    return PBS_BAD_STATE;
}

int qcontrol_ask(const struct qcontrol *q, const char *id, enum message_kind kind, const void *body)
{
    struct message answer;
    struct err e = {0};
    if (!client_call(q->client, kind, body, 0, q->a, &answer, &e)) {
        fprintf(stderr, "%s: %s\n", q->name, e.text);
        return PBS_NO_CONTROLLER;
    }
    const struct msg_done *done = answer.body;
    const struct result *failed = lsf_result_failed(done);
    if (failed)
        return refused(q, id, (enum refusal)failed->refusal, failed->detail);
    return done->refusal ? refused(q, id, (enum refusal)done->refusal, done->detail) : 0;
}

static int control(const struct qcontrol *q, const char *id, enum job_action action)
{
    const char *ref = lsf_job_ref(pbs_operand(id, q->a), q->a);
    struct msg_job_control m = {.action = action, .ids = ref};
    return qcontrol_ask(q, id, MSG_JOB_CONTROL, &m);
}

static int cancel(const struct qcontrol *q, const char *id, int signo)
{
    struct msg_cancel m = {.ids = lsf_job_ref(pbs_operand(id, q->a), q->a), .signal = signo};
    return qcontrol_ask(q, id, MSG_CANCEL, &m);
}

static int del_one(const struct qcontrol *q, const char *id)
{
    return cancel(q, id, 0);
}

static int hold_one(const struct qcontrol *q, const char *id)
{
    if (text_is(q->hold, "n"))
        return 0;
    return control(q, id, ACTION_UHOLD);
}

static int rls_one(const struct qcontrol *q, const char *id)
{
    if (text_is(q->hold, "n"))
        return 0;
    return control(q, id, ACTION_RELEASE);
}

static int not_running(const struct qcontrol *q, const char *id)
{
    return qcontrol_problem(q, "Request invalid for state of job", id, PBS_BAD_STATE);
}

static int sig_one(const struct qcontrol *q, const char *id)
{
    int signo = 15;
    if (text_is(q->signal, "suspend"))
        return control(q, id, ACTION_SUSPEND);
    if (text_is(q->signal, "resume"))
        return control(q, id, ACTION_RESUME);
    if (q->signal && (!signal_parse(q->signal, &signo) || signo <= 0))
        return qcontrol_problem(q, arena_printf(q->a, "unknown signal name %s", q->signal), id,
                                PBS_USAGE);
    return q->pending ? not_running(q, id) : cancel(q, id, signo);
}

static int rerun_one(const struct qcontrol *q, const char *id)
{
    return q->pending ? not_running(q, id) : control(q, id, ACTION_REQUEUE);
}

static int move_one(const struct qcontrol *q, const char *id)
{
    struct job_spec values = {.req.partition =
                                  arena_strndup(q->a, q->first, strcspn(q->first, "@"))};
    struct msg_update_job m = {.ids = lsf_job_ref(pbs_operand(id, q->a), q->a),
                               .fields = "partition",
                               .values = {&values, 1}};
    return qcontrol_ask(q, id, MSG_UPDATE_JOB, &m);
}

static int msg_one(const struct qcontrol *q, const char *id)
{
    const char *ref = lsf_job_ref(pbs_operand(id, q->a), q->a);
    struct msg_job_control m = {.action = ACTION_NOTIFY, .ids = ref, .text = q->first};
    m.streams = (q->to_error ? NOTIFY_ERROR : 0u) | (q->to_output ? NOTIFY_OUTPUT : 0u);
    return qcontrol_ask(q, id, MSG_JOB_CONTROL, &m);
}

#define OVER_ALREADY (-1) /* and that is all right */

/* Is there such a job, and is it not over? Else what to end with, which is said. */
static int look(struct qcontrol *q, const char *id)
{
    struct lsf_filter one = {0};
    struct lsf_job_list l = {0};
    struct err e = {0};
    bool over = true;
    vec_push(&one.ids, pbs_operand(id, q->a));
    bool ok = lsf_jobs_read(q->client, &one, q->a, &l, &e);
    q->pending = true;
    for (size_t i = 0; i < l.job.n; i++) {
        over = over && lsf_job_is_over(l.job.v[i]);
        q->pending = q->pending && lsf_job_is_pending(l.job.v[i]);
    }
    size_t n = l.job.n;
    lsf_filter_done(&one);
    lsf_job_list_done(&l);
    if (!ok || !n)
        return qcontrol_problem(q, q->site->torque ? "Unknown Job Id Error" : "Unknown Job Id", id,
                                PBS_UNKNOWN_JOB);
    if (over && q->over)
        return qcontrol_problem(q, "-x: the history is kept of", id, 0), OVER_ALREADY;
    return over ? qcontrol_problem(q, "Job has finished", id, PBS_FINISHED) : 0;
}

int qcontrol_line(struct qcontrol *q, const struct option_table *t, void *to, int argc, char **argv,
                  qcontrol_deed one)
{
    int status;
    if (!pbs_line_read(q->name, t, to, q->a, argc, argv, &status))
        return status;
    if (!q->id.n) {
        fprintf(stderr, "usage: %s\n", t->usage);
        return PBS_USAGE;
    }
    q->client = pbs_connect(q->name, state_dir_find(NULL, q->a));
    if (!q->client)
        return PBS_NO_CONTROLLER;
    for (size_t i = 0; i < q->id.n; i++) {
        const char *id = elements_of(q, q->id.v[i]);
        int found = look(q, id);
        int ended = found == OVER_ALREADY ? 0 : found ? found : one(q, id);
        status = ended ? ended : status;
    }
    client_close(q->client);
    return status;
}

static int command_run(const char *name, const struct option_table *t, bool takes_first,
                       qcontrol_deed one, int argc, char **argv)
{
    struct arena *a = arena_new();
    struct dialect_site site = pbs_site(state_dir_find(NULL, a), a);
    struct qcontrol q = {.name = name, .a = a, .takes_first = takes_first, .site = &site};
    int status = qcontrol_line(&q, t, &q, argc, argv, one);
    vec_done(&q.id);
    arena_free(a);
    return status;
}

#define COMMAND(name, takes_first, one)                                                            \
    int cmd_##name(int argc, char **argv)                                                          \
    {                                                                                              \
        return command_run(#name, &name##_options, takes_first, one, argc, argv);                  \
    }
COMMAND(qdel, false, del_one)
COMMAND(qhold, false, hold_one)
COMMAND(qrls, false, rls_one)
COMMAND(qsig, false, sig_one)
COMMAND(qrerun, false, rerun_one)
COMMAND(qmove, true, move_one)
COMMAND(qmsg, true, msg_one)
