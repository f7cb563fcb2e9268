/* From a request of PBS to options of sbatch.
 *
 * A chunk of select is a task of its CPUs, or as many tasks as it has mpiprocs; several chunks may
 * share a node unless they are scattered. With nodes= each node has ppn tasks. Memory is of the
 * chunk in a select, else of the whole job. Parts that differ are components of a heterogeneous
 * job, but for those that are packed on one node, which are added up. */
#include "script/pbs/pbs.h"

#include "base/alloc.h"
#include "base/amount.h"

#include <string.h>

void pbs_note(struct pbs_request *r, struct arena *a, const char *what, const char *why)
{
    if (r->no_effect && strstr(r->no_effect, what))
        return;
    r->no_effect = r->no_effect ? arena_printf(a, "%s; %s: %s", r->no_effect, what, why)
                                : arena_printf(a, "%s: %s", what, why);
}

static int32_t at_least(int32_t n, int32_t least)
{
    return n > least ? n : least;
}

static const char *mib_text(const struct dialect_out *d, int64_t mib)
{
    return mib > 0 ? arena_printf(d->a, "%lldM", (long long)mib) : NULL;
}

static int64_t part_of(int64_t mib, int64_t parts)
{
    return mib > 0 ? (mib + parts - 1) / parts : 0;
}

/* ---- size ---- */

static bool select_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const struct pbs_resources *l = &r->l;
    int32_t chunks = at_least(l->chunks, 1), procs = at_least(l->mpiprocs, 1);
    int32_t cpus = at_least(l->ncpus, 1), each = (int32_t)part_of(cpus, procs);
    bool apart = l->place == PBS_SCATTER || (procs > 1 && chunks > 1 && l->place == PBS_FREE);
    int32_t nodes = apart ? chunks : l->place == PBS_PACK || chunks == 1 ? 1 : 0;
    if (apart && l->place == PBS_FREE)
        str_addf(d->warnings,
                 "-l select: each of %d chunks is on a node of its own, as it has "
                 "several processes\n",
                 chunks);
    if (l->place == PBS_PACK)
        apart = false;
    int64_t mem = l->chunk_mib;
    bool whole = nodes && (apart || chunks == 1);
    const char *gpus = l->gpus ? arena_printf(d->a, "%d", l->gpus) : NULL;
    return dialect_give_number(d, "-l select", "ntasks", (int64_t)chunks * procs, e) &&
           dialect_give_number(d, "-l select=ncpus", "cpus-per-task", each > 1 ? each : 0, e) &&
           dialect_give_number(d, "-l select", "nodes", nodes, e) &&
           dialect_give_number(d, "-l select", "ntasks-per-node", apart ? procs : 0, e) &&
           dialect_give(d, "-l mem", whole ? "mem" : "mem-per-cpu",
                        mib_text(d, whole ? mem : part_of(mem, (int64_t)each * procs)), e) &&
           dialect_give(d, "-l ngpus", whole ? "gpus-per-node" : "gpus-per-task", gpus, e);
}

static bool nodes_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const struct pbs_resources *l = &r->l;
    int32_t nodes = at_least(l->nodes, 1), ppn = at_least(l->ppn, 1);
    int64_t mem = l->mem_mib ? l->mem_mib : l->pmem_mib ? 0 : l->vmem_mib;
    int32_t all = at_least(l->all_nodes, nodes);
    return dialect_give_number(d, "-l nodes", "nodes", nodes, e) &&
           dialect_give_number(d, "-l nodes", "ntasks", (int64_t)nodes * ppn, e) &&
           dialect_give_number(d, "-l nodes=ppn", "ntasks-per-node", ppn, e) &&
           dialect_give(d, "-l mem", "mem", mib_text(d, part_of(mem, all)), e) &&
           dialect_give(d, "-l pmem", "mem-per-cpu", mem ? NULL : mib_text(d, l->pmem_mib), e) &&
           dialect_give_number(d, "-l gpus", "gpus-per-node", l->gpus, e);
}

