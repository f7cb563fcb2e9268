/* The script is read as its command reads it (lint/reading.c) and becomes the options of sbatch
 * that the job is; each row of the other system's table then says what of it is its own
 * (option_row.write). What no row has said is a note. Of Slurm the rows are those options.
 *
 * Directives are written where the first of them stood. Lines that the other system would take for
 * its own become comments. */
#include "script/translate.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/plain.h"
#include "model/job/array.h"
#include "model/limits.h"
#include "script/dialect_commands.h"
#include "script/dialect_variables.h"
#include "script/lines.h"
#include "script/lint/lint.h"
#include "script/options/values.h"
#include "script/script.h"

#include <stdlib.h>
#include <string.h>

#define MARK "# remuda translate: "

struct translating {
    struct writing w;
    struct lint l;
    enum dialect from;
    struct str out, directives;
    bool written; /* the directives are in `out` */
    bool shell;   /* a shell runs the script: a line of it may be added */
    bool moved;   /* the line that goes to the directory is in */
    const struct dialect_command *command[16]; /* that have been told of */
    size_t ncommand;
};

/* ---- the options ---- */

/* Options of the command, which are not the job's. */
static bool is_of_command(const char *name)
{
    static const char *const names[] = {"help",      "usage",    "version",    "verbose",
                                        "quiet",     "lint",     "ignore-pbs", "parsable",
                                        "test-only", "clusters", "wrap"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_is(names[i], name))
            return true;
    return false;
}

static bool opens_apart(const struct writing *w)
{
    return w->j->open_mode == OPEN_TRUNCATE_OUTPUT || w->j->open_mode == OPEN_TRUNCATE_ERROR;
}

static void slurm_write(struct writing *w)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        const char *given = w->o->given[i];
        if (w->o->source[i] == FROM_DEFAULT || is_of_command(row->name))
            continue;
        w->said[i] = true;
        if (opens_apart(w) && text_is(row->name, "open-mode"))
            given = "append";
        if (!writing_line(w, row->name,
                          row->arg == ARG_NONE || (row->arg == ARG_OPTIONAL && !*given) ? NULL
                                                                                        : given))
            writing_lost(w, row->name, "the value cannot be written in one line");
    }
    if (w->j->get_user_env && !writing_given(w, "get-user-env"))
        writing_line(w, "get-user-env", NULL);
    if (opens_apart(w))
        writing_lost(w, "open-mode", "Slurm begins both files anew, or continues both");
    if (w->j->job_group)
        writing_lost(w, NULL, "the job group %s: Slurm has none", w->j->job_group);
    if (w->j->project && !text_is(w->j->project, w->j->req.account))
        writing_lost(w, NULL, "the project %s: Slurm has accounts only", w->j->project);
}

/* Parts of LSF and PBS that differ are components, each with its own lines. */
static void components_write(struct translating *t)
{
    struct writing *w = &t->w;
    for (size_t i = 0; i < t->l.ncomp; i++) {
        if (i > 0)
            str_addf(w->out, "%s hetjob\n", script_prefix(DIALECT_SLURM));
        w->o = &t->l.comp[i];
        w->j = &t->l.comp[i].spec;
        slurm_write(w);
    }
    w->o = t->l.comp;
    w->j = &t->l.comp->spec;
}

static void others_write(struct writing *w)
{
    const struct option_table *t = w->to == DIALECT_LSF ? &bsub_options : &qsub_options;
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(t, i)); i++)
        if (row->write)
            row->write(w, row);
    if (w->j->job_group && w->to == DIALECT_PBS)
        writing_lost(w, NULL, "the job group %s: PBS has none", w->j->job_group);
    for (size_t i = 0; (row = option_at(i)); i++) {
        const char *given = w->o->given[i];
        bool idle = row->support == SUPPORT_NO_EFFECT || is_of_command(row->name);
        if (w->o->source[i] == FROM_DEFAULT || w->said[i] || idle)
            continue;
        writing_lost(w, row->name, "--%s%s%s has no equivalent in %s", row->name, *given ? "=" : "",
                     given, w->to == DIALECT_LSF ? "LSF" : "PBS");
    }
}

