/* qalter: what was asked for is changed, in the options of qsub; as bmod does it for LSF: what
 * differs between a request of these options and one of none is what changes. */
#include "base/alloc.h"
#include "cli/lsf/changed.h"
#include "cli/pbs/qcontrol.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/submit/host.h"
#include "script/pbs/pbs.h"

#include <stdio.h>
#include <string.h>

#define NAME "qalter"

struct qalter {
    struct qcontrol control; /* first: qcontrol_word fills it */
    struct pbs_request request;
    struct option_env env;
    bool rerun_given, join_given, slots_given;
    uint32_t slots; /* 0 = no limit */
};

/* As the row of qsub of that name sets it. */
static SETTER(set_as_qsub)
{
    struct qalter *q = to;
    const struct option_row *same = option_row_named(&qsub_options, row->name);
    CHECK(same && same->set);
    q->rerun_given = q->rerun_given || text_is(row->name, "r");
    q->join_given = q->join_given || text_is(row->name, "j");
    return same->set(&q->request, same, value, &q->env, a, ret_err);
}

static SETTER(set_holds)
{
    *(const char **)((char *)to + row->at) = arena_strdup(a, value);
    return (*value && strspn(value, "uosnp") == strlen(value)) ||
           err_set(ret_err, ERR_VALUE, "illegal -h value: %s; u, o, s, p and n are allowed", value);
}

/* "%5", or "5" */
static SETTER(set_slots)
{
    struct qalter *q = to;
    int64_t n;
    if (!text_to_i64(*value == '%' ? value + 1 : value, 0, UINT32_MAX, &n))
        return err_set(ret_err, ERR_VALUE,
                       "illegal -t value: %s; %%N, so many elements at once, is allowed: the "
                       "elements themselves stay as they are",
                       value);
    q->slots_given = true;
    q->slots = (uint32_t)n;
    return true;
}

#define TO(name_, metavar_, doc_)                                                                  \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_as_qsub   \
    }
