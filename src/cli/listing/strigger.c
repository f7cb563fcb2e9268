/* strigger: sets, shows and removes triggers. Words, order of the checks and the table are those of
 * Slurm 22.05; --get shows what fits all that is asked, where that shows more. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/table/listing.h"
#include "model/job/array.h"
#include "model/record/trigger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "strigger"

struct strigger {
    struct arena *a;
    bool set, get, clear;
    bool of_node, no_header, quiet, permanent, has_offset;
    int verbose;
    uint32_t events, id, user_plus1;
    int32_t offset;
    const char *nodes, *job, *program, *clusters;
    size_t found; /* rows that were read */
    size_t shown;
};

/* ---- the command line ---- */

/* The row's `min`: which event. */
static SETTER(event_set)
{
    ((struct strigger *)to)->events |= 1u << row->min;
    return true;
}

static SETTER(node_set)
{
    struct strigger *q = to;
    q->of_node = true;
    q->nodes = value && *value ? arena_strdup(a, value) : q->nodes;
    return true;
}

static SETTER(job_set)
{
    struct job_ref ref = {0};
    struct err err = {0};
    bool ok = job_ref_parse(value, &ref, &err) && ref.job_id && !ref.has_step && !ref.tasks.count;
    job_ref_done(&ref);
    ((struct strigger *)to)->job = arena_strdup(a, value);
    return ok || err_set(ret_err, ERR_INVALID, "Invalid jobid %s", value);
}

