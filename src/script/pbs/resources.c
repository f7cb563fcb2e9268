/* qsub -l: "select=2:ncpus=4:mem=8gb,walltime=1:00:00", "nodes=2:ppn=8,mem=16gb". Lists add up; of
 * a resource the first value counts. */
#include "script/pbs/pbs.h"
#include "script/pbs/write.h"

#include "base/alloc.h"
#include "base/amount.h"

#include <string.h>

#define DIGITS_MAX      9u  /* of a number */
#define SIZE_DIGITS_MAX 18u /* of a size */

struct pbs_resources_reading {
    struct pbs_request *r;
    const char *whole;
    struct arena *a;
    struct err *e;
};

static bool refuse(struct pbs_resources_reading *d, struct span piece, const char *allowed)
{
    return dialect_blame(d->e, "-l", d->whole, "\"%.*s\": %s", SPAN_QUOTED(piece), allowed);
}

static const char *kept(struct pbs_resources_reading *d, struct span s)
{
    return arena_strndup(d->a, s.data, s.len);
}

static bool count_read(struct pbs_resources_reading *d, struct span text, int32_t *ret)
{
    int64_t n;
    if (text.len == 0 || text.len > DIGITS_MAX || !text_to_i64(kept(d, text), 0, INT32_MAX, &n))
        return refuse(d, text, "a number is needed");
    *ret = (int32_t)n;
    return true;
}

/* "8gb", "100" bytes, "4mw" words of eight bytes; in MiB, rounded up. */
static bool size_read(struct pbs_resources_reading *d, struct span text, int64_t *ret)
{
    static const char units[] = "kmgtp";
    struct span size = text;
    int64_t scale = 1, n;
    if (size.len && strchr("bBwW", size.data[size.len - 1])) {
        scale = strchr("wW", size.data[size.len - 1]) ? 8 : 1;
        size.len--;
    }
    if (size.len) {
        char c = size.data[size.len - 1];
        const char *unit = strchr(units, c >= 'A' && c <= 'Z' ? c + 32 : c);
        if (c && unit) {
            scale <<= 10 * (unit - units + 1);
            size.len--;
        }
    }
    if (!size.len || size.len > SIZE_DIGITS_MAX ||
        !text_to_i64(kept(d, size), 0, (INT64_C(1) << 60) / scale, &n))
        return refuse(d, text, "a size is needed, as 8gb or 500mb; without a unit it is in bytes");
    *ret = (n * scale + (1 << 20) - 1) >> 20;
    return true;
}

/* [[H:]M:]S[.ms] */
static bool time_read(struct pbs_resources_reading *d, struct span text, int64_t *ret)
{
    struct span rest = text, part;
    int64_t total = 0;
    int fields = 0;
    for (; span_next(&rest, ':', &part); fields++) {
        int32_t n = 0;
        const char *dot = memchr(part.data, '.', part.len);
        if (dot && !rest.len)
            part.len = (size_t)(dot - part.data);
        if (fields == 3 || !count_read(d, part, &n))
            return refuse(d, text,
                          "a time is needed: seconds, minutes:seconds or "
                          "hours:minutes:seconds");
        total = total * 60 + n;
    }
    *ret = total;
    return total > 0 || refuse(d, text, "a limit of a second at least is needed");
}

static void property_add(struct pbs_resources_reading *d, struct span name)
{
    struct pbs_resources *l = &d->r->l;
    l->properties = dialect_features_join(l->properties, kept(d, name), d->a);
}

static bool pair_split(struct span text, struct span *name, struct span *value)
{
    const char *equals = memchr(text.data, '=', text.len);
    *name = (struct span){text.data, equals ? (size_t)(equals - text.data) : text.len};
    *value = equals ? (struct span){equals + 1, text.len - name->len - 1} : (struct span){0};
    return equals != NULL;
}

static bool is_number(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.len > 0;
}

/* ---- select ---- */

static bool arch_read(struct pbs_resources_reading *d, struct span value)
{
    (void)value;
    pbs_note(d->r, d->a, "-l arch", "nodes of another kind have a feature: -l feature=NAME");
    return true;
}

