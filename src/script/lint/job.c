/* What shows only when the options stand beside each other. */
#include "base/alloc.h"
#include "script/lines.h"
#include "script/lint/lint.h"

#include <string.h>

static bool is_given(const struct submit_options *o, const char *option)
{
    return option_source_of(o, option, CMD_SBATCH) != FROM_DEFAULT;
}

/* ---- size ---- */

static void nodes_look(struct lint *l, const struct submit_options *o)
{
    const struct job_request *q = &o->spec.req;
    if (!is_given(o, "nodes") || !is_given(o, "ntasks") || !is_given(o, "ntasks-per-node") ||
        q->overcommit || l->dialect != DIALECT_SLURM || q->node_sizes)
        return;
    int64_t room = (int64_t)q->max_nodes * q->ntasks_per_node;
    unsigned line = lint_line_of(l, "ntasks"), other = lint_line_of(l, "ntasks-per-node");
    if (q->ntasks > room)
        lint_find(l, RULE_NODES_AND_TASKS, line, other,
                  "%d tasks do not fit on %d node%s with at most %d each, which are %lld",
                  q->ntasks, q->max_nodes, q->max_nodes == 1 ? "" : "s", q->ntasks_per_node,
                  (long long)room);
    else if (q->min_nodes == q->max_nodes && q->ntasks < room)
        lint_find(l, RULE_NODES_AND_TASKS, line, other,
                  "%d tasks are asked for, and %d nodes with %d each would be %lld; the number of "
                  "tasks counts",
                  q->ntasks, q->max_nodes, q->ntasks_per_node, (long long)room);
}

