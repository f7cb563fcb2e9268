/* remuda translate: random scripts of each system become the same job in each other, and there and
 * back again. What differs must have been told of. */
#include "script_translate_help.h"

/* ---- random scripts: values for the rows of the tables ---- */

/* `values`: parted by '\n'; "" is the flag. A row that has none is left out, and `why` says why. */
struct pool {
    const char *option, *values, *why;
};

// clang-format off
static const struct pool slurm_pool[] = {
    {"account", "physics\nchem-1", NULL}, {"array", "1-9\n0-5\n3\n1,4,7\n1-20:2\n2-8%3\n1-4,9%2", NULL},
    {"begin", "2026-12-24T10:00:00\nnow+1hour\n2027-01-01T00:00:30", NULL}, {"chdir", "/tmp/x\nrel/dir", NULL},
    {"comment", "a comment\nit's\nplain", NULL}, {"constraint", "a\na&b\na|b|c\n[a*2&b*1]\nskylake&ib", NULL},
    {"cpus-per-task", "1\n2\n8", NULL}, {"dependency", "afterok:12\nafterany:12:13\nafterok:1,afternotok:2\nafterok:3?afterany:4\nsingleton\nafterok:7_3\naftercorr:9\nafter:5+10", NULL},
    {"distribution", "cyclic\nblock\nplane=2", NULL}, {"error", "e.%j\ne.%A_%a\n/dev/null", NULL}, {"exclude", "n1\nn[1-3]", NULL},
    {"exclusive", "\nuser", NULL}, {"export", "ALL\nNONE\nA,B=1\nALL,A=1\nNIL", NULL}, {"get-user-env", "", NULL},
    {"gpu-mem", "16G", NULL}, {"gpus", "2\nv100:4", NULL}, {"gpus-per-node", "2\na100:4", NULL}, {"gpus-per-task", "1\nv100:1", NULL},
    {"gres", "gpu:2\ngpu:a100:1\nnic:1\ngpu:1,nic:2", NULL}, {"hold", "", NULL}, {"input", "in.txt\nin.%a", NULL}, {"job-name", "a\nmy job\nx[1]\nit's \"so\"", NULL},
    {"kill-on-invalid-dep", "yes\nno", NULL}, {"licenses", "matlab\nmatlab:2,x:1\na@b:1", NULL}, {"mail-type", "END\nFAIL\nBEGIN,END,FAIL\nALL\nNONE\nEND,FAIL,TIME_LIMIT", NULL},
    {"mail-user", "a@b.org", NULL}, {"mem", "4G\n500\n0", NULL}, {"mem-per-cpu", "1G\n700", NULL}, {"mincpus", "4", NULL}, {"nice", "10\n2000", NULL},
    {"no-kill", "", NULL}, {"no-requeue", "", NULL}, {"nodelist", "n1\nn[1-2]", NULL}, {"nodes", "1\n2\n4\n2-4", NULL}, {"ntasks", "1\n4\n5\n8", NULL}, {"ntasks-per-node", "1\n2\n4", NULL},
    {"open-mode", "append\ntruncate", NULL}, {"output", "o.%j\n%x-%A_%a.out\no.txt\n%x.o%j\nd/%u\na%%b", NULL}, {"partition", "gpu\na,b", NULL}, {"qos", "high", NULL},
    {"requeue", "", NULL}, {"reservation", "r1", NULL}, {"signal", "B:USR1@120\nUSR2@90\nB:TERM", NULL}, {"switches", "1\n2@10", NULL}, {"time", "90\n1:30:00\n2-0\n0:45\nUNLIMITED", NULL},
    {"time-min", "10", NULL}, {"tmp", "10G\n300", NULL}, {"wait", "", NULL}, {"contiguous", "", NULL}, {"ntasks-per-core", "1", NULL}, {"wckey", "k", NULL}, {"hint", "nomultithread", NULL},
};
static const struct pool lsf_pool[] = {
    {"B", "", NULL}, {"G", "grp", NULL}, {"H", "", NULL}, {"J", "a\nb[1-9]\nc[2-8:2,20]%3\n[4-5]", NULL}, {"Jd", "some text", NULL}, {"K", "", NULL}, {"L", "/bin/bash", NULL},
    {"M", "4GB\n500MB", NULL}, {"N", "", NULL}, {"Ne", "", NULL}, {"P", "proj", NULL},
    {"R", "span[hosts=1]\nspan[ptile=2]\nspan[ptile=4] rusage[mem=4GB]\nrusage[mem=2GB/task]\nrusage[mem=16GB/job]\nselect[a && b]\nselect[(a || b)]\naffinity[core(4)]\nrusage[matlab=2:mem=1GB/host]\ncu[maxcus=2]\nspan[stripe]\nselect[tmp>=300MB && ncpus>=4 && hname!='n1']\nselect[mem>1GB && !a]\nspan[block=2]\nspan[ptile=2:stripe]\nsame[type]\nrusage[mem=1GB:tmp=2GB] select[a]", NULL},
    {"U", "resv", NULL}, {"W", "90\n24:00\n1:30", NULL}, {"b", "2026:12:24:10:00", NULL}, {"cwd", "/tmp/d", NULL}, {"e", "e.%J\ne.%J.%I\nd/", NULL}, {"env", "all\nnone\nA,B=1", NULL}, {"eo", "e.%J", NULL},
    {"gpu", "num=2\nnum=1:gmodel=V100\nnum=1/task\nnum=2:gmodel=A100-40G\nnum=2:gtile=1\n-", NULL}, {"g", "/a\n/a/b", NULL}, {"t", "2026:12:24:10:00", NULL}, {"i", "in", NULL}, {"is", "in2", NULL}, {"n", "1\n4\n5\n8\n2,4", NULL}, {"nnodes", "2", NULL}, {"notify", "done\nstart exit", NULL},
    {"o", "o.%J\nout\nd/", NULL}, {"oo", "o.%J.%I\no", NULL}, {"q", "hpc\na b", NULL}, {"r", "", NULL}, {"rn", "", NULL}, {"ti", "", NULL}, {"u", "x@y", NULL},
    {"w", "done(12)\ndone(12) && ended(13)\nexit(4) || started(5)\ndone(3[2])\ndone(8[*])\ndone(3[1-2,5])\nexit(3[1-2],>2) || done(9)\n!ended(4) && (done(5) || exit(6,3))\nnumdone(7,>=3)\nnumended(7,*)", NULL}, {"wa", "USR1", NULL}, {"wt", "5", NULL}, {"x", "", NULL}, {"outdir", "out", NULL},
    {"I", NULL, "not of scripts"}, {"IS", NULL, "the same"}, {"ISp", NULL, "the same"}, {"ISs", NULL, "the same"}, {"Ip", NULL, "the same"}, {"Is", NULL, "the same"}, {"tty", NULL, "the same"},
    {"C", NULL, "limits of the process that submits"}, {"D", NULL, "the same"}, {"F", NULL, "the same"}, {"S", NULL, "the same"},
    {"V", NULL, "of the command"}, {"Zs", NULL, "always so"}, {"h", NULL, "of the command"}, {"hl", NULL, "always so"}, {"lint", NULL, "of the command"}, {"m", NULL, "hosts of the cluster"}, {"ul", NULL, "always so"},
};
static const struct pool pbs_pool[] = {
    {"A", "acct", NULL}, {"J", "0-9\n1-9:2%2", NULL}, {"M", "a@b,c@d", NULL}, {"N", "job\nx-1", NULL}, {"P", "proj", NULL}, {"R", "oe\ne", NULL}, {"S", "/bin/bash", NULL}, {"V", "", NULL},
    {"W", "depend=afterok:12.srv:13\numask=77\nblock=true\nx=advres:r1\ndepend=after:3,afterany:4[2]\ndepend=afternotok:5:6,on:2\ndepend=afterokarray:7[][3]\ngroup_list=root\numask=022,depend=afterany:9", NULL}, {"a", "202612241000.30\n2359", NULL}, {"d", "/tmp/x", NULL}, {"e", "err\n/dev/null", NULL}, {"h", "", NULL},
    {"f", "", NULL}, {"j", "oe\neo\nn", NULL},
    {"l", "select=2:ncpus=4:mem=8gb\nselect=1:ncpus=8:mpiprocs=4:ngpus=2\nselect=4:ncpus=2:mpiprocs=2:mem=4gb,place=scatter\nselect=3:ncpus=1:ngpus=1:a=true,place=scatter:excl\nnodes=2:ppn=4\nnodes=1:ppn=8:gpus=2,mem=16gb\nprocs=6,pmem=1gb\nncpus=4,mem=4gb\nwalltime=1:30:00\nwalltime=90\nncpus=2,pmem=500mb\nselect=1:ncpus=2:host=n3\nfile=3gb\nsoftware=matlab:2\nqos=high\nncpus=4,mpiprocs=2\nhost=n1,ncpus=2\nselect=1:ncpus=2:arch=linux\nnodes=n1:ppn=2+n2:ppn=2\nfeature=a,walltime=10\nselect=4:ncpus=1:mem=1gb,place=pack\nselect=2:ncpus=2,place=free:group=switch", NULL},
    {"m", "abe\nn\na\nbej", NULL}, {"n", "", NULL}, {"o", "out\nd/\no.^array_index^\n/dev/null", NULL}, {"p", "-10\n-1024", NULL}, {"q", "work\nq@srv", NULL}, {"r", "y\nn", NULL}, {"t", "1,5\n3\n1-8%2", NULL}, {"v", "A,B=1", NULL},
    {"C", NULL, "of the command line"}, {"D", NULL, "as -d"}, {"F", NULL, "arguments"}, {"I", NULL, "not of scripts"}, {"b", NULL, "of the command"}, {"k", NULL, "always so"}, {"help", NULL, "of the command"}, {"lint", NULL, "of the command"}, {"u", NULL, "oneself"}, {"version", NULL, "of the command"}, {"w", NULL, "as -d"}, {"z", NULL, "of the command"},
};
// clang-format on

