/* lshosts: what hosts are and have, whatever runs on them; and what it has in common with bhosts,
 * lsload and nodestat. */
#include "base/alloc.h"
#include "cli/lsf/names.h"
#include "cli/lsf/overview.h"
#include "cli/program/commands.h"

#include <string.h>

#define SELECT_KIB 1024 /* sizes without a unit are MB, as bhosts shows them */

/* ---- hosts that are asked for ---- */

/* What else stands in a text of -R does not choose among hosts. */
SETTER(lsf_set_select)
{
    struct lsf_overview *o = to;
    struct str text = STR_INIT;
    bool ok = lsf_select_part(span_of(value), &text);
    o->select = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    if (!ok)
        return err_set(ret_err, ERR_VALUE, "-R %.200s: a bracket is not closed", value);
    return !o->select || lsf_select_check(span_of(o->select), SELECT_KIB, ret_err) ||
           err_prefix(ret_err, "-R %.200s", value);
}

bool lsf_host_asked(const struct lsf_overview *o, const struct node *n)
{
    struct lsf_host_facts facts = lsf_facts_of(n);
    return lsf_overview_asked(o, n->name) &&
           (!o->select || lsf_select_holds(span_of(o->select), SELECT_KIB, &facts));
}

static bool is_host(const struct lsf_overview *o, const char *word)
{
    for (size_t i = 0; i < o->node.n; i++)
        if (text_is(o->node.v[i]->name, word))
            return true;
    return false;
}

bool lsf_hosts_known(const struct lsf_overview *o, size_t shown, struct err *ret_err)
{
    if (!lsf_words_known(o, is_host, "Bad host name", ret_err))
        return false;
    if (shown)
        return true;
    if (o->select)
        return err_set(ret_err, ERR_NOT_FOUND, "No host is so: select[%s]", o->select);
    return err_set(ret_err, ERR_NOT_FOUND, "none: Bad host name");
}

const char *lsf_host_model(const struct node *n, struct arena *a)
{
    return text_empty(n->features) ? NULL
                                   : arena_strndup(a, n->features, strcspn(n->features, ","));
}

const char *lsf_host_size(int64_t mib, struct arena *a)
{
    if (mib <= 0)
        return NULL;
    return mib >= 1024 ? arena_printf(a, "%.1fG", (double)mib / 1024)
                       : arena_printf(a, "%lldM", (long long)mib);
}

/* ---- lshosts ---- */

static const struct option_row rows[] = {
    LSF_OVERVIEW_OPTIONS,
    LSF_SELECT_OPTION,
    OPT_REFUSED("T", 0, ARG_NONE, "how the cluster's hosts are divided", "sinfo has partitions"),
    OPT_ACCEPTED("a", 0, ARG_NONE, "hosts that joined, too (always so)"),
    OPT_ACCEPTED("cname", 0, ARG_NONE, "the cluster's name before each host (there is one)"),
    OPT_REFUSED("gpu", 0, ARG_NONE, "each GPU", "bhosts -gpu has them"),
    {.name = "noheader", .doc = "no headings", .set = set_flag, .at = LSF_AT(noheader)},
    OPT_REFUSED("s", 0, ARG_REQUIRED, "shared resources", "scontrol show licenses has them"),
};
OPTION_TABLE(lshosts_options, rows, .usage = "lshosts [OPTIONS] [host …]", .words = WORDS_MIXED,
             .word = lsf_overview_word, .one_dash = true);

/* LSF's names of host types. */
static const char *type_of(const struct node *n)
{
    static const struct {
        const char *arch, *type;
    } types[] = {{"x86_64", "X86_64"}, {"aarch64", "LINUX_ARM64"}, {"ppc64le", "LINUXPPC64LE"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_is(n->arch, types[i].arch))
            return types[i].type;
    return text_empty(n->arch) ? "UNKNOWN" : n->arch;
}

/* "(gpu fast)": what select[] takes by name; -w and -l have them all, a line else the first few. */
static const char *resources_of(struct lsf_overview *o, const struct node *n)
{
    struct str text = STR_INIT;
    struct span rest = span_of(n->features ? n->features : ""), one;
    str_addc(&text, '(');
    while (span_next(&rest, ',', &one))
        if (one.len)
            str_addf(&text, "%s%.*s", text.len > 1 ? " " : "", (int)one.len, one.data);
    str_addc(&text, ')');
    const char *made = arena_strdup(o->a, str_text(&text));
    str_done(&text);
    return made;
}

struct host_facts {
    const char *model, *ncpus, *mem, *tmp;
};

static struct host_facts facts_of(struct lsf_overview *o, const struct node *n)
{
    const char *model = lsf_host_model(n, o->a), *mem = lsf_host_size(n->memory_mib, o->a),
               *tmp = lsf_host_size(n->tmp_disk_mib, o->a);
    return (struct host_facts){.model = model ? model : "DEFAULT",
                               .ncpus = n->cpus > 0 ? arena_printf(o->a, "%d", n->cpus) : "-",
                               .mem = mem ? mem : "-",
                               .tmp = tmp ? tmp : "-"};
}

/* All count as equally fast, so each has the factor 1; swap is nothing that is known of them. */
static void host_line(struct lsf_overview *o, const struct node *n)
{
    struct host_facts f = facts_of(o, n);
    str_addf(&o->out, o->wide ? "%-24s %11s %11s" : "%-11.11s %7.7s %8.8s", n->name, type_of(n),
             f.model);
    str_addf(&o->out, " %5s %5s %6s %6s %6s %s\n", "1.0", f.ncpus, f.mem, "-", "Yes",
             resources_of(o, n));
}

static void host_whole(struct lsf_overview *o, const struct node *n)
{
    struct host_facts f = facts_of(o, n);
    int cores = n->cores_per_socket > 0 ? n->cores_per_socket : 1;
    int threads = n->threads_per_core > 0 ? n->threads_per_core : 1;
    str_addf(&o->out,
             "\nHOST_NAME:  %s\n"
             "type             model  cpuf ncpus ndisks maxmem maxswp maxtmp rexpri server nprocs "
             "ncores nthreads\n"
             "%-12s %9s %5s %5s %6s %6s %6s %6s %6d %6s %6d %6d %8d\n"
             "\nRESOURCES: %s\nRUN_WINDOWS:  (always open)\n",
             n->name, type_of(n), f.model, "1.0", f.ncpus, "-", f.mem, "-", f.tmp, 0, "Yes",
             n->sockets > 0 ? n->sockets : 1, cores, threads, resources_of(o, n));
}

static bool hosts_show(struct lsf_overview *o, struct err *e)
{
    size_t shown = 0;
    if (!lsf_nodes_read(o, e))
        return false;
    for (size_t i = 0; i < o->node.n; i++) {
        if (!lsf_host_asked(o, o->node.v[i]))
            continue;
        if (shown++ == 0 && !o->noheader && !o->longer)
            str_addf(&o->out, "%s  cpuf ncpus maxmem maxswp server RESOURCES\n",
                     o->wide ? "HOST_NAME                       type       model"
                             : "HOST_NAME      type    model");
        if (o->longer)
            host_whole(o, o->node.v[i]);
        else
            host_line(o, o->node.v[i]);
    }
    return lsf_hosts_known(o, shown, e);
}

int cmd_lshosts(int argc, char **argv)
{
    return lsf_overview_run("lshosts", &lshosts_options, NULL, hosts_show, argc, argv);
}