static SETTER(offset_set)
{
    struct strigger *q = to;
    int64_t n;
    q->has_offset = true;
    if (!text_to_i64(value, INT32_MIN, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "--offset=%s: it is a number of seconds", value);
    if (n < -TRIGGER_OFFSET_MAX || n > TRIGGER_OFFSET_MAX)
        return err_set(ret_err, ERR_INVALID, "The --offset parameter must be between +/-32000");
    q->offset = (int32_t)n;
    return true;
}

static SETTER(id_set)
{
    uint64_t n;
    if (!text_to_u64(value, UINT32_MAX, &n) || !n)
        return err_set(ret_err, ERR_INVALID, "--id=%s: the number of a trigger is expected", value);
    ((struct strigger *)to)->id = (uint32_t)n;
    return true;
}

static SETTER(user_set)
{
    uint64_t n;
    const struct passwd *known = user_by_name(value);
    if (!known && !text_to_u64(value, UINT32_MAX - 1, &n))
        return err_set(ret_err, ERR_INVALID, "Invalid user %s", value);
    ((struct strigger *)to)->user_plus1 = (known ? known->pw_uid : (uint32_t)n) + 1;
    return true;
}

static SETTER(flags_set)
{
    struct span rest = span_of(value), word;
    while (span_next(&rest, ',', &word)) {
        const char *text = arena_strndup(a, word.data, word.len);
        if (!text_is_nocase(text, "PERM"))
            return err_set(ret_err, ERR_INVALID, "Invalid flags %s", text);
        ((struct strigger *)to)->permanent = true;
    }
    return true;
}

static bool word_pass_over(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return true;
}

#define AT(member) offsetof(struct strigger, member)
#define EVENT(name_, letter_, event_, doc_)                                                        \
    {                                                                                              \
        .name = name_, .letter = letter_, .doc = "event: " doc_, .set = event_set,                 \
        .min = TRIGGER_EVENT_##event_                                                              \
    }
#define ONE_CONTROLLER                                                                             \
    "there is no second controller; the one there is is started again when it fails, and "         \
    "--primary_slurmctld_resumed_operation tells of it"
// clang-format off
static const struct option_row option_rows[] = {
    OPT_FLAG("set", 0, "set a trigger", AT(set)),
    OPT_FLAG("get", 0, "show triggers", AT(get)),
    OPT_FLAG("clear", 0, "remove triggers", AT(clear)),
    OPT_REFUSED("backup_slurmctld_assumed_control", 'C', ARG_NONE, "event: the second controller took over", ONE_CONTROLLER),
    OPT_REFUSED("backup_slurmctld_failure", 'B', ARG_NONE, "event: the second controller failed", ONE_CONTROLLER),
    OPT_REFUSED("backup_slurmctld_resumed_operation", 'c', ARG_NONE, "event: the second controller is back", ONE_CONTROLLER),
    OPT_REFUSED("burst_buffer", 0, ARG_NONE, "event: trouble with a burst buffer", "there are no burst buffers; --node --fail and --drained tell of nodes"),
    EVENT("primary_database_failure", 'h', DATABASE_FAILURE, "the store cannot be written"),
    EVENT("primary_database_resumed_operation", 'H', DATABASE_OPERATION, "the store can be written again"),
    OPT_REFUSED("primary_slurmctld_acct_buffer_full", 'e', ARG_NONE, "event: accounting cannot be sent", "accounting is written by the controller itself, and no buffer of it fills; --primary_database_failure tells when it cannot be written"),
    EVENT("primary_slurmctld_failure", 'a', CONTROLLER_FAILURE, "the controller was killed; told when it is back"),
    EVENT("primary_slurmctld_resumed_control", 'b', CONTROLLER_CONTROL, "the controller has started"),
    EVENT("primary_slurmctld_resumed_operation", 'A', CONTROLLER_OPERATION, "the controller has started"),
    EVENT("primary_slurmdbd_failure", 'g', ACCOUNTING_FAILURE, "the store cannot be written"),
    EVENT("primary_slurmdbd_resumed_operation", 'G', ACCOUNTING_OPERATION, "the store can be written again"),
    EVENT("down", 'd', DOWN, "a node is down"),
    EVENT("drained", 'D', DRAINED, "a node is drained, and no job is left on it"),
    EVENT("draining", 0, DRAINING, "a node is drained: it takes no more jobs"),
    EVENT("fail", 'F', FAIL, "a node is said to be about to fail"),
    OPT_REFUSED("front_end", 0, ARG_NONE, "event: a front end changed", "there are no front ends; --node names nodes"),
    EVENT("idle", 'I', IDLE, "a node has been idle for --offset seconds"),
    {.name = "node", .letter = 'n', .arg = ARG_OPTIONAL, .metavar = "nodes", .doc = "of these nodes; without any, of all", .set = node_set},
    EVENT("reconfig", 'r', RECONFIG, "the configuration was read again"),
    EVENT("resume", 0, RESUME, "a node that was drained takes jobs again"),
    EVENT("up", 'u', UP, "a node that was down is back"),
    EVENT("fini", 'f', FINI, "the job is over"),
    OPT_VALUE("jobid", 'j', "job", "of this job, or of nodes that it has", job_set, 0),
    EVENT("time", 't', TIME, "the job's run reaches its time limit"),
    OPT_VALUE("flags", 0, "flags", "PERM: the trigger stays when it has run", flags_set, 0),
    OPT_VALUE("id", 'i', "number", "the trigger of that number", id_set, 0),
    OPT_VALUE("offset", 'o', "seconds", "after the event; negative: before it", offset_set, 0),
    OPT_VALUE("program", 'p', "path", "what is run on the controller's host, with arguments; what happened to is one more", set_text, AT(program)),
    OPT_VALUE("user", 0, "user", "triggers of this user", user_set, 0),
    OPT_VALUE("clusters", 'M', "cluster", "cluster; only this one is known", set_any_text, AT(clusters), .alias = "cluster"),
    OPT_FLAG("noheader", 'N', "no header line", AT(no_header)),
    OPT_FLAG("quiet", 'Q', "nothing is said of triggers that are not there", AT(quiet)),
    {.name = "verbose", .letter = 'v', .doc = "say more", .set = set_count, .at = AT(verbose)},
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "this text"),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines"),
};
// clang-format on
OPTION_TABLE(strigger_options, option_rows, .usage = "strigger [OPTIONS]", .words = WORDS_MIXED,
             .word = word_pass_over, .letters_equals = true, .refused_shown = true);