static const struct pool *pool_of(enum dialect d, size_t i)
{
    switch (d) {
    case DIALECT_SLURM: return i < ARRAY_LEN(slurm_pool) ? &slurm_pool[i] : NULL;
    case DIALECT_LSF: return i < ARRAY_LEN(lsf_pool) ? &lsf_pool[i] : NULL;
    case DIALECT_PBS: return i < ARRAY_LEN(pbs_pool) ? &pbs_pool[i] : NULL;
    }
    return NULL;
}

static const char *value_of(struct rng *r, const struct pool *p, struct arena *a)
{
    struct span rest = span_of(p->values), one = {0};
    size_t n = 1;
    for (const char *c = p->values; *c; c++)
        n += *c == '\n';
    for (size_t k = rng_below(r, n) + 1; k > 0; k--)
        span_next(&rest, '\n', &one);
    return arena_strndup(a, one.data ? one.data : "", one.len);
}

static void option_add(enum dialect d, const char *option, const char *value, struct str *out)
{
    char quote = strchr(value, '"') ? '\'' : '"';
    if (d == DIALECT_SLURM && strchr(value, '"') && strchr(value, '\'')) {
        str_addf(out, "#SBATCH --%s=\"it's \\\"so\\\"\"\n", option);
        return;
    }
    str_addf(out, "%s %s%s", script_prefix(d), d == DIALECT_SLURM ? "--" : "-", option);
    if (*value)
        str_addf(out, "%s%c%s%c", d == DIALECT_SLURM ? "=" : " ", quote, value, quote);
    str_addc(out, '\n');
}