/* What of LSF and PBS never becomes an option of sbatch. */
static void unread_note(struct translating *t)
{
    const struct lsf_request *lsf = &t->l.lsf;
    for (size_t i = 0; i < t->l.finding.n; i++) {
        const struct lint_finding *f = &t->l.finding.v[i];
        if (f->rule == RULE_REFUSED_OPTION || f->rule == RULE_NO_EFFECT)
            writing_lost(&t->w, NULL, "line %u is left out: %s", f->line, f->text);
        else if (f->level == LINT_ERROR)
            writing_lost(&t->w, NULL, "line %u is wrong, and taken as far as it could be read: %s",
                         f->line, f->text);
    }
    if (t->from != DIALECT_LSF)
        return;
    if (lsf->candidates)
        writing_lost(&t->w, NULL, "-m and hname==, one of the hosts %s: left out", lsf->candidates);
    if (lsf->nulimit)
        writing_lost(&t->w, NULL,
                     "-C, -S, -D and -F, limits of processes: left out; ulimit in the "
                     "script sets them");
    if (lsf->env_without)
        writing_lost(&t->w, NULL, "-env ~NAME: left out; unset %s in the script", lsf->env_without);
    if (lsf->host_select)
        writing_lost(&t->w, NULL, "select[%s] chooses among the hosts there are: left out",
                     lsf->host_select);
    if (lsf->mig_slices)
        writing_lost(&t->w, NULL,
                     "-gpu mig=%d is told by the hosts there are: left out; name the type of the "
                     "instance",
                     lsf->mig_slices);
    if (lsf->same_model)
        writing_lost(&t->w, NULL,
                     "same[model] is told by the hosts there are: left out; [A|B] of a "
                     "constraint says it of their features");
    if (lsf->interactive != LSF_BATCH)
        writing_lost(&t->w, NULL, "-I: a script is not interactive; left out");
    for (size_t i = 0; i < lsf->depend.n; i++)
        if (lsf->depend.v[i].named)
            writing_lost(&t->w, NULL, "-w with jobs by name: left out: %s", lsf->depend_text);
}

/* ---- the commands ---- */

static bool means_the_same(const struct translating *t, const struct dialect_variable *v)
{
    if (v->pbs_differs && (t->from == DIALECT_PBS || t->w.to == DIALECT_PBS))
        return false;
    switch (v->same) {
    case SAME_ALWAYS: return true;
    case SAME_IN_ARRAYS: return t->w.j->array != NULL;
    case SAME_BUT_ARRAYS: return t->w.j->array == NULL;
    case SAME_ONE_CPU: return t->w.size.cpus == 1;
    case SAME_NEVER: break;
    }
    return false;
}

static const char *system_name(enum dialect d)
{
    switch (d) {
    case DIALECT_SLURM: return "Slurm";
    case DIALECT_LSF: return "LSF";
    case DIALECT_PBS: return "PBS";
    }
    return "";
}