static bool chunk_resource(struct pbs_resources_reading *d, struct span text)
{
    struct pbs_resources *l = &d->r->l;
    struct span name, value;
    if (!pair_split(text, &name, &value))
        return refuse(d, text, "RESOURCE=VALUE is needed in a chunk");
    if (span_is(name, "ncpus"))
        return count_read(d, value, &l->ncpus);
    if (span_is(name, "mpiprocs"))
        return count_read(d, value, &l->mpiprocs);
    if (span_is(name, "ompthreads"))
        return count_read(d, value, &l->threads);
    if (span_is(name, "ngpus"))
        return count_read(d, value, &l->gpus);
    if (span_is(name, "mem"))
        return size_read(d, value, &l->chunk_mib);
    if (span_is(name, "host") || span_is(name, "vnode")) {
        l->host = kept(d, value);
        return true;
    }
    if (span_is(name, "arch"))
        return arch_read(d, value);
    if (span_is(name, "model") || span_is_nocase(value, "true")) { /* a model is a feature, too */
        property_add(d, span_is(name, "model") ? value : name);
        return true;
    }
    /* gpu_model=a100: the feature is the value; rack=3: it is not. */
    struct span said = value.len && strchr("0123456789", value.data[0]) ? name : value;
    return dialect_refuse(d->e, arena_printf(d->a, "-l select with %.*s", (int)name.len, name.data),
                          "ncpus, mpiprocs, ompthreads, mem, ngpus, host, model and NAME=true are "
                          "taken; nodes with a feature are %.*s=true",
                          SPAN_QUOTED(said));
}

/* What a part has is set aside, and the next is read into its place; part_end brings the first
 * back. */
static bool part_begin(struct pbs_resources_reading *d, const char *option)
{
    struct pbs_request *r = d->r;
    struct pbs_resources *l = &r->l;
    if (r->nmore == PBS_PARTS_MAX)
        return dialect_refuse(d->e, option, "at most %d different parts are taken", PBS_PARTS_MAX);
    r->more[r->nmore++] = *l;
    l->chunks = l->ncpus = l->mpiprocs = l->gpus = l->threads = l->nodes = l->ppn = 0;
    l->chunk_mib = 0;
    l->host = l->properties = NULL;
    return true;
}

static void part_end(struct pbs_resources_reading *d)
{
    struct pbs_request *r = d->r;
    if (!r->nmore)
        return;
    struct pbs_resources last = r->l, first = r->more[0];
    for (size_t i = 1; i < r->nmore; i++)
        r->more[i - 1] = r->more[i];
    r->more[r->nmore - 1] = last;
    r->l = first;
}

/* "2:ncpus=4": how many, and of what. */
static bool chunk_split(struct pbs_resources_reading *d, struct span text, int32_t *ret_n,
                        const char **ret_kind)
{
    const char *whole = kept(d, text);
    size_t digits = strspn(whole, "0123456789");
    bool counted = digits && (whole[digits] == ':' || !whole[digits]);
    *ret_n = 1;
    *ret_kind = counted ? whole + digits + (whole[digits] == ':') : whole;
    return (!counted || count_read(d, (struct span){whole, digits}, ret_n)) &&
           (*ret_n > 0 || refuse(d, text, "a chunk at least is needed"));
}

/* Equal chunks beside each other are one part. */
static bool select_read(struct pbs_resources_reading *d, struct span text)
{
    struct pbs_resources *l = &d->r->l;
    struct span rest = text, one;
    const char *before = NULL;
    l->select = true;
    while (span_next(&rest, '+', &one)) {
        const char *kind;
        int32_t n;
        if (!chunk_split(d, one, &n, &kind))
            return false;
        if (before && text_is(kind, before)) {
            l->chunks = amount_i32((int64_t)l->chunks + n);
            continue;
        }
        if (before && !part_begin(d, "-l select"))
            return false;
        before = kind;
        l->chunks = n;
        struct span resources = span_of(*kind ? kind : NULL), part;
        while (resources.data && span_next(&resources, ':', &part))
            if (!chunk_resource(d, part))
                return false;
    }
    part_end(d);
    return before || refuse(d, text, "a chunk at least is needed");
}

static bool place_read(struct pbs_resources_reading *d, struct span text)
{
    struct pbs_resources *l = &d->r->l;
    struct span rest = text, one;
    while (span_next(&rest, ':', &one)) {
        if (span_is(one, "pack"))
            l->place = PBS_PACK;
        else if (span_is(one, "scatter") || span_is(one, "vscatter"))
            l->place = PBS_SCATTER;
        else if (span_is(one, "excl") || span_is(one, "exclhost"))
            l->exclusive = true;
        else if (one.len > 6 && memcmp(one.data, "group=", 6) == 0)
            l->together = true;
        else if (!span_is(one, "free") && !span_is(one, "shared"))
            return refuse(
                d, one,
                "free, pack, scatter, vscatter, excl, exclhost, shared and group=NAME are "
                "allowed");
    }
    l->place_given = true;
    return true;
}

/* ---- nodes ---- */

