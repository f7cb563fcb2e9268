/* qalter: what was asked for is changed, in the options of qsub; as bmod does it for LSF: what
 * differs between a request of these options and one of none is what changes. */
#include "base/alloc.h"
#include "cli/lsf/changed.h"
#include "cli/pbs/qcontrol.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "model/env/later_env.h"
#include "model/job/pattern.h"
#include "script/pbs/pbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "qalter"

struct qalter {
    struct qcontrol control; /* first: qcontrol_word fills it */
    struct pbs_request request;
    struct option_env env;
    bool given[128]; /* by the letter of the option */
    bool slots_given;
    uint32_t slots; /* 0 = no limit */
};

/* As the row of qsub of that name sets it. */
static SETTER(set_as_qsub)
{
    struct qalter *q = to;
    const struct option_row *same = option_row_named(&qsub_options, row->name);
    CHECK(same && same->set);
    q->given[(unsigned char)row->name[0] % ARRAY_LEN(q->given)] = true;
    return same->set(&q->request, same, value, &q->env, a, ret_err);
}

static SETTER(set_holds)
{
    *(const char **)((char *)to + row->at) = arena_strdup(a, value);
    return (*value && strspn(value, "uosnp") == strlen(value)) ||
           err_set(ret_err, ERR_VALUE, "illegal -h value: %s; u, o, s, p and n are allowed", value);
}

/* "1-3,7", "%5", "1-3%5" */
static SETTER(set_elements)
{
    struct qalter *q = to;
    size_t len = strcspn(value, "%");
    int64_t n = 0;
    if (value[len] && !text_to_i64(value + len + 1, 0, UINT32_MAX, &n))
        return err_set(ret_err, ERR_VALUE,
                       "illegal -t value: %s; elements (1-3,7), %%N (so many at once) or both are "
                       "needed",
                       value);
    q->slots_given = value[len] != '\0';
    q->slots = (uint32_t)n;
    return (!len && q->slots_given) ||
           qcontrol_elements(to, row, arena_strndup(a, value, len), env, a, ret_err);
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
    TO("S", "path", "shell of the script"),
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
     .metavar = "list[%n]",
     .doc = "these elements of the arrays; %n: so many of the whole at once (Torque)",
     .set = set_elements},
    OPT_REFUSED("u", 0, ARG_REQUIRED, "run as another user", "submit as that user"),
    TO("v", "names", "variables that go with it, over those it has: A,B=1"),
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
    if (*path != '/') {
        const char *here = submit_cwd(q->control.a, &e);
        if (!here) {
            fprintf(stderr, NAME ": %s\n", e.text);
            exit(1);
        }
        pattern_add_name(&out, here);
        str_addc(&out, '/');
    }
    pattern_add_name(&out, path);
    const char *kept = arena_strdup(q->control.a, str_text(&out));
    str_done(&out);
    return kept;
}

static bool is_sized(const struct pbs_request *r)
{
    return r->l.select || r->l.nodes_given;
}

/* Memory of a job is parted among its nodes: as many as it asks for. */
static struct pbs_request request_of(const struct pbs_request *given, const struct job *j)
{
    struct pbs_request r = *given;
    if (is_sized(&r) || j->spec.req.min_nodes <= 1)
        return r;
    r.l.nodes_given = true;
    r.l.nodes = j->spec.req.min_nodes;
    r.l.ppn = j->spec.req.ntasks_per_node;
    return r;
}

/* `part`: of a job of several components which one, of itself. */
static bool spec_make(const struct qalter *q, const struct pbs_request *given, const struct job *j,
                      size_t part, struct str *warnings, struct job_spec *ret, struct err *e)
{
    struct submit_options o = {0};
    struct dialect_out d = {&o, FROM_COMMAND_LINE, &q->env, q->control.a, warnings};
    struct pbs_request r = request_of(given, j);
    r.site = q->control.site;
    r.keep_environment = true;
    if (!pbs_part_finish(&r, part, &d, e))
        return false;
    *ret = o.spec;
    ret->req.ntasks_per_node = is_sized(given) ? ret->req.ntasks_per_node : 0;
    return true;
}

static void also_add(struct str *also, const char *field)
{
    str_addf(also, "%s%s", also->len ? "," : "", field);
}

