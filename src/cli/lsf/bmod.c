/* bmod: what was asked for is changed, in the options of bsub.
 *
 * The options become a request as in bsub, and that becomes options of sbatch; so does a request
 * with nothing in it but what the job's size is. What differs between the two is what changes. An
 * option with an n behind it takes back what was asked. */
#include "base/alloc.h"
#include "cli/lsf/changed.h"
#include "cli/lsf/control.h"
#include "cli/lsf/names.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/submit/site.h"
#include "script/lsf/lsf.h"

#include <stdio.h>
#include <string.h>

#define NAME "bmod"

struct bmod {
    struct lsf_control control; /* first: lsf_control_id_take fills it */
    struct lsf_request request;
    struct dialect_site site;
    struct option_env env;
    const char *taken_back; /* fields, parted by commas */
    uint32_t mail_back;     /* of the moments of mail, those that are */
};

/* As the row of bsub of that name sets it. */
static SETTER(set_as_bsub)
{
    struct bmod *m = to;
    const struct option_row *same = option_row_named(&bsub_options, row->name);
    CHECK(same && same->set);
    return same->set(&m->request, same, value, &m->env, a, ret_err);
}

static SETTER(set_taken_back)
{
    struct bmod *m = to;
    m->taken_back =
        m->taken_back ? arena_printf(a, "%s,%s", m->taken_back, row->values) : row->values;
    return true;
}

/* -Bn, -Nn: of the moments of mail their own. */
static SETTER(set_mail_back)
{
    struct bmod *m = to;
    m->mail_back |= text_is(row->name, "Bn") ? MAIL_BEGIN : MAIL_END | MAIL_FAIL;
    return true;
}

#define TO(name_, metavar_, doc_)                                                                  \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_as_bsub   \
    }
#define ON(name_, doc_)                                                                            \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_as_bsub                                             \
    }
#define BACK(name_, fields_, doc_)                                                                 \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_taken_back, .values = fields_                       \
    }