static const char *script_random(enum dialect d, uint64_t seed, struct arena *a)
{
    struct rng r = {seed};
    struct str out = STR_INIT;
    const struct pool *p;
    uint64_t often = 3 + rng_below(&r, 12);
    str_add(&out, "#!/bin/bash\n");
    for (size_t i = 0; (p = pool_of(d, i)); i++)
        if (p->values && rng_below(&r, often) == 0)
            option_add(d, p->option, value_of(&r, p, a), &out);
    str_add(&out, "echo done\n");
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* ---- is it the same job ---- */

struct same {
    const char *mem, *gpus, *array, *depend, *exclude, *licences, *out, *err, *in;
    struct writing_size size;
    bool per_task_gpus;
};

static const char *kept(struct str *s, struct arena *a)
{
    const char *text = arena_strdup(a, str_text(s));
    str_done(s);
    return text;
}

/* Of other jobs than arrays the number has three names; the job's name may be written out. */
static const char *file_same(const struct job_spec *j, const char *file, struct arena *a)
{
    struct str out = STR_INIT;
    for (const char *c = file ? file : ""; *c; c++) {
        if (c[0] == '%' && (c[1] == 'j' || c[1] == 'J') && !j->array)
            str_add(&out, "%A"), c++;
        else if (c[0] == '%' && c[1] == 'x')
            str_add(&out, j->name ? j->name : "job"), c++;
        else if (c[0] == '%' && c[1] == '%')
            str_add(&out, "%%"), c++;
        else
            str_addc(&out, *c);
    }
    return kept(&out, a);
}

static const char *gpus_same(const struct writing *w, struct arena *a)
{
    const struct job_request *q = &w->j->req;
    struct writing copy = *w;
    const char *type = NULL, *option = NULL;
    int64_t n = 0;
    memset(&copy.note, 0, sizeof copy.note);
    enum writing_gpus kind = writing_gpus_of(&copy, &type, &n, &option);
    vec_done(&copy.note);
    if (kind == GPUS_OTHER)
        return arena_printf(a, "%s %s %s %s", q->gres, q->gpus, q->gpus_per_node, q->gpus_per_task);
    if (kind == GPUS_PER_TASK && w->size.tasks == 1)
        kind = GPUS_PER_NODE;
    return kind == GPUS_NONE
               ? ""
               : arena_printf(a, "%d %s %lld", kind, type ? type : "any", (long long)n);
}

static void same_of(const struct submit_options *o, struct same *s, struct arena *a)
{
    const struct job_spec *j = &o->spec;
    const struct job_request *q = &j->req;
    struct writing w = {.o = o, .j = j, .a = a};
    struct dependency_list list;
    struct hostlist hosts = HOSTLIST_INIT;
    struct idset ids = IDSET_INIT;
    struct str text = STR_INIT;
    uint32_t limit = 0;
    writing_size_fill(&w, false);
    if (w.size.tasks == 1)
        w.size.nodes = w.size.per_node = 1;
    w.size.whole_nodes = false;
    s->gpus = gpus_same(&w, a);
    s->size = w.size;
    s->mem =
        arena_printf(a, "%lld/%lld", (long long)q->mem_per_node_mib, (long long)q->mem_per_cpu_mib);
    if (j->dependency && dependency_parse(j->dependency, a, &list, NULL))
        dependency_format(&list, &text);
    s->depend = kept(&text, a);
    text = STR_INIT;
    if (q->exclude && hostlist_parse(&hosts, q->exclude, NULL))
        hostlist_fold(&hosts, &text);
    s->exclude = kept(&text, a);
    hostlist_done(&hosts);
    text = STR_INIT;
    if (j->array && array_parse(j->array, 1u << 30, &ids, &limit, NULL)) {
        array_format_tasks(&ids, &text);
        str_addf(&text, "%%%u", limit);
    }
    s->array = kept(&text, a);
    idset_done(&ids);
    text = STR_INIT;
    struct span rest = span_of(q->licenses), one;
    while (rest.data && span_next(&rest, ',', &one))
        str_addf(&text, "%.*s%s,", (int)one.len, one.data,
                 memchr(one.data, ':', one.len) ? "" : ":1");
    s->licences = kept(&text, a);
    s->out = file_same(j,
                       j->std_out ? j->std_out
                       : j->array ? "slurm-%A_%a.out"
                                  : "slurm-%A.out",
                       a);
    s->err = file_same(j, j->std_err, a);
    if (!strcmp(s->err, s->out))
        s->err = ""; /* joined */
    s->in = file_same(j, j->std_in, a);
}

struct comparison {
    struct world *w;
    const struct submit_options *one, *other;
    const struct translation *t;
    enum dialect from, to;
    const char *first, *second;
};

/* Was it told of any of these options of sbatch? */
static bool told(const struct comparison *c, const char *options)
{
    for (size_t i = 0; i < c->t->note.n; i++) {
        struct span rest = span_of(options), one;
        const char *option = c->t->note.v[i].option;
        while (option && span_next(&rest, ' ', &one))
            if (span_is(one, option))
                return true;
    }
    return false;
}

static void differ(const struct comparison *c, const char *what, const char *a, const char *b)
{
    print_error("---- %s\n%s---- became\n%s", script_command(c->from), c->first, c->second);
    for (size_t i = 0; i < c->t->note.n; i++)
        print_error("note: %s: %s\n", c->t->note.v[i].option ? c->t->note.v[i].option : "-",
                    c->t->note.v[i].text);
    fail_msg("%s differs: \"%s\" and \"%s\"", what, a ? a : "", b ? b : "");
}

static void text_compare(const struct comparison *c, const char *options, const char *a,
                         const char *b)
{
    if (!told(c, options) && strcmp(a ? a : "", b ? b : "") != 0)
        differ(c, options, a, b);
}

static void number_compare(const struct comparison *c, const char *options, int64_t a, int64_t b)
{
    char x[32], y[32];
    snprintf(x, sizeof x, "%lld", (long long)a);
    snprintf(y, sizeof y, "%lld", (long long)b);
    text_compare(c, options, x, y);
}

/* Fields that are compared by what they mean above, or belong to the system that submits. */
static bool is_apart(const char *field)
{
    static const char *const names[] = {"ntasks",
                                        "cpus_per_task",
                                        "min_nodes",
                                        "max_nodes",
                                        "ntasks_per_node",
                                        "node_sizes",
                                        "mem_per_node_mib",
                                        "mem_per_cpu_mib",
                                        "gres",
                                        "gpus",
                                        "gpus_per_node",
                                        "gpus_per_task",
                                        "array",
                                        "dependency",
                                        "exclude",
                                        "licenses",
                                        "std_out",
                                        "std_err",
                                        "std_in",
                                        "name",
                                        "requeue",
                                        "kill_on_invalid_dep",
                                        "open_mode",
                                        "export_env",
                                        "work_dir",
                                        "mail_types",
                                        "signal",
                                        "signal_before_us",
                                        "signal_batch",
                                        "exclusive",
                                        "switches",
                                        "switches_wait_us",
                                        "constraint",
                                        "dialect",
                                        "dialect_site",
                                        "project",
                                        "job_group",
                                        "no_effect",
                                        "hint",
                                        "nice"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(names[i], field))
            return true;
    return false;
}

/* The option of sbatch that fills just that field. */
static const char *option_of(const struct field *f)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++)
        if ((row->commands & CMD_SBATCH) && (row->at || !strcmp(row->name, "partition")) &&
            row->at == offsetof(struct submit_options, spec) + f->offset)
            return row->name;
    static char name[64]; /* time_min_us: as it stands; get_user_env: get-user-env */
    snprintf(name, sizeof name, "%s", f->name);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

