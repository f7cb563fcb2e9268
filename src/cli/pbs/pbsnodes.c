/* pbsnodes: nodes as PBS lists them, and operators take them out and back. */
#include "base/alloc.h"
#include "cli/pbs/nodes.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/localtime.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <string.h>

#define NAME "pbsnodes"

struct pbsnodes {
    bool all, away, sums, jobs, states, long_lines, offline, clear;
    const char *comment, *delimiter;
    enum pbs_form form;
    VEC(const char *) word; /* names, as they were given */
    struct pbs_nodes seen;
    VEC(const struct node *) node; /* those that are meant */
    struct arena *a;
    struct str out;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct pbsnodes *p = to;
    vec_push(&p->word, arena_strdup(a, word));
    return true;
}

static SETTER(set_name)
{
    return word_take(to, value, a, ret_err);
}

static SETTER(set_form)
{
    struct pbsnodes *p = to;
    return pbs_form_parse(value, &p->form) ||
           err_set(ret_err, ERR_VALUE, "-F takes json or dsv, not %s", value);
}

#define AT(member)                offsetof(struct pbsnodes, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
#define VALUE(name_, metavar_, set_, member, doc_)                                                 \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_,         \
        .at = member                                                                               \
    }
static const struct option_row rows[] = {
    VALUE("C", "text", set_any_text, AT(comment), "a comment, alone or with -o and -r"),
    VALUE("D", "text", set_text, AT(delimiter), "what parts the values of -F dsv; |"),
    VALUE("F", "form", set_form, 0, "json, dsv"),
    VALUE("H", "node", set_name, 0, "this node"),
    FLAG("L", long_lines, "long columns of -S"),
    VALUE("N", "text", set_any_text, AT(comment), "the same as -C (Torque)"),
    FLAG("S", sums, "a line for each"),
    FLAG("a", all, "all nodes"),
    FLAG("c", clear, "offline no more (Torque)"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    FLAG("j", jobs, "with -S: jobs and what is free"),
    FLAG("l", away, "nodes that take no jobs"),
    FLAG("o", offline, "takes no jobs from now on"),
    OPT_ACCEPTED("q", 0, ARG_NONE, "no warnings"),
    FLAG("r", clear, "offline no more"),
    OPT_ACCEPTED("s", 0, ARG_REQUIRED, "server (there is one)"),
    VALUE("v", "node", set_name, 0, "this vnode"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
};
OPTION_TABLE(pbsnodes_options, rows, .usage = "pbsnodes [OPTIONS] [node …]", .words = WORDS_MIXED,
             .word = word_take, .one_dash = true, .letters_attach = true);

/* ---- a node ---- */

static bool is_meant(const struct pbsnodes *p, const struct node *n)
{
    for (size_t i = 0; i < p->word.n; i++)
        if (text_is(p->word.v[i], n->name))
            return true;
    return p->word.n == 0;
}

static const char *share(const struct pbsnodes *p, int64_t free, int64_t total, const char *unit)
{
    return arena_printf(p->a, "%lld%s/%lld%s", (long long)(free > 0 ? free : 0), unit,
                        (long long)total, unit);
}

/* As a form: what a line of -Sj has. */
static void sum_attributes(const struct pbsnodes *p, const struct node *n, struct pbs_attributes *t)
{
    struct pbs_on_node on = pbs_node_jobs(&p->seen, n, false);
    int64_t gpus = pbs_node_gpus(n, p->a);
    pbs_attribute_add(t, NULL, "state", pbs_node_state(&p->seen, n));
    pbs_attribute_number(t, NULL, "njobs", on.jobs);
    pbs_attribute_number(t, NULL, "run", on.running);
    pbs_attribute_number(t, NULL, "susp", on.suspended);
    pbs_attribute_add(
        t, NULL, "mem f/t",
        share(p, (n->memory_mib - n->alloc_mem_mib) / 1024, n->memory_mib / 1024, "gb"));
    pbs_attribute_add(t, NULL, "ncpus f/t", share(p, n->cpus - n->alloc_cpus, n->cpus, ""));
    pbs_attribute_add(t, NULL, "nmics f/t", "0/0");
    pbs_attribute_add(t, NULL, "ngpus f/t", share(p, gpus - pbs_node_gpus_held(n, p->a), gpus, ""));
    pbs_attribute_list(t, NULL, "jobs", on.list ? on.list : "--");
}

/* ---- lines ---- */

static void sum_line(struct pbsnodes *p, const struct node *n)
{
    struct pbs_attributes t = {.a = p->a};
    int w = p->long_lines ? 30 : 15;
    sum_attributes(p, n, &t);
    const struct pbs_attribute *v = t.v.v;
    if (p->jobs)
        str_addf(&p->out, "%-*.*s %-15s %6s %5s %6s %12s %7s %7s %7s %s\n", w, w, n->name,
                 v[0].value, v[1].value, v[2].value, v[3].value, v[4].value, v[5].value, v[6].value,
                 v[7].value, v[8].value);
    else
        str_addf(&p->out, "%-*.*s %-15s %-8.8s %-8.8s %-15.15s %-10.10s %6lldgb %7d %7d %7lld %s\n",
                 w, w, n->name, v[0].value, n->os ? n->os : "--", n->arch ? n->arch : "--", n->name,
                 n->partitions && !strchr(n->partitions, ',') ? n->partitions : "--",
                 (long long)(n->memory_mib / 1024), n->cpus, 0, (long long)pbs_node_gpus(n, p->a),
                 n->reason ? n->reason : "--");
    pbs_attributes_done(&t);
}

static void sum_head(struct pbsnodes *p)
{
    int w = p->long_lines ? 30 : 15;
    const char *dashes = "------------------------------";
    if (p->jobs)
        str_addf(&p->out,
                 "%*s                                             mem   ncpus   nmics   ngpus\n"
                 "%-*s state            njobs   run   susp          f/t     f/t     f/t     f/t "
                 "jobs\n%.*s --------------- ------ ----- ------ ------------ ------- ------- "
                 "------- -------\n",
                 w, "", w, "vnode", w, dashes);
    else
        str_addf(&p->out,
                 "%-*s state           OS       hardware host            queue           mem   "
                 "ncpus   nmics   ngpus comment\n%.*s --------------- -------- -------- "
                 "--------------- ---------- -------- ------- ------- ------- ---------\n",
                 w, "vnode", w, dashes);
}

/* -l: nodes that take no jobs, with the reason. */
static void away_line(struct pbsnodes *p, const struct node *n)
{
    const char *state = pbs_node_state(&p->seen, n);
    if (text_is(state, "free") || text_is(state, "job-busy") || text_is(state, "job-exclusive"))
        return;
    str_addf(&p->out, "%-20s %-20s %s\n", n->name, state, n->reason ? n->reason : "");
}

static void show(struct pbsnodes *p)
{
    struct pbs_report r = {.form = p->form,
                           .title = p->form == PBS_DSV ? "Name=" : "",
                           .indent = "     ",
                           .kind = "nodes",
                           .element = "Node",
                           .delimiter = p->delimiter ? p->delimiter : "|",
                           .unbroken = true,
                           .a = p->a,
                           .out = &p->out};
    bool lines = p->form == PBS_TEXT && (p->sums || p->away);
    if (!lines)
        pbs_report_begin(&r, pbs_server(&p->seen.site), time_now_us());
    else if (p->sums && p->node.n)
        sum_head(p);
    for (size_t i = 0; i < p->node.n; i++) {
        const struct node *n = p->node.v[i];
        struct pbs_attributes t = {.a = p->a};
        if (lines && p->sums)
            sum_line(p, n);
        else if (lines)
            away_line(p, n);
        if (lines)
            continue;
        if (p->sums)
            sum_attributes(p, n, &t);
        else
            pbs_node_attributes(&p->seen, n, &t);
        pbs_report_add(&r, n->name, &t);
        pbs_attributes_done(&t);
    }
    if (!lines)
        pbs_report_end(&r);
    listing_flush(&p->out);
}

/* ---- the command ---- */

static bool read_all(struct pbsnodes *p, struct client *c, struct err *e)
{
    p->seen.a = p->a;
    if (!pbs_nodes_read(c, &p->seen, e))
        return false;
    for (size_t i = 0; i < p->seen.node.n; i++)
        if (is_meant(p, p->seen.node.v[i]))
            vec_push(&p->node, p->seen.node.v[i]);
    return true;
}

static int names_check(const struct pbsnodes *p)
{
    int status = 0;
    for (size_t i = 0; i < p->word.n; i++) {
        if (!pbs_node_named(&p->seen, p->word.v[i])) {
            plain_line(NAME ": Unknown node %s", p->word.v[i]);
            status = 1;
        }
    }
    return status;
}

/* What is asked of a node; *values is what the message has them in. A comment alone is the reason,
 * too, of a node that takes no jobs, as -l shows that. */
static struct msg_update_node change_of(const struct pbsnodes *p, const struct node *n,
                                        struct node *values)
{
    struct msg_update_node m = {.names = n->name};
    if (p->offline || p->clear) {
        m.state = p->offline ? "DRAIN" : "RESUME";
        m.reason = p->comment ? p->comment : p->offline ? "offline by " NAME : NULL;
        return m;
    }
    *values = (struct node){.name = n->name, .comment = p->comment};
    m.fields = "comment";
    m.values.v = values;
    m.values.n = 1;
    m.reason = n->drain ? p->comment : NULL;
    return m;
}

/* -o, -r, -C: by operators. */
static int nodes_change(struct pbsnodes *p, struct client *c)
{
    int status = names_check(p);
    for (size_t i = 0; i < p->node.n; i++) {
        struct message answer;
        struct err e = {0};
        struct node values;
        struct msg_update_node m = change_of(p, p->node.v[i], &values);
        if (!client_call(c, MSG_UPDATE_NODE, &m, 0, p->a, &answer, &e)) {
            fprintf(stderr, NAME ": %s\n", e.text);
            return PBS_NO_CONTROLLER;
        }
        const struct msg_done *done = answer.body;
        if (!done->refusal)
            continue;
        status = done->refusal == REFUSE_ACCESS_DENIED ? PBS_DENIED : 1;
        fprintf(stderr, NAME ": %s %s\n",
                done->refusal == REFUSE_ACCESS_DENIED ? "Unauthorized Request "
                : text_empty(done->detail)            ? refusal_text((enum refusal)done->refusal)
                                                      : done->detail,
                m.names);
    }
    return status;
}

static int run(struct pbsnodes *p)
{
    const char *dir = state_dir_find(NULL, p->a);
    struct err e = {0};
    p->seen.site = pbs_site(dir, p->a);
    p->sums = p->sums || p->jobs;
    bool changes = p->offline || p->clear || p->comment;
    if (changes && !p->word.n) {
        fputs(NAME ": -o, -r and -C need names of nodes\n", stderr);
        return PBS_USAGE;
    }
    if (!p->word.n && !p->all && !p->away && !p->sums && !p->seen.site.torque) {
        fprintf(stderr, "usage: %s\n", pbsnodes_options.usage);
        return PBS_USAGE;
    }
    struct client *c = pbs_connect(NAME, dir);
    if (!c)
        return PBS_NO_CONTROLLER;
    int status = 1;
    if (!read_all(p, c, &e)) {
        fprintf(stderr, NAME ": %s\n", e.text);
    } else if (changes) {
        status = nodes_change(p, c);
    } else {
        status = names_check(p);
        show(p);
    }
    client_close(c);
    return status;
}

int cmd_pbsnodes(int argc, char **argv)
{
    struct pbsnodes p = {.a = arena_new()};
    int status;
    if (pbs_line_read(NAME, &pbsnodes_options, &p, p.a, argc, argv, &status))
        status = run(&p);
    vec_done(&p.word);
    vec_done(&p.node);
    pbs_nodes_done(&p.seen);
    str_done(&p.out);
    arena_free(p.a);
    return status;
}