/* "; of this job it is 4", of a number of Slurm's that the request tells; else "". */
static const char *value_of(const struct writing *w, struct span name)
{
    const struct {
        const char *name;
        int32_t n;
    } numbers[] = {
        {"SLURM_CPUS_PER_TASK", w->size.cpus},  {"SLURM_NTASKS_PER_NODE", w->size.per_node},
        {"SLURM_NTASKS", w->size.tasks},        {"SLURM_NPROCS", w->size.tasks},
        {"SLURM_JOB_NUM_NODES", w->size.nodes}, {"SLURM_NNODES", w->size.nodes}};
    if (span_is(name, "SLURM_ARRAY_TASK_COUNT") && w->j->array) {
        struct idset ids = IDSET_INIT;
        uint32_t limit;
        bool ok = array_parse(w->j->array, LIMIT_ARRAY_INDEX, &ids, &limit, NULL);
        const char *text =
            ok ? arena_printf(w->a, "; of this job it is %llu", (unsigned long long)ids.count) : "";
        idset_done(&ids);
        return text;
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (numbers[i].n > 0 && span_is(name, numbers[i].name))
            return arena_printf(w->a, "; of this job it is %d", numbers[i].n);
    return "";
}

/* The name of the variable there, where that is the same; else NULL, and a note. */
static const char *renamed(struct translating *t, struct span name, unsigned line)
{
    enum dialect of;
    if (!dialect_of_variable(name, &of) || of != t->from)
        return NULL;
    const struct dialect_variable *v = dialect_variable_named(name, of, t->w.j->array != NULL);
    const char *there = v ? dialect_variable_in(v, t->w.to, t->w.site->torque) : NULL;
    if (there && means_the_same(t, v))
        return there;
    if (there)
        writing_lost(&t->w, NULL, "line %u: $%.*s stays; there it is $%s%s%s%s", line,
                     (int)name.len, name.data, there, v->remark ? ", but " : "",
                     v->remark ? v->remark : "", value_of(&t->w, name));
    else
        writing_lost(&t->w, NULL, "line %u: $%.*s has no equivalent there%s", line, (int)name.len,
                     name.data, value_of(&t->w, name));
    return NULL;
}

/* Commands of the system that the job comes from: they are there in jobs of Remuda, and not on
 * another site. */
static void launchers_note(struct translating *t, struct span text, unsigned line)
{
    const struct dialect_command *c;
    size_t at = 0;
    while ((c = dialect_command_next(text, &at, t->from))) {
        bool told = false;
        for (size_t i = 0; i < t->ncommand; i++)
            told |= t->command[i] == c;
        if (told || t->ncommand == ARRAY_LEN(t->command))
            continue;
        t->command[t->ncommand++] = c;
        writing_lost(&t->w, NULL, "line %u: %s is a command of %s; there: %s", line, c->name,
                     system_name(t->from), c->instead[t->w.to]);
    }
}

static void command_write(struct translating *t, const struct script_line *line)
{
    struct span name, text = line->text;
    size_t at = 0, done = 0;
    bool comment = !line->command && !line->heredoc;
    if (line->command)
        launchers_note(t, text, line->number);
    while (!comment && dialect_variable_next(text, &at, &name)) {
        const char *there = renamed(t, name, line->number);
        if (there && line->heredoc)
            writing_lost(&t->w, NULL,
                         "line %u: $%.*s stands in a here-document and stays; there it is $%s",
                         line->number, (int)name.len, name.data, there);
        if (!there || line->heredoc)
            continue;
        size_t from = (size_t)(name.data - text.data);
        str_addn(&t->out, text.data + done, from - done);
        str_add(&t->out, there);
        done = from + name.len;
    }
    str_addn(&t->out, text.data + done, text.len - done);
    str_addc(&t->out, '\n');
}

/* Where the job starts: PBS in the home directory, the others where they are submitted. */
static void move_add(struct translating *t, const struct script_line *first, struct str *out)
{
    const char *dir = t->w.j->work_dir;
    bool to_pbs = t->w.to == DIALECT_PBS;
    bool goes = script_starts_with(span_trim(first->text), "cd ") &&
                memmem(first->text.data, first->text.len, "PBS_O_WORKDIR", 13);
    if (to_pbs && dir && t->w.site->torque)
        return;
    if (to_pbs)
        str_add(out, "cd \"$PBS_O_WORKDIR\"");
    else if (t->from == DIALECT_PBS && !dir && !goes)
        str_add(out, "cd \"$HOME\"");
    if (to_pbs && dir) {
        writing_said(&t->w, "chdir");
        str_add(out, " && cd ");
        str_add_shell_word(out, dir);
    }
}

static void move_write(struct translating *t, const struct script_line *line)
{
    struct str move = STR_INIT;
    if (!t->moved)
        move_add(t, line, &move);
    t->moved = true;
    if (move.len && t->shell)
        str_addf(&t->out, "%s\n", str_text(&move));
    else if (move.len)
        writing_lost(&t->w, NULL, "the script is no shell's: it has to do by itself: %s",
                     str_text(&move));
    str_done(&move);
}

/* ---- the lines ---- */

static bool is_shell(struct span line)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"};
    struct span rest = span_trim((struct span){line.data + 2, line.len - 2}), word = {0}, one;
    while (rest.len && script_is_blank(rest.data[rest.len - 1]))
        rest.len--; /* a carriage return */
    while (span_next(&rest, ' ', &one)) {
        if (!one.len || one.data[0] == '-')
            continue;
        const char *slash = memrchr(one.data, '/', one.len);
        word = slash ? (struct span){slash + 1, one.len - (size_t)(slash + 1 - one.data)} : one;
        if (!span_is(word, "env"))
            break;
    }
    for (size_t i = 0; i < ARRAY_LEN(shells); i++)
        if (span_is(word, shells[i]))
            return true;
    return false;
}