static void fields_compare(const struct comparison *c)
{
    struct str a = STR_INIT, b = STR_INIT;
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (is_apart(f->name))
            continue;
        str_clear(&a);
        str_clear(&b);
        field_write(&a, f, &c->one->spec);
        field_write(&b, f, &c->other->spec);
        const char *x = arena_strdup(c->w->a, str_text(&a)),
                   *y = arena_strdup(c->w->a, str_text(&b));
        text_compare(c, option_of(f), x, y);
    }
    str_done(&a);
    str_done(&b);
}

static const char *export_of(const struct job_spec *j)
{
    return j->export_env ? j->export_env : "ALL";
}

static void jobs_compare(const struct comparison *c)
{
    const struct job_spec *a = &c->one->spec, *b = &c->other->spec;
    struct same s = {0}, t = {0};
    same_of(c->one, &s, c->w->a);
    same_of(c->other, &t, c->w->a);
    const char *size = "ntasks nodes ntasks-per-node";
    number_compare(c, size, s.size.tasks, t.size.tasks);
    number_compare(c, size, s.size.nodes, t.size.nodes);
    number_compare(c, size, s.size.per_node, t.size.per_node);
    number_compare(c, "cpus-per-task", s.size.cpus, t.size.cpus);
    text_compare(c, "mem mem-per-cpu", s.mem, t.mem);
    text_compare(c, "gpus gpus-per-node gpus-per-task gres", s.gpus, t.gpus);
    text_compare(c, "array", s.array, t.array);
    text_compare(c, "dependency", s.depend, t.depend);
    text_compare(c, "exclude", s.exclude, t.exclude);
    text_compare(c, "licenses", s.licences, t.licences);
    if (!told(c, "job-name array")) {
        text_compare(c, "output", s.out, t.out);
        text_compare(c, "error", s.err, t.err);
        text_compare(c, "input", s.in, t.in);
    }
    text_compare(c, "job-name", a->name ? a->name : "job", b->name ? b->name : "job");
    number_compare(c, "requeue no-requeue", a->requeue == NO, b->requeue == NO);
    if (s.depend[0] || t.depend[0])
        number_compare(c, "kill-on-invalid-dep dependency", a->kill_on_invalid_dep == YES,
                       b->kill_on_invalid_dep == YES);
    number_compare(c, "open-mode", a->open_mode == OPEN_APPEND, b->open_mode == OPEN_APPEND);
    text_compare(c, "export", export_of(a), export_of(b));
    if (c->from != DIALECT_PBS && c->to != DIALECT_PBS)
        text_compare(c, "chdir", a->work_dir, b->work_dir);
    number_compare(c, "mail-type", a->mail_types, b->mail_types);
    number_compare(c, "signal", a->signal, b->signal);
    number_compare(c, "signal", a->signal_before_us, b->signal_before_us);
    number_compare(c, "exclusive", a->req.exclusive, b->req.exclusive);
    number_compare(c, "switches", a->req.switches, b->req.switches);
    text_compare(c, "constraint", a->req.constraint, b->req.constraint);
    number_compare(c, "nice", a->nice, b->nice);
    number_compare(c, "hint", a->req.hint, b->req.hint);
    number_compare(c, "wait", c->one->wait, c->other->wait);
    fields_compare(c);
}