static const struct option_row rows[] = {
    ON("B", "mail when it begins"),
    {.name = "Bn", .doc = "no mail when it begins", .set = set_mail_back},
    TO("G", "group", "account to charge"),
    TO("J", "name", "name"),
    TO("Jd", "text", "description"),
    BACK("Jdn", "comment", "no description"),
    TO("M", "size", "memory of each process"),
    BACK("Mn", "mem_per_node_mib,mem_per_cpu_mib", "memory as the queue has it"),
    ON("N", "mail when it ends"),
    {.name = "Nn", .doc = "no mail when it ends", .set = set_mail_back},
    TO("P", "project", "project; the account, without -G"),
    TO("R", "text", "select[], rusage[], span[], affinity[], cu[]"),
    BACK("Rn",
         "constraint,mem_per_node_mib,mem_per_cpu_mib,ntasks_per_node,min_nodes,max_nodes,"
         "switches,tmp_disk_mib,licenses,exclude",
         "no requirements"),
    TO("U", "name", "reservation to run in"),
    BACK("Un", "reservation", "none"),
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    TO("W", "[h:]m",
       "time limit: minutes, or hours:minutes; of a running job less, operators more"),
    BACK("Wn", "time_limit_us", "the limit of the queue"),
    OPT_REFUSED("Z", 0, ARG_REQUIRED, "another command", "submit a job anew"),
    TO("b", "time", "not before [[[year:]month:]day:]hour:minute"),
    BACK("bn", "begin_us", "at any time"),
    TO("e", "file", "standard error"),
    BACK("en", "std_err", "standard error with standard output"),
    OPT_REFUSED("g", 0, ARG_REQUIRED, "job group", "a job stays in the group it was submitted in"),
    TO("gpu", "num=N:…", "GPUs"),
    BACK("gpun", "gpus_per_node,gpus_per_task,gpus_per_socket,gpu_mem_mib", "no GPUs"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    TO("i", "file", "standard input"),
    BACK("in", "std_in", "none"),
    TO("m", "hosts", "hosts to choose from"),
    BACK("mn", "exclude,nodelist", "any hosts"),
    TO("n", "slots", "slots"),
    BACK("nn", "ntasks", "one slot"),
    TO("o", "file", "standard output"),
    BACK("on", "std_out", "standard output to ID.out"),
    TO("q", "queue", "queue"),
    ON("r", "run it again when its host fails"),
    ON("rn", "do not"),
    OPT_REFUSED("sp", 0, ARG_REQUIRED, "priority among one's own jobs", "btop and bbot move jobs"),
    TO("u", "address", "who gets the mail"),
    BACK("un", "mail_user", "the owner"),
    TO("w", "conditions", "wait for jobs: 'done(12) && ended(\"name\")'"),
    BACK("wn", "dependency", "wait for none"),
    TO("wa", "signal", "signal to send before the time limit"),
    BACK("wan", "signal,signal_before_us,signal_batch", "none"),
    TO("wt", "[h:]m", "how long before"),
    ON("x", "hosts for itself"),
    BACK("xn", "exclusive", "hosts with others"),
};
OPTION_TABLE(bmod_options, rows, .usage = "bmod [OPTIONS] job_ID | \"job_ID[index]\" …",
             .words = WORDS_MIXED, .word = lsf_control_id_take, .one_dash = true);

/* ---- from a request to fields ---- */

/* The job's size counts, as memory may be of the job or of each slot. */
static bool spec_make(const struct bmod *m, const struct lsf_request *r, const struct job *j,
                      struct str *warnings, struct job_spec *ret, struct err *e)
{
    struct submit_options o = {0};
    struct dialect_out d = {&o, FROM_COMMAND_LINE, &m->env, m->control.a, warnings};
    struct lsf_request sized = *r;
    if (!sized.slots)
        sized.slots = j->spec.req.ntasks;
    if (!sized.ptile && !sized.one_host)
        sized.ptile = j->spec.req.ntasks_per_node;
    if (!sized.cores)
        sized.cores = j->spec.req.cpus_per_task;
    sized.one_host = sized.one_host || (!sized.ptile && j->spec.req.max_nodes == 1);
    sized.keep_output = !r->out;
    if (!lsf_finish(&sized, &d, e) || !lsf_names_resolve(&sized, m->control.client, &d, e))
        return false;
    *ret = o.spec;
    return true;
}

/* What -R "2*{…}+4*{…}" says of a part as a whole: what it leaves out is gone. */
#define PART_FIELDS                                                                                \
    "ntasks,constraint,mem_per_node_mib,mem_per_cpu_mib,ntasks_per_node,min_nodes,max_nodes,"      \
    "switches,tmp_disk_mib,licenses,exclude,gpus_per_node"

/* -B and -N add to the moments of mail, which are one field. */
static const char *mail_change(const struct bmod *m, const struct job *j, struct job_spec *after,
                               const char *also)
{
    if (!m->mail_back && !after->mail_types)
        return also;
    after->mail_types = (j->spec.mail_types | after->mail_types) & ~m->mail_back;
    return also ? arena_printf(m->control.a, "%s,mail_types", also) : "mail_types";
}

/* What is asked of one job, or of one component of it, and which fields that are. */
static bool part_make(const struct bmod *m, const struct job *j, bool component,
                      struct str *warnings, struct job_spec *after, const char **ret_fields,
                      struct err *e)
{
    struct arena *a = m->control.a;
    struct lsf_request none = {.site = &m->site};
    const struct lsf_request *asked = &m->request;
    struct job_spec before;
    bool parts = component && m->request.nparts;
    const char *also = m->taken_back;
    if (parts)
        asked = lsf_part(&m->request, j->het_offset, a, e);
    if (asked && component && j->het_offset) {
        struct lsf_request *rest = arena_dup(a, asked, sizeof *asked);
        rest->depend = (struct lsf_depend){0}; /* the first waits for them all */
        asked = rest;
    }
    if (parts)
        also = also ? arena_printf(a, "%s," PART_FIELDS, also) : PART_FIELDS;
    if (!asked || !spec_make(m, &none, j, warnings, &before, e) ||
        !spec_make(m, asked, j, warnings, after, e))
        return false;
    also = mail_change(m, j, after, also);
    *ret_fields = changed_fields(&before, after, also, a);
    return true;
}

/* The components of a job, or it alone: together or not at all. */
static bool modify_parts(const struct bmod *m, const char *id, const struct job *const *part,
                         size_t n)
{
    const struct lsf_control *k = &m->control;
    struct job_spec *after = arena_alloc(k->a, n * sizeof *after);
    struct str warnings = STR_INIT;
    const char *fields = "";
    struct err e = {0};
    bool any = false, ok = !m->request.nparts || n == m->request.nparts ||
                           dialect_refuse(&e, "-R with {}",
                                          "the job has %zu parts, and so many stay: bkill it, and "
                                          "submit it anew",
                                          n);
    for (size_t i = 0; i < n && ok; i++) {
        const char *of = "";
        ok = part_make(m, part[i], n > 1, &warnings, &after[i], &of, &e);
        any |= ok && !text_empty(of);
        fields = i ? arena_printf(k->a, "%s;%s", fields, of) : of;
    }
    if (m->request.no_effect)
        str_addf(&warnings, NAME ": without effect: %s\n", m->request.no_effect);
    fputs(str_text(&warnings), stderr);
    str_done(&warnings);
    if (!ok)
        return lsf_control_problem(id, e.text);
    if (!any)
        return lsf_control_problem(id, "No parameter is given that changes anything");
    struct msg_update_job q = {
        .ids = lsf_job_ref(id, k->a), .fields = fields, .values = {after, n}};
    if (!lsf_control_ask(k, id, MSG_UPDATE_JOB, &q))
        return false;
    printf("Parameters of job <%s> are being changed\n", id);
    return true;
}

static bool modify_one(const struct lsf_control *k, const char *id)
{
    const struct bmod *m = (const struct bmod *)k;
    const struct job *j = lsf_control_job(k, id);
    struct lsf_filter one = {0};
    struct lsf_job_list l = {0};
    struct err e = {0};
    if (!j)
        return false;
    vec_push(&one.ids, arena_strdup(k->a, id));
    bool parts = lsf_jobs_read(k->client, &one, k->a, &l, &e) && l.part.n > 1;
    bool ok = modify_parts(m, id, parts ? l.part.v : &j, parts ? l.part.n : 1);
    lsf_job_list_done(&l);
    lsf_filter_done(&one);
    return ok;
}

int cmd_bmod(int argc, char **argv)
{
    struct bmod m = {.control = {.name = NAME, .a = arena_new()}};
    int status;
    m.site = submit_site(state_dir_find(NULL, m.control.a), m.control.a);
    m.request.site = &m.site;
    m.env = (struct option_env){.now_us = time_now_us(), .zone = &civil_local, .site = &m.site};
    status = lsf_control_line(&m.control, &bmod_options, &m, argc, argv, modify_one);
    lsf_filter_done(&m.control.filter);
    arena_free(m.control.a);
    return status;
}