/* -l procs=N: anywhere; -l ncpus=N, or nothing: on one node. */
static bool plain_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const struct pbs_resources *l = &r->l;
    int64_t mem = l->mem_mib ? l->mem_mib : l->pmem_mib ? 0 : l->vmem_mib;
    int32_t procs = at_least(l->procs > 1 ? l->procs : l->mpiprocs, 1);
    int32_t each = l->procs > 1 ? l->ncpus : (int32_t)part_of(l->ncpus, procs);
    bool spread = l->procs > 1;
    return dialect_give_number(d, spread ? "-l procs" : "-l mpiprocs", "ntasks", procs, e) &&
           dialect_give_number(d, "-l ncpus", "nodes", spread ? 0 : 1, e) &&
           dialect_give_number(d, "-l ncpus", "cpus-per-task", each > 1 ? each : 0, e) &&
           dialect_give(d, "-l mem", spread ? "mem-per-cpu" : "mem",
                        mib_text(d, spread ? part_of(mem, procs) : mem), e) &&
           dialect_give(d, "-l pmem", "mem-per-cpu", mem ? NULL : mib_text(d, l->pmem_mib), e) &&
           dialect_give_number(d, "-l gpus", spread ? "gpus" : "gpus-per-node", l->gpus, e);
}

/* Of "place=pack", too, which is a part of what it said, whether `place` was. */
static bool was_said(const struct pbs_resources *l, const char *name, struct arena *a)
{
    const char *mark = arena_printf(a, " %.*s ", (int)strcspn(name, "="), name);
    return l->seen && strstr(l->seen, mark);
}

static bool resources_check(const struct pbs_resources *l, struct arena *a, struct err *e)
{
    if (l->select && l->host && l->place == PBS_SCATTER && l->chunks > 1)
        return err_set(e, ERR_VALUE,
                       "-l place=scatter: %d chunks of host=%s cannot have a node each", l->chunks,
                       l->host);
    static const char *const without[] = {"ncpus",    "mem",  "nodes", "procs",
                                          "mpiprocs", "gpus", "ngpus"};
    if (l->place_given && !l->select && !l->nodes_given)
        return err_set(e, ERR_VALUE, "Cannot have \"place\" without \"select\"");
    for (size_t i = 0; l->select && i < ARRAY_LEN(without); i++)
        if (was_said(l, without[i], a))
            return err_set(e, ERR_VALUE,
                           "\"-lresource=\" cannot be used with \"select\" or \"place\", resource "
                           "is: %s",
                           without[i]);
    return true;
}

void pbs_resources_note(struct pbs_request *r, struct arena *a)
{
    static const char chunk[] = "memory of a select is each chunk's: select=1:mem=4gb",
                      node[] = "processes beside nodes= are nodes=N:ppn=P";
    const struct pbs_resources *l = &r->l;
    bool nodes = l->nodes_given && !l->select, plain = !l->nodes_given && !l->select;
    bool whole = !l->select && l->mem_mib;
    const char *place = l->place == PBS_PACK ? "place=pack" : "place=scatter";
    const struct {
        const char *name;
        bool idle; /* beside what else was said */
        const char *why;
    } rows[] = {
        {"pmem", l->select, chunk},
        {"vmem", l->select, chunk},
        {"ncpus", nodes, "CPUs beside nodes= are nodes=N:ppn=P"},
        {"procs", nodes, node},
        {"mpiprocs", nodes, node},
        {place, nodes && l->place != PBS_FREE, "nodes=N:ppn=P says how many are on each node"},
        {"pmem", whole, "mem is the memory of the job"},
        {"vmem", whole, "mem is the memory of the job"},
        {"vmem", !l->select && l->pmem_mib, "pmem is the memory of each process"},
        {"mpiprocs", plain && l->procs > 1, "procs says how many processes there are"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].idle && was_said(l, rows[i].name, a))
            pbs_note(r, a, arena_printf(a, "-l %s", rows[i].name), rows[i].why);
}