/* ---- there, and back ---- */

/* The job that the text is; false: it is none. */
static bool read_again(struct world *w, const char *text, enum dialect d, struct lint *l)
{
    *l = (struct lint){.dialect = d, .env = &w->env, .a = w->a};
    lint_read_alone(l, text, strlen(text), 0, NULL);
    return l->readable && lint_count(l, LINT_ERROR) == 0;
}

static void one_way(struct world *w, const char *text, const struct translation *t,
                    enum dialect from, enum dialect to)
{
    struct lint l;
    if (!read_again(w, t->text, to, &l)) {
        print_error("---- %s\n%s---- became\n%s", script_command(from), text, t->text);
        fail_msg("%s does not take it: %s", script_command(to),
                 l.finding.n ? l.finding.v[0].text : "");
    }
    const struct comparison c = {w, t->job, l.comp, t, from, to, text, t->text};
    jobs_compare(&c);
    lint_done(&l);
}

static bool there_and_back(struct world *w, const char *text, enum dialect from, enum dialect to)
{
    struct translation there, back;
    if (!translated(w, text, from, to, &there))
        return false;
    one_way(w, text, &there, from, to);
    if (!translated(w, there.text, to, from, &back))
        fail_msg("%s\ncannot be taken back: %s", there.text, w->err.text);
    one_way(w, there.text, &back, to, from);
    translation_done(&there);
    translation_done(&back);
    return true;
}