/* What select= and nodes= say as a whole: what they leave out is gone. */
static void size_set(const struct pbs_request *r, struct str *also)
{
    if (is_sized(r))
        also_add(also, "min_nodes,max_nodes,ntasks,cpus_per_task,ntasks_per_node,mem_per_node_mib,"
                       "mem_per_cpu_mib,gpus,gpus_per_node,gpus_per_task,constraint,nodelist");
}

/* What has its default now is asked for, too, and differs from nothing asked for in no field. */
static void defaults_set(const struct qalter *q, const struct job *j, struct job_spec *after,
                         struct str *also)
{
    static const struct {
        const char *resource, *fields;
        bool of_nodes; /* also of a job of several */
    } plain[] = {{" ncpus ", "cpus_per_task", false},
                 {" mpiprocs ", "ntasks", false},
                 {" procs ", "ntasks", false},
                 {" gpus ", "gpus,gpus_per_node,gpus_per_task", true},
                 {" ngpus ", "gpus,gpus_per_node,gpus_per_task", true}};
    const char *seen = is_sized(&q->request) ? NULL : q->request.l.seen;
    for (size_t i = 0; seen && i < ARRAY_LEN(plain); i++)
        if (strstr(seen, plain[i].resource) && (plain[i].of_nodes || j->spec.req.min_nodes <= 1))
            also_add(also, plain[i].fields);
    if (q->given['p'])
        also_add(also, "nice");
    if (q->given['m'])
        also_add(also, "mail_types");
    else if (q->given['M'] && j->spec.mail_types) /* its moments stay */
        after->mail_types = j->spec.mail_types;
}

/* -v and -S, of the script, which the first component runs. False, with the reason. */
static bool script_set(const struct qalter *q, const struct job *j, struct job_spec *after,
                       struct str *also, struct err *e)
{
    const struct pbs_request *r = &q->request;
    struct arena *a = q->control.a;
    struct str more = STR_INIT;
    const char *had = j->spec.export_env;
    bool listed = !text_empty(had) && !text_is_nocase(had, "NONE");
    if ((r->variables || r->shell) && !j->spec.batch)
        return dialect_refuse(e, r->shell ? "-S" : "-v", "its shell is that of qsub -I");
    if (r->shell) {
        after->shell = arena_strndup(a, r->shell, strcspn(r->shell, "@,"));
        also_add(also, "shell");
    }
    bool ok = !r->variables || submit_env_named(r->variables, environ, &more, e);
    if (ok && r->variables) {
        after->later_env = later_env_pack((struct blob){more.data, more.len}, a);
        after->export_env = listed ? arena_printf(a, "%s,%s", had, r->variables) : r->variables;
        also_add(also, "later_env,export_env");
    }
    str_done(&more);
    return ok;
}

/* The error file of a job whose streams went to one: beside that. */
static const char *error_beside(const struct qalter *q, const struct job *j)
{
    const char *out = j->spec.std_out, *slash = out ? strrchr(out, '/') : NULL;
    struct str err = STR_INIT;
    if (!slash || text_is(out, "/dev/null"))
        pattern_add_name(&err, j->spec.work_dir ? j->spec.work_dir : "");
    else
        str_addn(&err, out, (size_t)(slash - out)); /* a pattern already */
    str_addf(&err, "/%%x.e%%A%s", !j->array_job_id ? "" : q->control.site->torque ? "-%a" : ".%a");
    const char *kept = arena_strdup(q->control.a, str_text(&err));
    str_done(&err);
    return kept;
}