static const char *features_of(const struct pbs_resources *l, struct arena *a)
{
    return l->features ? dialect_features_join(l->properties, l->features, a) : l->properties;
}

static bool size_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const struct pbs_resources *l = &r->l;
    bool ok = resources_check(l, d->a, e) && (l->select        ? select_finish(r, d, e)
                                              : l->nodes_given ? nodes_finish(r, d, e)
                                                               : plain_finish(r, d, e));
    const char *wall = arena_printf(d->a, "%lld:%02lld:%02lld", (long long)(l->wall_s / 3600),
                                    (long long)(l->wall_s / 60 % 60), (long long)(l->wall_s % 60));
    return ok && dialect_give(d, "-l walltime", "time", l->wall_s ? wall : NULL, e) &&
           dialect_give(d, "-l nodes", "nodelist", l->host, e) &&
           dialect_give(d, "-l", "constraint", features_of(l, d->a), e) &&
           dialect_give(d, "-l file", "tmp", mib_text(d, l->tmp_mib), e) &&
           dialect_give(d, "-l qos", "qos", l->qos, e) &&
           dialect_give(d, "-l software", "licenses", l->licences, e) &&
           dialect_give_number(d, "-l place=group", "switches", l->together, e) &&
           dialect_give_flag(d, "-l place=excl", "exclusive", l->exclusive, e);
}

/* ---- the rest ---- */

static bool mail_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    static const struct {
        char letter;
        const char *type;
    } points[] = {{'a', ",FAIL"}, {'b', ",BEGIN"}, {'e', ",END"}, {'j', ",ARRAY_TASKS"}};
    struct str types = STR_INIT;
    const char *asked = r->mail_points ? r->mail_points : r->mail_to ? "a" : "";
    for (size_t i = 0; i < ARRAY_LEN(points) && !strpbrk(asked, "np"); i++)
        if (strchr(asked, points[i].letter) || (points[i].letter == 'a' && strchr(asked, 'f')))
            str_add(&types, points[i].type);
    const char *text = types.len ? arena_strdup(d->a, str_text(&types) + 1) : NULL;
    str_done(&types);
    return dialect_give(d, "-m", "mail-type", text, e) &&
           dialect_give(d, "-M", "mail-user", r->mail_to, e);
}

/* Only PBS_O_* goes with it, and what -v names; the shell is a login shell. */
static bool environment_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const char *list = r->variables ? r->variables : r->keep_environment ? NULL : "NONE";
    if (r->whole_environment)
        list = r->variables ? arena_printf(d->a, "ALL,%s", r->variables) : "ALL";
    return dialect_give(d, "-v", "export", list, e);
}

/* "5" is element 5 of Torque's -t; of Pro's -J a range is needed. */
static bool array_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    return dialect_give(d, r->array_torque ? "-t" : "-J", "array", r->array, e);
}

/* ---- parts ---- */

static bool is_packed(const struct pbs_request *r)
{
    return r->l.select && r->l.place == PBS_PACK;
}

size_t pbs_parts(const struct pbs_request *r)
{
    return is_packed(r) ? 1 : 1 + r->nmore;
}

/* All chunks as one: of so many processes that each has its CPUs. */
static void chunk_pack(struct pbs_resources *l, const struct pbs_resources *more)
{
    int64_t n = more ? at_least(more->chunks, 1) : at_least(l->chunks, 1);
    const struct pbs_resources *from = more ? more : l;
    struct pbs_resources all = *l;
    all.chunks = 1;
    all.mpiprocs = amount_i32((more ? l->mpiprocs : 0) + n * at_least(from->mpiprocs, 1));
    all.ncpus = amount_i32((more ? l->ncpus : 0) + n * at_least(from->ncpus, 1));
    all.gpus = amount_i32((more ? l->gpus : 0) + n * from->gpus);
    all.chunk_mib = amount_plus(more ? l->chunk_mib : 0, amount_times(n, from->chunk_mib));
    if (more && more->host && !l->host)
        all.host = more->host;
    *l = all;
}