static void random_scripts(void **state, bool torque)
{
    struct world *w = *state;
    struct dialect_site site = dialect_site_standard();
    unsigned rounds = 0, taken = 0;
    site.torque = torque;
    w->env.site = &site;
    const char *given = getenv("REMUDA_TRANSLATE_SEEDS"); /* more, or one alone: "7-7" */
    unsigned long long first = 1, last = 120;
    if (given && sscanf(given, "%llu-%llu", &first, &last) != 2)
        fail_msg("REMUDA_TRANSLATE_SEEDS=%s: FIRST-LAST is needed", given);
    for (uint64_t seed = first; seed <= last; seed++)
        for (unsigned from = DIALECT_SLURM; from <= DIALECT_PBS; from++)
            for (unsigned to = DIALECT_SLURM; to <= DIALECT_PBS; to++) {
                if (from == to)
                    continue;
                arena_reset(w->a);
                const char *text = script_random((enum dialect)from, seed * 3 + from, w->a);
                taken += there_and_back(w, text, (enum dialect)from, (enum dialect)to);
                rounds++;
            }
    if (taken * 10 < rounds * 6)
        fail_msg("only %u of %u scripts were jobs", taken, rounds);
}

static void random_scripts_are_the_same_job_there_and_back(void **state)
{
    random_scripts(state, false);
}

static void with_torque_as_well(void **state)
{
    random_scripts(state, true);
}

/* Every row that is honoured has values above, or a reason why not. */
static void rows_have_values(enum dialect d, const struct option_table *t)
{
    const struct option_row *row;
    const struct pool *p;
    for (size_t k = 0; (row = option_row_at(t, k)); k++) {
        bool found = row->support != SUPPORT_HONOURED;
        for (size_t i = 0; (p = pool_of(d, i)); i++)
            found |= !strcmp(p->option, row->name);
        if (!found)
            fail_msg("no script has -%s of %s", row->name, script_command(d));
    }
    for (size_t i = 0; (p = pool_of(d, i)); i++)
        if (!option_row_named(t, p->option))
            fail_msg("%s has no -%s", script_command(d), p->option);
}

static void each_row_of_bsub_and_qsub_is_in_a_script(void **state)
{
    (void)state;
    rows_have_values(DIALECT_LSF, &bsub_options);
    rows_have_values(DIALECT_PBS, &qsub_options);
    for (size_t i = 0; i < ARRAY_LEN(slurm_pool); i++)
        assert_non_null(option_named(slurm_pool[i].option, CMD_SBATCH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_scripts_are_the_same_job_there_and_back, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(with_torque_as_well, world_setup, world_teardown),
        cmocka_unit_test(each_row_of_bsub_and_qsub_is_in_a_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