static void gpus_look(struct lint *l, const struct submit_options *o)
{
    static const char *const others[] = {"gpus", "gpus-per-node", "gpus-per-task",
                                         "gpus-per-socket"};
    const char *gres = o->given[option_index(option_named("gres", CMD_SBATCH))];
    if (!is_given(o, "gres") || !gres || !strstr(gres, "gpu"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (!is_given(o, others[i]))
            continue;
        bool agree = text_is(others[i], "gpus-per-node") && l->readable && !o->spec.req.gres;
        lint_find(l, RULE_GPUS_TWICE, lint_line_of(l, others[i]), lint_line_of(l, "gres"),
                  agree ? "the same GPUs are asked for by --gres=%s and --%s; one is enough"
                        : "GPUs are asked for twice: --gres=%s is of each node; give one of it and "
                          "--%s",
                  gres, others[i]);
        if (agree)
            l->finding.v[l->finding.n - 1].level = LINT_NOTE;
    }
}

/* ---- mail ---- */

static void mail_look(struct lint *l, const struct submit_options *o)
{
    const struct job_spec *j = &o->spec;
    static const char *const how[] = {
        [DIALECT_SLURM] = "--mail-type=END,FAIL", [DIALECT_LSF] = "-N", [DIALECT_PBS] = "-m ae"};
    static const char *const who[] = {[DIALECT_SLURM] = "--mail-user=ADDRESS",
                                      [DIALECT_LSF] = "-u ADDRESS",
                                      [DIALECT_PBS] = "-M ADDRESS"};
    bool off = is_given(o, "mail-type") && !j->mail_types;
    bool pbs_off = l->dialect == DIALECT_PBS && l->pbs.mail_points;
    if (j->mail_user && !j->mail_types && !off && !pbs_off)
        lint_find(l, RULE_MAIL_TYPE, lint_line_of(l, "mail-user"), 0,
                  "no mail is sent, as nothing says when; add %s", how[l->dialect]);
    if (j->mail_types && text_empty(j->mail_user))
        lint_find(l, RULE_MAIL_USER, lint_line_of(l, "mail-type"), 0,
                  "mail goes to the user on the cluster; add %s for another", who[l->dialect]);
}

/* ---- files ---- */

static void directory_look(struct lint *l, const char *option, const char *file, const char *from,
                           lint_is_directory is_directory)
{
    bool input = text_is(option, "input");
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (!slash || slash == file)
        return;
    const char *dir = arena_strndup(l->a, file, (size_t)(slash - file));
    if (strpbrk(dir, "%$\\~") || is_directory(dir, from))
        return;
    lint_find(l, RULE_NO_DIRECTORY, lint_line_of(l, option), 0,
              input ? "there is no directory %s"
                    : "there is no directory %s yet; it is made when the job starts",
              dir);
    struct lint_finding *last = &l->finding.v[l->finding.n - 1];
    if (!input && last->rule == RULE_NO_DIRECTORY)
        last->level = LINT_NOTE;
}

static void files_look(struct lint *l, const struct submit_options *o,
                       lint_is_directory is_directory)
{
    const struct job_spec *j = &o->spec;
    bool made = l->dialect == DIALECT_LSF && !l->by_sbatch; /* bsub makes -cwd */
    const char *dir = j->work_dir;
    if (!is_directory)
        return;
    if (dir && !made && !strpbrk(dir, "%$~") && !is_directory(dir, NULL)) {
        lint_find(l, RULE_NO_DIRECTORY, lint_line_of(l, "chdir"), 0, "there is no directory %s",
                  dir);
        return;
    }
    const char *from = l->dialect == DIALECT_PBS ? NULL : made ? NULL : dir;
    directory_look(l, "output", j->std_out, from, is_directory);
    directory_look(l, "error", j->std_err, from, is_directory);
    directory_look(l, "input", j->std_in, from, is_directory);
}

/* Does the name of the file differ from element to element? */
static bool differs_by_element(const char *file)
{
    for (const char *c = file; *c; c++) {
        if (*c != '%')
            continue;
        c++;
        while (*c >= '0' && *c <= '9')
            c++;
        if (!*c)
            break;
        if (strchr("ajJb", *c))
            return true;
    }
    return false;
}

static void shared_look(struct lint *l, const struct submit_options *o)
{
    const struct job_spec *j = &o->spec;
    static const char *const index[] = {
        [DIALECT_SLURM] = "%a", [DIALECT_LSF] = "%I", [DIALECT_PBS] = "^array_index^"};
    const struct {
        const char *option, *file;
    } files[] = {{"output", j->std_out}, {"error", j->std_err}};
    for (size_t i = 0; j->array && i < ARRAY_LEN(files); i++)
        if (files[i].file && !text_is(files[i].file, "/dev/null") &&
            !differs_by_element(files[i].file))
            lint_find(l, RULE_SHARED_OUTPUT, lint_line_of(l, files[i].option),
                      lint_line_of(l, "array"), "all elements of the array write to %s; put %s in",
                      files[i].file, index[l->dialect]);
}

/* ---- what is LSF's and PBS' own ---- */

static void lsf_look(struct lint *l)
{
    const struct lsf_request *r = &l->lsf;
    for (size_t i = 0; i < l->option.n; i++) {
        const struct lint_option *o = &l->option.v[i];
        const char *name = o->row->name;
        if (text_is(name, "o") && o->value && !strstr(o->value, "%J") &&
            !text_is(o->value, "/dev/null"))
            lint_find(l, RULE_CONTINUED_OUTPUT, o->line, 0,
                      "the next job goes on in %s; -oo begins it anew, %%J puts the number in",
                      o->value);
        if (text_is(name, "L") && (l->len < 2 || memcmp(l->text, "#!", 2) != 0))
            lint_find(l, RULE_LOGIN_SHELL, o->line, 0,
                      "-L names the shell whose login environment is taken; the script runs under "
                      "/bin/sh, as its first line is no #!");
        if (text_is(name, "R") && o->value && strstr(o->value, "mem=") && r->slots > 1 &&
            r->mem_per == LSF_MEM_OF_SITE && strstr(o->value, "rusage"))
            lint_find(l, RULE_MEMORY_PER, o->line, 0,
                      "by LsfReservePer=%s that is of each %s; mem=N/host, /task or /job says it "
                      "for every site",
                      r->site->lsf_mem_per_slot ? "slot" : "host",
                      r->site->lsf_mem_per_slot ? "slot" : "host");
    }
}

static void pbs_look(struct lint *l)
{
    const struct pbs_resources *r = &l->pbs.l;
    int32_t parts = r->nodes > r->procs ? r->nodes : r->procs;
    if (r->select && r->chunks > 1 && !r->place_given && r->mpiprocs <= 1)
        lint_find(l, RULE_CHUNKS_TOGETHER, lint_line_of(l, "ntasks"), 0,
                  "the %d chunks may share a node; -l place=scatter gives each a node of its own",
                  r->chunks);
    if (!r->select && r->mem_mib && parts > 1)
        lint_find(l, RULE_MEMORY_PER, lint_line_of(l, "mem"), 0,
                  "mem is of the whole job to PBS: of %d parts each has %lld MB", parts,
                  (long long)((r->mem_mib + parts - 1) / parts));
}

void lint_job_look(struct lint *l, lint_is_directory is_directory)
{
    for (size_t i = 0; i < l->ncomp; i++) {
        const struct submit_options *o = &l->comp[i];
        nodes_look(l, o);
        gpus_look(l, o);
        if (i > 0)
            continue;
        mail_look(l, o);
        files_look(l, o, is_directory);
        shared_look(l, o);
    }
    if (l->dialect == DIALECT_LSF)
        lsf_look(l);
    else if (l->dialect == DIALECT_PBS)
        pbs_look(l);
}