static void properties_join(struct pbs_resources *l, const char *more, struct arena *a)
{
    if (more && !(l->properties && text_is(more, l->properties)))
        l->properties = dialect_features_join(l->properties, more, a);
}

static struct pbs_resources part_at(const struct pbs_request *r, size_t part, struct arena *a)
{
    struct pbs_resources l = r->l;
    const struct pbs_resources *p = part ? &r->more[part - 1] : &r->l;
    if (part) {
        l.chunks = p->chunks, l.ncpus = p->ncpus, l.mpiprocs = p->mpiprocs, l.gpus = p->gpus;
        l.threads = p->threads, l.chunk_mib = p->chunk_mib, l.nodes = p->nodes, l.ppn = p->ppn;
        l.host = p->host, l.properties = p->properties;
    }
    if (is_packed(r) && r->nmore) {
        chunk_pack(&l, NULL);
        for (size_t i = 0; i < r->nmore; i++) {
            chunk_pack(&l, &r->more[i]);
            properties_join(&l, r->more[i].properties, a);
        }
    }
    if (l.select && l.host && l.place == PBS_FREE)
        chunk_pack(&l, NULL); /* all of them on that one */
    return l;
}

/* What is of each component. */
static bool each_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    const char *account = r->account ? r->account : r->project;
    d->o->spec.project = r->project;
    return size_finish(r, d, e) && dialect_give(d, "-q", "partition", r->queue, e) &&
           dialect_give(d, "-A", "account", account, e) &&
           dialect_give(d, "-W x=advres", "reservation", r->reservation, e) &&
           dialect_give_flag(d, "-f", "no-kill", r->fault_tolerant && r->site->torque, e) &&
           dialect_give_flag(d, "-r", r->rerun_no ? "no-requeue" : "requeue", true, e);
}

static bool whole_finish(const struct pbs_request *r, struct dialect_out *d, struct err *e)
{
    if (r->no_effect)
        d->o->no_effect = d->o->no_effect
                              ? arena_printf(d->a, "%s; %s", d->o->no_effect, r->no_effect)
                              : r->no_effect;
    return mail_finish(r, d, e) && environment_finish(r, d, e) && array_finish(r, d, e) &&
           dialect_give(d, "-a", "begin", r->begin, e) &&
           dialect_give(d, "-W depend", "dependency", r->depend, e) &&
           dialect_give(d, "-W group_list", "gid", r->group, e) &&
           dialect_give_number(d, "-p", "nice", r->priority < 0 ? -r->priority : 0, e) &&
           dialect_give_flag(d, "-h", "hold", r->hold, e);
}

bool pbs_part_finish(const struct pbs_request *r, size_t part, struct dialect_out *d,
                     struct err *ret_err)
{
    struct pbs_request *one = arena_dup(d->a, r, sizeof *r);
    size_t parts = pbs_parts(r);
    one->l = part_at(r, part, d->a);
    if (parts > 1 && r->array)
        return dialect_refuse(ret_err, "an array of jobs whose parts differ",
                              "submit each of them in a loop, or ask for equal chunks");
    if (parts > 1 && part == 0 && r->l.select && r->l.place == PBS_SCATTER)
        str_add(d->warnings, "-l place=scatter: chunks of different kinds may share a node\n");
    return each_finish(one, d, ret_err) && (part > 0 || whole_finish(r, d, ret_err));
}

bool pbs_finish(const struct pbs_request *r, struct dialect_out *d, struct err *ret_err)
{
    if (pbs_parts(r) > 1)
        return dialect_refuse(ret_err,
                              r->l.select ? "-l select with different chunks"
                                          : "-l nodes with different parts",
                              "only qsub takes them when a job is submitted");
    return pbs_part_finish(r, 0, d, ret_err);
}
