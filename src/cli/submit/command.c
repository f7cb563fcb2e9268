#include "cli/submit/command.h"

#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "cli/submit/script.h"
#include "model/env/mpi_env.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What Slurm exits with when it cannot read the command line, whatever SLURM_EXIT_ERROR says. */
#define EXIT_USAGE 255
/* A busy controller is asked so often, with growing pauses, as Slurm's commands do. */
#define RETRIES_MAX 15

/* The number that a variable begins with, as an exit code has room for it; 0 = none. */
static int exit_code_given(const char *variable)
{
    const char *text = getenv(variable);
    return text ? (int)((unsigned)strtol(text, NULL, 10) & 0xff) : 0;
}

static int exit_code_of(const char *variable, int otherwise)
{
    int code = exit_code_given(variable);
    return code ? code : otherwise;
}

void submit_exit_check(const char *name, const char *variable)
{
    if (getenv(variable) && !exit_code_given(variable))
        program_error(name, "%s has zero value", variable);
}

/* Of a task of MPI: what it starts here is another program, and finds its own. */
static void mpi_names_drop(void)
{
    const char *names = getenv(MPI_NAMES_VARIABLE);
    struct span rest = span_of(names ? names : ""), name;
    char *text;
    while (names && span_next(&rest, ',', &name)) {
        text = xstrndup(name.data, name.len);
        unsetenv(text);
        free(text);
    }
    if (names)
        unsetenv(MPI_NAMES_VARIABLE);
}

void submit_command_init(struct submit_command *c, const char *name, unsigned command, int argc,
                         char **argv, struct arena *a)
{
    memset(c, 0, sizeof *c);
    c->name = name;
    c->by_root = geteuid() == 0;
    c->command = command;
    c->a = a;
    c->env = (struct option_env){.now_us = time_now_us(), .zone = &civil_local};
    c->argc = argc;
    c->argv = argv;
    c->comp = xcalloc(COMPONENTS_MAX, sizeof *c->comp); /* pages never used cost nothing */
    mpi_names_drop();
    submit_exit_check(name, "SLURM_EXIT_ERROR");
    if (command != CMD_SBATCH)
        submit_exit_check(name, "SLURM_EXIT_IMMEDIATE");
}

void submit_command_done(struct submit_command *c)
{
    free(c->comp);
}

int submit_exit_error(void)
{
    return exit_code_of("SLURM_EXIT_ERROR", 1);
}

int submit_exit_immediate(void)
{
    return exit_code_of("SLURM_EXIT_IMMEDIATE", submit_exit_error());
}

static const char *refused_words(unsigned command)
{
    return command == CMD_SBATCH   ? "Batch job submission failed"
           : command == CMD_SALLOC ? "Job submit/allocate failed"
                                   : "Unable to allocate resources";
}

/* Slurm's own words, a line each. */
static void lead_print(const struct submit_command *c, const struct err *e)
{
    static const char refused[] = "refused: ";
    struct span rest = span_of(e->lead[0] ? e->lead : NULL), one;
    while (span_next(&rest, '\n', &one)) {
        const char *line = arena_strndup(c->a, one.data, one.len);
        if (text_starts(line, refused))
            program_error(c->name, "%s: %s", refused_words(c->command), line + strlen(refused));
        else if (text_starts(line, "Invalid time specification"))
            fprintf(stderr, "%s\n", line);
        else
            fprintf(stderr, "%s: %s\n", c->name, line);
    }
}

int submit_fail(const struct submit_command *c, const struct err *e)
{
    lead_print(c, e);
    program_usage_error(c->name, e);
    return e->code == ERR_USAGE || e->code == ERR_VALUE ? EXIT_USAGE : submit_exit_error();
}

/* ---- command line ---- */

/* Options of one component into `o`. options_parse_argv skips the word before the first. */
static bool words_parse(struct submit_command *c, size_t i, struct submit_options *o, int end,
                        int *ret_rest, struct err *e)
{
    ASSERT(i < COMPONENTS_MAX && end >= c->words[i].from - 1);
    int from = c->words[i].from - 1, rest;
    bool ok = options_parse_argv(o, c->command, end - from, c->argv + from, FROM_COMMAND_LINE,
                                 &c->env, c->a, &rest, e);
    *ret_rest = ok ? from + rest : 0;
    return ok;
}