static const struct option_row rows[] = {
    TO("A", "account", "account to charge"),
    TO("M", "addresses", "who gets the mail"),
    TO("N", "name", "name"),
    TO("P", "project", "project: the account, without -A"),
    TO("R", "o|e|oe", "streams that are not kept"),
    OPT_REFUSED("S", 0, ARG_REQUIRED, "shell of the script", "the script stays as it is"),
    TO("W", "attributes", "depend=…, x=advres:NAME"),
    TO("a", "time", "not before [[[[CC]YY]MM]DD]hhmm[.SS]"),
    OPT_NO_EFFECT("c", 0, ARG_REQUIRED, "checkpoints (programs write their own)"),
    TO("e", "path", "standard error"),
    {.name = "h",
     .arg = ARG_REQUIRED,
     .metavar = "uosnp",
     .doc = "u, o, s: hold it; n: let it go",
     .set = set_holds,
     .at = offsetof(struct qalter, control.hold)},
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    TO("j", "oe|eo|n", "one file for both streams"),
    OPT_NO_EFFECT("k", 0, ARG_REQUIRED, "streams that stay on the node (none does)"),
    TO("l", "resources", "walltime, select, nodes, ncpus, mem …; of a running job a shorter time"),
    TO("m", "abefjnp", "mail at abort, begin, end; n = none"),
    TO("o", "path", "standard output"),
    TO("p", "n", "priority, -1024 to 1023"),
    OPT_REFUSED("q", 0, ARG_REQUIRED, "queue", "qmove moves a job"),
    TO("r", "y|n", "run it again when a node fails"),
    {.name = "t",
     .arg = ARG_REQUIRED,
     .metavar = "%n",
     .doc = "elements of an array that run at once (Torque)",
     .set = set_slots},
    OPT_REFUSED("u", 0, ARG_REQUIRED, "run as another user", "submit as that user"),
    OPT_REFUSED("v", 0, ARG_REQUIRED, "variables that go with it",
                "a job has the environment it was submitted with; qsub it again"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
};
OPTION_TABLE(qalter_options, rows, .usage = "qalter [OPTIONS] job_id …", .words = WORDS_MIXED,
             .word = qcontrol_word, .one_dash = true, .letters_attach = true);

/* ---- from a request to fields ---- */

/* [HOST:]PATH, as a pattern of sbatch: what it would replace stays as it is. */
static const char *file_of(const struct qalter *q, const char *given)
{
    const char *colon = strchr(given, ':'), *slash = strchr(given, '/');
    const char *path = colon && (!slash || colon < slash) ? colon + 1 : given;
    struct str out = STR_INIT;
    struct err e = {0};
    if (*path != '/')
        str_addf(&out, "%s/", submit_cwd(q->control.a, &e));
    for (; *path; path++) {
        if (*path == '%')
            str_addc(&out, '%');
        str_addc(&out, *path);
    }
    const char *kept = arena_strdup(q->control.a, str_text(&out));
    str_done(&out);
    return kept;
}

/* Memory of a job is parted among its nodes: as many as it asks for. */
static bool spec_make(const struct qalter *q, const struct pbs_request *given, const struct job *j,
                      struct str *warnings, struct job_spec *ret, struct err *e)
{
    struct submit_options o = {0};
    struct dialect_out d = {&o, FROM_COMMAND_LINE, &q->env, q->control.a, warnings};
    struct pbs_request r = *given;
    int32_t nodes = j->spec.req.min_nodes;
    r.site = q->control.site;
    r.keep_environment = true;
    if (!r.l.select && !r.l.nodes_given && nodes > 1) {
        r.l.nodes_given = true;
        r.l.nodes = nodes;
        r.l.ppn = j->spec.req.ntasks_per_node;
    }
    if (!pbs_finish(&r, &d, e))
        return false;
    *ret = o.spec;
    ret->req.ntasks_per_node = r.l.select || given->l.nodes_given ? ret->req.ntasks_per_node : 0;
    return true;
}

static void files_set(const struct qalter *q, const struct job *j, struct job_spec *after,
                      struct str *also)
{
    const struct pbs_request *r = &q->request;
    if (r->out || r->drop_out) {
        after->std_out = r->drop_out ? "/dev/null" : file_of(q, r->out);
        str_add(also, also->len ? ",std_out" : "std_out");
    }
    if (r->err_file || r->drop_err || (q->join_given && r->join)) {
        after->std_err = r->drop_err               ? "/dev/null"
                         : r->err_file && !r->join ? file_of(q, r->err_file)
                                                   : NULL;
        str_add(also, also->len ? ",std_err" : "std_err");
    }
    if (r->name) {
        after->name = r->name;
        str_add(also, also->len ? ",name" : "name");
    }
    if (q->rerun_given) {
        after->requeue = r->rerun_no ? NO : YES;
        str_add(also, also->len ? ",requeue" : "requeue");
    }
}

static const struct job *job_of(const struct qcontrol *k, const char *id, struct lsf_job_list *l)
{
    struct lsf_filter one = {0};
    struct err e = {0};
    vec_push(&one.ids, pbs_operand(id, k->a));
    lsf_jobs_read(k->client, &one, k->a, l, &e);
    lsf_filter_done(&one);
    return l->job.n ? l->job.v[0] : NULL;
}

/* What of -W is settled when a job is submitted. */
static bool attributes_check(const struct pbs_request *r)
{
    const char *fixed = r->umask ? "umask" : r->wait ? "block" : r->group ? "group_list" : NULL;
    if (fixed)
        fprintf(stderr,
                NAME ": -W %s is not supported: it is of the submission; depend= and x=advres: "
                     "may be changed\n",
                fixed);
    return !fixed;
}

/* -h: as qhold and qrls do it. */
static int hold_set(const struct qcontrol *k, const char *id)
{
    struct msg_job_control m = {.action = text_is(k->hold, "n") ? ACTION_RELEASE : ACTION_UHOLD,
                                .ids = lsf_job_ref(pbs_operand(id, k->a), k->a)};
    return k->hold ? qcontrol_ask(k, id, MSG_JOB_CONTROL, &m) : 0;
}

static int alter_one(const struct qcontrol *k, const char *id)
{
    const struct qalter *q = (const struct qalter *)k;
    if (!attributes_check(&q->request))
        return PBS_REFUSED;
    struct lsf_job_list l = {0};
    const struct job *j = job_of(k, id, &l);
    struct pbs_request none = {0};
    struct job_spec before, after;
    struct str warnings = STR_INIT, also = STR_INIT;
    struct err e = {0};
    if (!j)
        return PBS_UNKNOWN_JOB;
    int status = 0;
    if (spec_make(q, &none, j, &warnings, &before, &e) &&
        spec_make(q, &q->request, j, &warnings, &after, &e)) {
        files_set(q, j, &after, &also);
        const char *ref = lsf_job_ref(pbs_operand(id, k->a), k->a);
        struct msg_update_job m = {.ids = ref,
                                   .fields = changed_fields(&before, &after, str_text(&also), k->a),
                                   .values = {&after, 1},
                                   .array_limit_plus1 = q->slots_given ? q->slots + 1 : 0};
        if (text_empty(m.fields))
            m.fields = NULL;
        if (m.fields || q->slots_given)
            status = qcontrol_ask(k, id, MSG_UPDATE_JOB, &m);
    } else {
        fprintf(stderr, NAME ": %s\n", e.text);
        status = e.code == ERR_UNSUPPORTED ? PBS_REFUSED : 1;
    }
    if (!status)
        status = hold_set(k, id);
    fputs(str_text(&warnings), stderr);
    str_done(&warnings);
    str_done(&also);
    lsf_job_list_done(&l);
    return status;
}

int cmd_qalter(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct dialect_site site = pbs_site(state_dir_find(NULL, a), a);
    struct qalter q = {.control = {.name = NAME, .a = a, .site = &site}};
    q.request.site = &site;
    q.env = (struct option_env){.now_us = time_now_us(), .zone = &civil_local, .site = &site};
    int status = qcontrol_line(&q.control, &qalter_options, &q, argc, argv, alter_one);
    vec_done(&q.control.id);
    arena_free(a);
    return status;
}