static bool program_wrong(struct strigger *q)
{
    struct stat st;
    if (text_empty(q->program))
        return program_error(NAME, "You must specify a --program value"), true;
    if (q->program[0] != '/')
        return program_error(NAME, "The --program value must start with \"/\""), true;
    const char *path = arena_strndup(q->a, q->program, strcspn(q->program, " \t"));
    if (stat(path, &st) != 0)
        return program_error(NAME, "Invalid --program value, file not found"), true;
    if (!S_ISREG(st.st_mode))
        return program_error(NAME, "Invalid --program value, not regular file"), true;
    if (access(path, X_OK) != 0)
        return program_error(NAME, "Invalid --program value, %s: %s", path, strerror(errno)), true;
    return false;
}

/* In Slurm's order. */
static bool line_wrong(struct strigger *q)
{
    if (q->set + q->get + q->clear != 1) {
        program_error(NAME,
                      "You must use exactly one of the following options: --set, --get or --clear");
        return true;
    }
    if (q->clear && !q->id && !q->job && !q->user_plus1) {
        program_error(NAME, "You must specify a --id, --jobid, or --user to clear");
        return true;
    }
    if (q->set && !q->events) {
        struct str all = STR_INIT;
        for (size_t i = 0; i < TRIGGER_EVENT_COUNT; i++)
            str_addf(&all, "%s--%s", i ? ", " : "", trigger_events[i].word);
        program_error(NAME, "You must specify a trigger (%s)", str_text(&all));
        str_done(&all);
        return true;
    }
    if (q->events & TRIGGER_JOB_BITS && !q->job && !q->clear) {
        program_error(NAME, "You must specify a --jobid value");
        return true;
    }
    if (q->set && q->job && q->nodes) {
        program_error(NAME, "--jobid and --node=%s: a trigger is about a job or about nodes",
                      q->nodes);
        return true;
    }
    return q->set && program_wrong(q);
}

/* ---- what is asked of the controller ---- */

static bool done_take(const struct strigger *q, const char *what, bool sent,
                      const struct message *answer, const struct err *e)
{
    const struct msg_done *done = sent && answer->kind == MSG_DONE ? answer->body : NULL;
    if (done && (!done->refusal || (done->refusal == REFUSE_TRIGGER_NONE && q->quiet)))
        return true;
    if (!done) {
        program_error(NAME, "%s", sent ? "the controller gave another answer" : e->text);
        return false;
    }
    fprintf(stderr, "%s: %s\n", what, refusal_text((enum refusal)done->refusal));
    if (!text_empty(done->detail))
        fprintf(stderr, NAME ": %s\n", done->detail);
    return false;
}

static bool set(struct client *c, struct strigger *q)
{
    struct msg_set_trigger m = {.events = q->events,
                                .job = q->job,
                                .nodes = q->nodes,
                                .offset = q->offset,
                                .permanent = q->permanent,
                                .program = q->program};
    struct message answer = {0};
    struct err e = {0};
    bool sent = client_call(c, MSG_SET_TRIGGER, &m, 0, q->a, &answer, &e);
    bool ok = done_take(q, "slurm_set_trigger", sent, &answer, &e);
    if (ok && q->verbose)
        fprintf(stderr, NAME ": trigger %llu set\n",
                (unsigned long long)((const struct msg_done *)answer.body)->count);
    return ok;
}

static bool clear(struct client *c, struct strigger *q)
{
    struct msg_clear_trigger m = {.id = q->id, .job = q->job, .user_plus1 = q->user_plus1};
    struct message answer = {0};
    struct err e = {0};
    bool sent = client_call(c, MSG_CLEAR_TRIGGER, &m, 0, q->a, &answer, &e);
    return done_take(q, "slurm_clear_trigger", sent, &answer, &e);
}

/* ---- the table ---- */

static enum trigger_about about_of(const struct trigger *t)
{
    if (t->job_id)
        return TRIGGER_JOB;
    for (size_t i = 0; i < TRIGGER_EVENT_COUNT; i++)
        if (t->events >> i & 1)
            return trigger_events[i].about;
    return TRIGGER_NODE;
}

static bool shares_node(const char *mine, const char *asked)
{
    struct hostlist a = HOSTLIST_INIT, b = HOSTLIST_INIT;
    bool found = !mine;
    if (mine && hostlist_parse(&a, mine, NULL) && hostlist_parse(&b, asked, NULL))
        for (size_t i = 0; i < b.n && !found; i++)
            found = hostlist_has(&a, b.name[i]);
    hostlist_done(&a);
    hostlist_done(&b);
    return found;
}