static bool node_part(struct pbs_resources_reading *d, struct span text, bool first)
{
    struct pbs_resources *l = &d->r->l;
    struct span name, value;
    if (first && is_number(text))
        return count_read(d, text, &l->nodes);
    if (pair_split(text, &name, &value)) {
        if (span_is(name, "ppn"))
            return count_read(d, value, &l->ppn);
        if (span_is(name, "gpus"))
            return count_read(d, value, &l->gpus);
        return refuse(d, text, "ppn=N and gpus=N are allowed");
    }
    if (first) {
        l->host = kept(d, text);
        l->nodes = 1;
    } else if (span_is(text, "exclusive_process") || span_is(text, "shared") ||
               span_is(text, "default") || span_is(text, "exclusive_thread") ||
               span_is(text, "reseterr")) {
        pbs_note(d->r, d->a, "mode of GPUs", "a job always has its GPUs for itself");
    } else {
        property_add(d, text);
    }
    return true;
}

static bool node_whole(struct pbs_resources_reading *d, struct span text)
{
    struct span one;
    for (bool first = true; span_next(&text, ':', &one); first = false)
        if (!node_part(d, one, first))
            return false;
    return true;
}

/* What follows the number, or the name, of a part. */
static struct span tail_of(struct span part)
{
    const char *colon = memchr(part.data, ':', part.len);
    size_t skip = colon ? (size_t)(colon - part.data) : part.len;
    return (struct span){part.data + skip, part.len - skip};
}

/* "2:ppn=4" and "1:ppn=4", "n1:ppn=4" and "n2:ppn=4": the same of other nodes. */
static bool tail_is_same(struct span head, struct span part, struct span last)
{
    struct span a = tail_of(part), b = tail_of(last), before = last;
    before.len -= b.len;
    return is_number(head) == is_number(before) && a.len == b.len &&
           memcmp(a.data, b.data, a.len) == 0;
}

static bool nodes_read(struct pbs_resources_reading *d, struct span text)
{
    const char *hash = memchr(text.data, '#', text.len);
    if (hash) {
        struct span mode = {hash + 1, text.len - (size_t)(hash - text.data) - 1};
        d->r->l.exclusive = span_is(mode, "excl");
        text.len = (size_t)(hash - text.data);
    }
    struct span rest = text, part, one, last = {0};
    struct pbs_resources *l = &d->r->l;
    int64_t all = 0;
    l->nodes_given = true;
    for (bool begun = false; span_next(&rest, '+', &part); begun = true) {
        struct span inside = part;
        int32_t nodes = l->nodes;
        const char *hosts = l->host;
        span_next(&inside, ':', &one);
        bool same = begun && tail_is_same(one, part, last);
        last = part;
        if (begun && !same && !part_begin(d, "-l nodes"))
            return false;
        l->nodes = 1;
        l->host = NULL;
        if (!(same ? node_part(d, one, true) : node_whole(d, part)))
            return false;
        if (l->nodes < 1)
            return refuse(d, part, "a node at least is needed");
        all += l->nodes;
        if (same)
            l->nodes = amount_i32((int64_t)l->nodes + nodes);
        if (same && hosts && l->host)
            l->host = arena_printf(d->a, "%s,%s", hosts, l->host);
    }
    part_end(d);
    l->all_nodes = amount_i32(all);
    return all > 0 || refuse(d, text, "a node at least is needed");
}

/* ---- the rest ---- */

static bool single_read(struct pbs_resources_reading *d, struct span value)
{
    d->r->l.exclusive = span_is(value, "singlejob");
    return d->r->l.exclusive || refuse(d, value, "singlejob is allowed");
}

static bool feature_read(struct pbs_resources_reading *d, struct span value)
{
    struct pbs_resources *l = &d->r->l;
    l->features = dialect_features_join(l->features, kept(d, value), d->a);
    return true;
}

static bool pvmem_read(struct pbs_resources_reading *d, struct span value)
{
    int64_t mib;
    pbs_note(d->r, d->a, "-l pvmem", "memory is what mem, pmem and vmem say");
    return size_read(d, value, &mib);
}

static bool nice_read(struct pbs_resources_reading *d, struct span value)
{
    (void)value;
    pbs_note(d->r, d->a, "-l nice", "processes start with the nice value of others");
    return true;
}

#define NUMBER(name, member)                                                                       \
    static bool name(struct pbs_resources_reading *d, struct span value)                           \
    {                                                                                              \
        return count_read(d, value, &d->r->l.member);                                              \
    }
#define WORD(name, member)                                                                         \
    static bool name(struct pbs_resources_reading *d, struct span value)                           \
    {                                                                                              \
        d->r->l.member = kept(d, value);                                                           \
        return true;                                                                               \
    }
#define SIZE(name, member)                                                                         \
    static bool name(struct pbs_resources_reading *d, struct span value)                           \
    {                                                                                              \
        return size_read(d, value, &d->r->l.member);                                               \
    }
WORD(host_read, host) /* of a job without chunks the one that it is */
WORD(licence_read, licences)
WORD(qos_read, qos)
NUMBER(ncpus_read, ncpus)
NUMBER(ngpus_read, gpus)
NUMBER(procs_read, procs)
NUMBER(mpiprocs_read, mpiprocs)
NUMBER(threads_read, threads)
SIZE(mem_read, mem_mib)
SIZE(pmem_read, pmem_mib)
SIZE(vmem_read, vmem_mib)
SIZE(tmp_read, tmp_mib)