/* Of srun every component has a program of its own: a ":" ends it wherever it stands. */
static int words_end(const struct submit_command *c, int at)
{
    if (c->command != CMD_SRUN)
        return c->argc;
    while (at < c->argc && !text_is(c->argv[at], ":"))
        at++;
    return at;
}

bool submit_split(struct submit_command *c, struct submit_options *first, struct err *e)
{
    struct submit_options *scratch = first;
    int at = 1;
    for (;;) {
        if (c->nwords == COMPONENTS_MAX)
            return err_set(e, ERR_LIMIT, "a job has at most %d components", COMPONENTS_MAX);
        int end = words_end(c, at);
        c->words[c->nwords] = (struct words){at, at, end};
        if (!words_parse(c, c->nwords, scratch, end, &at, e))
            return false;
        c->words[c->nwords++].to = at;
        if (!first->wrap)
            first->wrap = scratch->wrap; /* there is one script, whichever component names it */
        c->rest_at = at;
        if (c->command == CMD_SRUN)
            at = end;
        if (at >= c->argc || !text_is(c->argv[at], ":"))
            break;
        at++;
        scratch = arena_alloc(c->a, sizeof *scratch);
    }
    return true;
}

bool submit_information(const struct submit_command *c, const struct submit_options *o)
{
    struct str text = STR_INIT;
    if (o->version)
        str_add(&text, SLURM_VERSION_TEXT "\n");
    else if (o->help)
        options_write_help(c->command, &text);
    else if (o->usage)
        options_write_usage(c->command, &text);
    else if (o->values_asked)
        options_write_values(o->values_asked, &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    return o->version || o->help || o->usage || o->values_asked;
}

/* ---- options of all components ---- */

void submit_warnings_print(const struct submit_command *c, const char *about, struct str *warnings)
{
    struct span rest = {str_text(warnings), warnings->len}, line;
    bool silent = c->comp[0].quiet && c->command == CMD_SBATCH; /* those of others are let out */
    while (!silent && span_next(&rest, '\n', &line))
        if (line.len)
            fprintf(stderr, "%s: %s%s%.*s\n", c->name, about, *about ? ": " : "", (int)line.len,
                    line.data);
    str_clear(warnings);
}

/* SLURM_DISTRIBUTION=plane has its size in a variable of its own; SLURM_STEP_GRES is of steps, not
 * of the job that srun makes for one. */
static char *env_get(const char *name)
{
    static char plane[32];
    char *value = getenv(name);
    if (text_is(name, "SLURM_STEP_GRES") && !getenv("SLURM_JOB_ID"))
        return NULL;
    if (!text_is(name, "SLURM_DISTRIBUTION") || !text_is(value, "plane"))
        return value;
    const char *size = getenv("SLURM_DIST_PLANESIZE");
    if (text_empty(size))
        return value;
    snprintf(plane, sizeof plane, "plane=%.20s", size);
    return plane;
}

/* Of -F a mistake in the line; of a list that names a file a list that cannot be read. */
static bool list_file_refuse(const char *name, int why, bool of_list, struct err *e)
{
    err_set(e, of_list ? ERR_INVALID : ERR_VALUE, "Unable to read the list of nodes %s: %s", name,
            strerror(why));
    return err_lead(e, "error: slurm_allocate_resources error opening file %s, %s", name,
                    strerror(why));
}

/* Names separated by blanks, commas or newlines become the value of --nodelist or --exclude, with
 * the rank of `from`, whose value is the file's name. */
static bool list_file_read(struct submit_command *c, struct submit_options *o, const char *name,
                           const char *option, const char *from, struct err *e)
{
    size_t len;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    const char *text = fd >= 0 ? submit_read_fd(fd, LIMIT_TEXT_BYTES, c->a, &len, e) : NULL;
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (!text)
        return list_file_refuse(name, why, !text_is(from, "nodefile"), e);
    if (len > LIMIT_TEXT_BYTES)
        return err_set(e, ERR_LIMIT, "%s: a list of nodes has at most 64 KiB; n[1-9000] is short",
                       name);
    struct str list = STR_INIT;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t\r\n,");
        size_t word = strcspn(at, " \t\r\n");
        if (word && list.len)
            str_addc(&list, ',');
        str_addn(&list, at, word);
        at += word;
    }
    if (strchr(str_text(&list), '/')) { /* it would be taken for a file, which nobody reads then */
        str_done(&list);
        return err_set(e, ERR_INVALID, "%s: names of nodes have no '/': one file names no other",
                       name);
    }
    bool ok = option_set(o, option_named(option, c->command), str_text(&list),
                         option_source_of(o, from, c->command), &c->env, c->a, e);
    str_done(&list);
    return ok || err_prefix(e, "%s", name);
}