static bool is_of_job(const struct strigger *q, const struct trigger *t)
{
    struct job_ref ref = {0};
    bool parsed = job_ref_parse(q->job, &ref, NULL);
    uint64_t job = ref.job_id + (ref.het_offset > 0 ? (uint64_t)ref.het_offset : 0);
    bool is =
        parsed && t->job_id == job && (ref.task_id == NO_TASK || t->task_plus1 == ref.task_id + 1);
    job_ref_done(&ref);
    return is;
}

static bool is_asked(const struct strigger *q, const struct trigger *t)
{
    return (!q->events || t->events & q->events) && (!q->id || t->id == q->id) &&
           (!q->user_plus1 || t->user_id == q->user_plus1 - 1) &&
           (!q->has_offset || t->offset == q->offset) && (!q->permanent || t->permanent) &&
           (!q->program || text_is(q->program, t->program)) && (!q->job || is_of_job(q, t)) &&
           (!q->of_node || about_of(t) == TRIGGER_NODE) &&
           (!q->nodes || shares_node(t->nodes, q->nodes));
}

static void row_print(void *ctx, const void *record)
{
    static const char *const kind[] = {[TRIGGER_NODE] = "node",
                                       [TRIGGER_JOB] = "job",
                                       [TRIGGER_CONTROLLER] = "slurmctld",
                                       [TRIGGER_ACCOUNTING] = "slurmdbd",
                                       [TRIGGER_DATABASE] = "database"};
    struct strigger *q = ctx;
    const struct trigger *t = record;
    struct str events = STR_INIT;
    const char *of = t->nodes ? t->nodes : "*";
    q->found++;
    if (!is_asked(q, t))
        return;
    if (t->task_plus1)
        of = arena_printf(q->a, "%llu_%u", (unsigned long long)t->job_id, t->task_plus1 - 1);
    else if (t->job_id)
        of = arena_printf(q->a, "%llu", (unsigned long long)t->job_id);
    if (!q->shown++ && !q->no_header)
        puts("TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS "
             "PROGRAM");
    trigger_events_add(t->events, &events);
    printf("%7u %-9s %7s %-35s %6d %-8s %-5s %s\n", t->id, kind[about_of(t)], of, str_text(&events),
           t->offset, t->user_name ? t->user_name : arena_printf(q->a, "%u", t->user_id),
           t->permanent ? "PERM" : "", t->program);
    str_done(&events);
}

static bool get(struct client *c, struct strigger *q)
{
    struct msg_query m = {.what = QUERY_TRIGGERS};
    struct msg_done done = {0};
    struct err e = {0};
    if (!client_query(c, &m, &trigger_fields, q->a, row_print, q, &done, &e)) {
        program_error(NAME, "%s", e.text);
        return false;
    }
    if (q->verbose)
        fprintf(stderr, NAME ": Read %zu trigger records\n", q->found);
    return true;
}

static bool carry_out(struct strigger *q)
{
    if (line_wrong(q))
        return false;
    struct err e = {0};
    if (!text_empty(q->clusters) &&
        !listing_cluster_check(NAME, q->clusters, "--cluster",
                               cluster_name(state_dir_find(NULL, q->a), q->a), &e)) {
        program_error(NAME, "%s", e.text);
        return false;
    }
    struct client *c = program_connect(NAME, state_dir_find(NULL, q->a));
    if (!c)
        return false;
    bool ok = q->set ? set(c, q) : q->clear ? clear(c, q) : get(c, q);
    client_close(c);
    return ok;
}

int cmd_strigger(int argc, char **argv)
{
    struct strigger q = {.a = arena_new()};
    struct err e = {0};
    struct option_line line = {.table = &strigger_options, .to = &q, .a = q.a};
    bool read = option_line_read(&line, argc, argv, &e), ok = read;
    if (!read)
        program_usage_error(NAME, &e);
    else if (!program_information(&line))
        ok = carry_out(&q);
    arena_free(q.a);
    return ok ? 0 : 1;
}