static void shebang_write(struct translating *t)
{
    bool own = t->l.len > 2 && memcmp(t->l.text, "#!", 2) == 0;
    struct span rest = {t->l.text, t->l.len}, line;
    t->shell = !own || (span_next(&rest, '\n', &line) && is_shell(line));
    if (own)
        return;
    size_t host = t->l.pbs.shell ? strcspn(t->l.pbs.shell, "@,") : 0;
    if (host)
        str_addf(&t->out, "#!%.*s\n", (int)host, t->l.pbs.shell);
    else
        str_add(&t->out, "#!/bin/sh\n");
}

/* Is the line a directive that was read, with the lines that go on with it? */
static bool is_read(const struct translating *t, const struct script_line *line)
{
    struct span rest;
    return script_line_is_of(line->text, t->from, &rest) && !line->heredoc &&
           (!line->first_command || t->from == DIALECT_LSF);
}

static void line_write(struct translating *t, const struct script_line *line)
{
    struct span rest;
    bool theirs = !line->heredoc && script_line_is_of(line->text, t->w.to, &rest);
    if (line->command && !line->first_command)
        move_write(t, line);
    if (theirs) /* it was not read, and must not be now */
        str_addf(&t->out, "# was not read: %.*s\n", (int)line->text.len, line->text.data);
    else
        command_write(t, line);
}

/* Where the directives go: in the place of the first, else behind the first line. */
static void lines_write(struct translating *t, size_t *ret_at)
{
    struct script_lines lines = {.rest = {t->l.text, t->l.len}, .reads = t->from};
    struct script_line line;
    bool found = false, dos = false;
    while (script_line_next(&lines, &line)) {
        bool read = line.continued || is_read(t, &line);
        if (line.text.len && line.text.data[line.text.len - 1] == '\r') {
            line.text.len--;
            dos = true;
        }
        if (read && !found)
            *ret_at = t->out.len;
        found |= read;
        if (!read)
            line_write(t, &line);
        if (!found && line.number == 1)
            *ret_at = script_starts_with(line.text, "#!") ? t->out.len : *ret_at;
    }
    if (dos)
        writing_lost(&t->w, NULL, "lines ended in CR LF, as on Windows; here they end in LF");
}

/* "--time=90", as an option of sbatch; NULL: it was not given. */
static const char *as_of_sbatch(const struct translating *t, const char *option)
{
    size_t i = option_index(option_named(option, CMD_SBATCH));
    const char *given = t->w.o->given[i];
    return t->w.o->source[i] == FROM_DEFAULT ? NULL
           : *given                          ? arena_printf(t->w.a, "--%s=%s", option, given)
                                             : arena_printf(t->w.a, "--%s", option);
}

/* What the script says that became the option: "-W 90". */
static const char *as_given(const struct translating *t, const char *option, const char *sbatch)
{
    for (size_t i = 0; t->from != DIALECT_SLURM && i < t->l.option.n; i++) {
        const struct lint_option *o = &t->l.option.v[i];
        for (size_t k = 0; k < o->became.n; k++)
            if (text_is(o->became.v[k].row->name, option))
                return arena_printf(t->w.a, "-%s%s%s", o->row->name, o->value ? " " : "",
                                    o->value ? o->value : "");
    }
    return sbatch;
}