static void files_set(const struct qalter *q, const struct job *j, struct job_spec *after,
                      struct str *also)
{
    const struct pbs_request *r = &q->request;
    if (r->out || r->drop_out) {
        after->std_out = r->drop_out ? "/dev/null" : file_of(q, r->out);
        also_add(also, "std_out");
    }
    bool apart = q->given['j'] && !r->join && !j->spec.std_err;
    if (r->err_file || r->drop_err || apart || (q->given['j'] && r->join)) {
        after->std_err = r->drop_err               ? "/dev/null"
                         : r->err_file && !r->join ? file_of(q, r->err_file)
                         : apart                   ? error_beside(q, j)
                                                   : NULL;
        also_add(also, "std_err");
    }
    if (r->name) {
        after->name = r->name;
        also_add(also, "name");
    }
    if (q->given['r']) {
        after->requeue = r->rerun_no ? NO : YES;
        also_add(also, "requeue");
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

/* Of a job of several components -l says all of them again, or what each has alike. */
static bool parts_check(const struct pbs_request *r, size_t components, struct err *e)
{
    static const char *const alike[] = {" walltime ", " qos ", " software "};
    size_t parts = pbs_parts(r);
    bool sized = is_sized(r);
    const char *seen = r->l.seen ? r->l.seen : "";
    size_t known = 0, n = 0;
    for (const char *c = seen; *c; c++)
        n += c[0] != ' ' && c[1] == ' ';
    for (size_t i = 0; i < ARRAY_LEN(alike); i++)
        known += strstr(seen, alike[i]) != NULL;
    if (sized && parts != components)
        return dialect_refuse(
            e, r->l.select ? "-l select" : "-l nodes",
            "the job has %zu parts that differ, and so many stay: qdel it, and qsub it anew",
            components);
    return sized || n == known ||
           dialect_refuse(e, "-l",
                          "the parts of the job differ: -l select= or nodes= says all of "
                          "them again");
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

/* What is asked of one job, or of one component of it, and which fields that are. */
static bool part_make(const struct qalter *q, const struct job *j, bool component,
                      struct str *warnings, struct job_spec *after, const char **ret_fields,
                      struct err *e)
{
    struct pbs_request none = {0};
    struct job_spec before;
    struct str also = STR_INIT;
    size_t part = component ? j->het_offset : 0;
    bool ok =
        spec_make(q, &none, j, 0, warnings, &before, e) &&
        spec_make(q, &q->request, j, pbs_parts(&q->request) > 1 ? part : 0, warnings, after, e) &&
        (part > 0 || script_set(q, j, after, &also, e));
    if (ok) {
        size_set(&q->request, &also);
        if (!part)
            files_set(q, j, after, &also);
        if (!part)
            defaults_set(q, j, after, &also);
        *ret_fields = changed_fields(&before, after, str_text(&also), q->control.a);
    }
    str_done(&also);
    return ok;
}

/* The components of a job, or it alone: together or not at all. */
static int alter_parts(const struct qalter *q, const char *id, const struct job *const *part,
                       size_t n, struct str *warnings)
{
    const struct qcontrol *k = &q->control;
    struct job_spec *after = arena_alloc(k->a, n * sizeof *after);
    const char *fields = "";
    struct err e = {0};
    bool ok = n < 2 || parts_check(&q->request, n, &e), any = false;
    for (size_t i = 0; i < n && ok; i++) {
        const char *of = "";
        ok = part_make(q, part[i], n > 1, warnings, &after[i], &of, &e);
        any |= ok && !text_empty(of);
        fields = i ? arena_printf(k->a, "%s;%s", fields, of) : of;
    }
    if (!ok) {
        fprintf(stderr, NAME ": %s\n", e.text);
        return e.code == ERR_UNSUPPORTED ? PBS_REFUSED : 1;
    }
    struct msg_update_job m = {.ids = lsf_job_ref(pbs_operand(id, k->a), k->a),
                               .fields = any ? fields : NULL,
                               .values = {after, any ? n : 1},
                               .array_limit_plus1 = q->slots_given ? q->slots + 1 : 0};
    return any || q->slots_given ? qcontrol_ask(k, id, MSG_UPDATE_JOB, &m) : 0;
}

/* What has no effect, as qsub says it; beside the nodes that the job has, too. */
static void no_effect_add(const struct qalter *q, const struct job *j, struct str *warnings)
{
    struct pbs_request r = request_of(&q->request, j);
    pbs_resources_note(&r, q->control.a);
    if (r.no_effect)
        str_addf(warnings, NAME ": without effect: %s\n", r.no_effect);
}

static int alter_one(const struct qcontrol *k, const char *id)
{
    const struct qalter *q = (const struct qalter *)k;
    if (!attributes_check(&q->request))
        return PBS_REFUSED;
    struct lsf_job_list l = {0};
    const struct job *j = job_of(k, id, &l);
    struct str warnings = STR_INIT;
    if (!j)
        return PBS_UNKNOWN_JOB;
    bool parts = l.part.n > 1;
    int status = alter_parts(q, id, parts ? l.part.v : &j, parts ? l.part.n : 1, &warnings);
    if (!status) {
        status = hold_set(k, id);
        no_effect_add(q, j, &warnings);
        fputs(str_text(&warnings), stderr);
    }
    str_done(&warnings);
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