static bool wall_read(struct pbs_resources_reading *d, struct span value)
{
    return time_read(d, value, &d->r->l.wall_s);
}

#define GRID "it is Grid Engine's, and this qsub takes the words of PBS: "

static const struct {
    const char *name;
    bool (*read)(struct pbs_resources_reading *d, struct span value);
    const char *why;                                   /* it is refused */
    void (*write)(struct writing *w, struct str *out); /* NULL = it says nothing of a job */
} resources[] = {
    {"select", select_read, NULL, pbs_write_select},
    {"place", place_read, NULL, pbs_write_place},
    {"nodes", nodes_read, NULL, pbs_write_nodes},
    {"ncpus", ncpus_read, NULL, pbs_write_ncpus},
    {"mpiprocs", mpiprocs_read, NULL, NULL},
    {"ngpus", ngpus_read, NULL, NULL},
    {"gpus", ngpus_read, NULL, pbs_write_gpus},
    {"procs", procs_read, NULL, pbs_write_procs},
    {"mem", mem_read, NULL, pbs_write_mem},
    {"pmem", pmem_read, NULL, pbs_write_pmem},
    {"vmem", vmem_read, NULL, NULL},
    {"pvmem", pvmem_read, NULL, NULL},
    {"walltime", wall_read, NULL, pbs_write_walltime},
    {"file", tmp_read, NULL, pbs_write_file},
    {"qos", qos_read, NULL, pbs_write_qos},
    {"software", licence_read, NULL, pbs_write_software},
    {"feature", feature_read, NULL, NULL},
    {"naccesspolicy", single_read, NULL, NULL},
    {"nice", nice_read, NULL, NULL},
    {"arch", arch_read, NULL, NULL},
    {"host", host_read, NULL, NULL},
    {"vnode", host_read, NULL, NULL},
    {"ompthreads", threads_read, NULL, NULL},
    {"cput", NULL, "walltime limits the run; ulimit -t in the script", NULL},
    {"pcput", NULL, "walltime limits the run; ulimit -t in the script", NULL},
    {"partition", NULL, "there is one cluster; -q names the queue", NULL},
    {"h_rt", NULL, GRID "walltime=", NULL},
    {"s_rt", NULL, GRID "walltime=", NULL},
    {"h_vmem", NULL, GRID "mem=, of the whole job, or pmem=, of each process", NULL},
    {"s_vmem", NULL, GRID "mem=, of the whole job, or pmem=, of each process", NULL},
    {"mem_free", NULL, GRID "mem=", NULL},
    {"virtual_free", NULL, GRID "mem=", NULL},
    {"hostname", NULL, GRID "host=", NULL},
};

static bool resource_read(struct pbs_resources_reading *d, struct span text)
{
    struct span name, value;
    struct pbs_resources *l = &d->r->l;
    bool paired = pair_split(text, &name, &value);
    const char *names[ARRAY_LEN(resources)];
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        names[i] = resources[i].name;
        if (!span_is_nocase(name, resources[i].name))
            continue;
        if (!resources[i].read)
            return dialect_refuse(d->e, arena_printf(d->a, "-l %s", resources[i].name), "%s",
                                  resources[i].why);
        if (!paired || !value.len)
            return refuse(d, text, "a value is needed");
        const char *mark = arena_printf(d->a, " %s ", resources[i].name);
        if (l->seen && strstr(l->seen, mark))
            return true;
        l->seen = arena_printf(d->a, "%s%s", l->seen ? l->seen : "", mark);
        return resources[i].read(d, value);
    }
    const char *near = text_nearest(kept(d, name), names, ARRAY_LEN(resources));
    return err_set(d->e, ERR_UNSUPPORTED, "Unknown resource Resource_List.%.*s%s%s%s",
                   SPAN_QUOTED(name), near ? " (did you mean \"" : "", near ? near : "",
                   near ? "\"?)" : "");
}

bool pbs_resources_read(struct pbs_request *r, const char *text, struct arena *a,
                        struct err *ret_err)
{
    struct pbs_resources_reading d = {r, text, a, ret_err};
    struct span rest = span_of(text), one;
    while (span_next(&rest, ',', &one))
        if (span_trim(one).len && !resource_read(&d, span_trim(one)))
            return false;
    return true;
}

void pbs_resources_write(struct writing *w, const struct option_row *row)
{
    struct str value = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        str_clear(&value);
        if (resources[i].write)
            resources[i].write(w, &value);
        if (value.len)
            writing_line(w, row->name,
                         arena_printf(w->a, "%s=%s", resources[i].name, str_text(&value)));
    }
    str_done(&value);
}