/* -F, or -w and -x with a file; the command line's --nodelist beats -F. */
static bool list_files_read(struct submit_command *c, struct submit_options *o, struct err *e)
{
    const char *from = o->nodefile == o->nodelist_file ? "nodelist" : "nodefile";
    return (!o->nodefile || list_file_read(c, o, o->nodefile, "nodelist", from, e)) &&
           (!o->exclude_file || list_file_read(c, o, o->exclude_file, "exclude", "exclude", e));
}

bool submit_component(struct submit_command *c, size_t i, struct str *warnings, struct err *e)
{
    ASSERT(i < COMPONENTS_MAX);
    struct submit_options *o = &c->comp[i];
    int rest;
    if (!options_parse_env(o, c->command, env_get, &c->env, c->a, e))
        return false;
    if (i < c->nwords && !words_parse(c, i, o, c->words[i].to, &rest, e))
        return false;
    if (i > 0 && !options_carry_over(o, &c->comp[i - 1], &c->env, c->a, e))
        return false;
    return list_files_read(c, o, e) && options_finish(o, c->command, c->a, warnings, e);
}

bool submit_components(struct submit_command *c, struct err *e)
{
    struct str warnings = STR_INIT;
    bool ok = true;
    c->ncomp = c->nwords;
    for (size_t i = 0; ok && i < c->ncomp; i++)
        ok = submit_component(c, i, &warnings, e);
    if (ok)
        submit_warnings_print(c, "", &warnings);
    str_done(&warnings);
    return ok;
}