/* Each begins with the words that it is about, in the words of the script. */
static void notes_name(struct translating *t)
{
    for (size_t i = 0; i < t->w.note.n; i++) {
        struct writing_note *n = &t->w.note.v[i];
        const char *sbatch = n->option ? as_of_sbatch(t, n->option) : NULL;
        const char *given = sbatch ? as_given(t, n->option, sbatch) : NULL;
        if (!given || strncmp(n->text, given, strlen(given)) == 0)
            continue;
        size_t same = strncmp(n->text, sbatch, strlen(sbatch)) == 0 ? strlen(sbatch) : 0;
        n->text = arena_printf(t->w.a, "%s%s%s", given, same ? "" : ": ", n->text + same);
    }
}

static void notes_write(const struct translating *t, struct str *out)
{
    for (size_t i = 0; i < t->w.note.n; i++) {
        struct span rest = span_of(t->w.note.v[i].text), one;
        str_add(out, MARK);
        while (span_next(&rest, '\n', &one))
            str_addf(out, "%.*s ", (int)one.len, one.data);
        str_cut(out, out->len - 1);
        str_addc(out, '\n');
    }
}

static void script_write(struct translating *t, struct translation *ret)
{
    struct str whole = STR_INIT;
    shebang_write(t);
    size_t at = t->out.len;
    lines_write(t, &at);
    if (t->w.to == DIALECT_LSF || t->w.to == DIALECT_PBS)
        others_write(&t->w);
    str_addn(&whole, str_text(&t->out), at);
    str_addn(&whole, str_text(&t->directives), t->directives.len);
    notes_name(t);
    notes_write(t, &whole);
    str_addn(&whole, str_text(&t->out) + at, t->out.len - at);
    ret->text = arena_strndup(t->w.a, str_text(&whole), whole.len);
    ret->len = whole.len;
    str_done(&whole);
}

bool script_translate(const char *text, size_t len, enum dialect from, enum dialect to,
                      const struct option_env *env, const char *name, struct arena *a,
                      struct translation *ret, struct err *ret_err)
{
    ASSERT(from <= DIALECT_PBS && to <= DIALECT_PBS);
    struct translating t = {.from = from, .l = {.dialect = from, .env = env, .a = a}};
    *ret = (struct translation){0};
    if (!script_is_text(text, len, "it", ret_err))
        return false;
    lint_read_alone(&t.l, text, len, 0, NULL);
    bool ok = t.l.readable && (t.l.ncomp == 1 || to == DIALECT_SLURM);
    if (!t.l.readable)
        err_set(ret_err, ERR_INVALID, "the script is no job: %s",
                t.l.finding.n ? t.l.finding.v[t.l.finding.n - 1].text : "");
    else if (!ok)
        err_set(
            ret_err, ERR_UNSUPPORTED,
            "a job of several components is translated to Slurm only; write a script of each of "
            "them for the others");
    if (ok) {
        t.w = (struct writing){.o = t.l.comp,
                               .j = &t.l.comp[0].spec,
                               .to = to,
                               .site = t.l.env->site,
                               .env = t.l.env,
                               .name = name,
                               .a = a,
                               .out = &t.directives};
        writing_size_fill(&t.w, to != DIALECT_SLURM);
        if (to == DIALECT_SLURM)
            components_write(&t);
        unread_note(&t);
        script_write(&t, ret);
        ret->job = t.l.comp;
        t.l.comp = NULL;
        for (size_t i = 0; i < t.w.note.n; i++)
            vec_push(&ret->note, t.w.note.v[i]);
    }
    vec_done(&t.w.note);
    str_done(&t.out);
    str_done(&t.directives);
    lint_done(&t.l);
    return ok;
}

void translation_done(struct translation *t)
{
    vec_done(&t->note);
    free(t->job);
}