static int row_by_name(const void *a, const void *b)
{
    const struct option_row *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void row_print(const struct submit_command *c, const struct submit_options *o,
                      const struct option_row *row)
{
    const char *given = o->given[option_index(row)];
    if (text_is(row->name, "verbose"))
        fprintf(stderr, "%s: %-20s: %d\n", c->name, row->name, o->verbose);
    else
        fprintf(stderr, "%s: %-20s: %s\n", c->name, row->name, *given ? given : "set");
}

static void component_print(const struct submit_command *c, const struct submit_options *o)
{
    const struct option_row *rows[OPTION_MAX], *row;
    const char *rule = "--------------------";
    size_t n = 0;
    for (size_t i = 0; (row = option_at(i)); i++)
        if (o->source[i] != FROM_DEFAULT)
            rows[n++] = row;
    qsort(rows, n, sizeof *rows, row_by_name);
    fprintf(stderr, "%s: defined options\n%s: %s %s\n", c->name, c->name, rule, rule);
    for (size_t i = 0; i < n; i++)
        row_print(c, o, rows[i]);
    fprintf(stderr, "%s: %s %s\n%s: end of defined options\n", c->name, rule, rule, c->name);
    if (o->no_effect)
        fprintf(stderr, "%s: without effect: %s\n", c->name, o->no_effect);
}

void submit_verbose_print(const struct submit_command *c)
{
    for (size_t k = 0; k < c->ncomp; k++)
        component_print(c, &c->comp[k]);
}

/* ---- what the job takes along ---- */

const char *submit_joined(struct arena *a, const char *first, char *const *words)
{
    struct str line = STR_INIT;
    str_add(&line, first);
    for (; *words; words++) {
        str_addc(&line, ' ');
        str_add(&line, *words);
    }
    const char *text = arena_strdup(a, str_text(&line));
    str_done(&line);
    return text;
}

void submit_spec_complete(struct submit_command *c, struct submit_options *o)
{
    struct job_spec *j = &o->spec;
    if (!j->work_dir)
        j->work_dir = c->cwd;
    else if (j->work_dir[0] != '/')
        j->work_dir =
            text_is(j->work_dir, ".") ? c->cwd : arena_printf(c->a, "%s/%s", c->cwd, j->work_dir);
    j->submit_line = submit_joined(c->a, c->name, c->argv + 1);
    j->alloc_host = submit_hostname(c->a);
    j->rlimits = submit_rlimits(o->propagate, c->a);
    j->umask_plus1 = submit_umask() + 1;
}

bool submit_cluster_check(struct submit_command *c, struct err *e)
{
    const char *asked = c->comp[0].clusters;
    if (!asked)
        return true;
    struct config conf;
    if (!cluster_settings_read(c->state_dir, NULL, &conf, e))
        return false;
    c->cluster = arena_strdup(c->a, conf.settings.cluster_name);
    config_done(&conf);
    if (list_has_nocase(asked, c->cluster) || list_has_nocase(asked, "all"))
        return true;
    err_set(e, ERR_NOT_FOUND,
            "'%s' can't be reached now, or it is an invalid entry for --cluster.  This cluster is "
            "'%s'.",
            asked, c->cluster);
    for (struct span rest = span_of(asked), name; span_next(&rest, ',', &name);)
        err_lead(e, "error: No cluster '%.*s' known by database.", (int)span_trim(name).len,
                 span_trim(name).data);
    return false;
}

/* ---- answers ---- */

int submit_refused(const struct submit_command *c, const struct msg_done *m)
{
    const struct submit_options *o = &c->comp[0];
    bool busy = m->refusal == REFUSE_UNAVAILABLE;
    const char *partition = o->spec.req.partition, *words = refusal_text((enum refusal)m->refusal);
    if (m->refusal == REFUSE_INVALID_PARTITION && partition && !strchr(partition, ','))
        program_error(c->name, "invalid partition specified: %s", partition);
    if (refusal_lead((enum refusal)m->refusal))
        program_error(c->name, "%s", refusal_lead((enum refusal)m->refusal));
    if (o->test_only)
        fprintf(stderr, "allocation failure: %s\n", words);
    else
        program_error(c->name, "%s: %s",
                      refused_words(busy && c->command == CMD_SALLOC ? CMD_SRUN : c->command),
                      words);
    if (!text_empty(m->detail))
        program_error(c->name, "%s", m->detail);
    return submit_exit_error();
}

void submit_test_print(const struct submit_command *c, const struct msg_submitted *m)
{
    struct str when = STR_INIT;
    civil_format_iso(m->planned_us, &civil_local, &when);
    fprintf(stderr, "%s: Job %llu to start at %s using %d processors on nodes %s in partition %s\n",
            c->name, (unsigned long long)m->job_id, str_text(&when), m->cpus,
            m->nodes ? m->nodes : "", m->partition ? m->partition : "");
    if (!text_empty(m->warning))
        fprintf(stderr, "%s: %s\n", c->name, m->warning);
    str_done(&when);
}

bool submit_is_busy(const struct submit_command *c, const struct message *answer, unsigned tries)
{
    if (answer->kind != MSG_DONE || tries > RETRIES_MAX)
        return false;
    const struct msg_done *done = answer->body;
    if (done->refusal != REFUSE_QUEUE_FULL && done->refusal != REFUSE_BUSY)
        return false;
    if (tries > 1)
        return true;
    bool waits = done->refusal == REFUSE_QUEUE_FULL && !text_is(c->name, "sbatch");
    program_error(c->name, "%s",
                  waits ? "Slurm job queue full, sleeping and retrying."
                        : "Slurm temporarily unable to accept job, sleeping and retrying");
    if (done->detail)
        program_error(c->name, "%s", done->detail);
    return true;
}
