/* sbatch: one batch script to the controller.
 *
 * The command line is read twice. The first time finds the script (and --help and the like); then
 * the options are gathered again in rising order of strength: the script's directives, the SBATCH_*
 * variables, the command line. Components of a heterogeneous job come from "hetjob" in the script
 * and from ":" on the command line; the i-th of both belong together, and variables count for
 * each. */
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/submit/batch.h"
#include "cli/submit/host.h"
#include "cli/submit/lint.h"
#include "cli/submit/site.h"
#include "script/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "sbatch"

static bool script_read(struct submit_batch *s, const struct submit_options *first, struct err *e)
{
    if (first->wrap && s->line.rest_at < s->line.argc)
        return err_set(e, ERR_INVALID, "Script arguments not permitted with --wrap option");
    if (first->wrap)
        submit_script_wrap(first->wrap, s->line.a, &s->script);
    else if (s->line.rest_at < s->line.argc) {
        const char *dir = first->spec.work_dir;
        if (dir && dir[0] != '/')
            dir = arena_printf(s->line.a, "%s/%s", s->line.cwd, dir);
        if (!submit_script_file(s->line.argv[s->line.rest_at], dir, s->line.cwd, s->line.a,
                                &s->script, e))
            return false;
    } else if (!submit_script_stdin(s->line.a, &s->script, e))
        return false;
    return true;
}

/* What --wrap gives is a command, and no script: it is not looked at. */
static bool script_load(struct submit_batch *s, const struct submit_options *first, struct err *e)
{
    return script_read(s, first, e) &&
           (first->wrap || script_check(s->script.text, s->script.len, s->script.name, e));
}

/* ---- options of all components
 * ------------------------------------------------------------ */

/* What Slurm's lines about a directive call the script. */
static const char *name_of_slurm(const struct submit_batch *s)
{
    if (s->line.rest_at >= s->line.argc)
        return "stdin";
    const char *slash = strrchr(s->script.name, '/');
    return slash ? slash + 1 : s->script.name;
}

static bool options_gather(struct submit_batch *s, const struct submit_options *first,
                           struct err *e)
{
    struct str script_warnings = STR_INIT, warnings = STR_INIT;
    struct dialect_site site;
    size_t len = first->wrap ? 0 : s->script.len; /* a command has no directives, as in Slurm */
    if (memmem(s->script.text, len, "#BSUB", 5) || memmem(s->script.text, len, "#PBS", 4)) {
        site = submit_site(s->line.state_dir, s->line.a);
        s->line.env.site = &site;
    }
    bool ok =
        ((!s->line.env.site || first->ignore_pbs ||
          lint_systems_agree(s->script.text, len, &s->line.env, s->line.a, &script_warnings, e)) &&
         script_parse(name_of_slurm(s), s->script.text, len, s->line.comp, COMPONENTS_MAX,
                      &s->line.ncomp, first->ignore_pbs, &s->line.env, s->line.a, &script_warnings,
                      e)) ||
        err_prefix(e, "%s", s->script.name);
    if (ok && s->line.nwords > s->line.ncomp)
        s->line.ncomp = s->line.nwords;
    for (size_t i = 0; ok && i < s->line.ncomp; i++)
        ok = submit_component(&s->line, i, &warnings, e);
    if (ok) {
        submit_warnings_print(&s->line, s->script.name, &script_warnings);
        submit_warnings_print(&s->line, "", &warnings);
    }
    s->line.env.site = NULL;
    str_done(&script_warnings);
    str_done(&warnings);
    return ok;
}

/* ---- answers
 * ------------------------------------------------------------------------------ */

static void submitted_print(const struct submit_batch *s, const struct msg_submitted *m)
{
    const struct submit_options *o = &s->line.comp[0];
    if (!text_empty(m->warning) && !o->quiet)
        fprintf(stderr, NAME ": %s\n", m->warning);
    if (s->silent)
        return;
    if (o->parsable)
        printf("%llu%s%s\n", (unsigned long long)m->job_id, s->line.cluster ? ";" : "",
               s->line.cluster ? s->line.cluster : "");
    else
        printf("Submitted batch job %llu%s%s\n", (unsigned long long)m->job_id,
               s->line.cluster ? " on cluster " : "", s->line.cluster ? s->line.cluster : "");
    if (fflush(stdout) != 0) /* whoever cannot read the number there finds it here */
        program_error(NAME, "job %llu was submitted", (unsigned long long)m->job_id);
}

static int job_wait(struct submit_batch *s, struct client *c, uint64_t job_id)
{
    const struct msg_job_ended *end = batch_wait(s, c, job_id);
    if (!end) {
        program_error(NAME, "cannot learn how job %llu ended", (unsigned long long)job_id);
        return submit_exit_error();
    }
    return status_signal(end->exit_status) ? 1 : status_code(end->exit_status);
}

static int answer_take(struct submit_batch *s, struct client *c, const struct message *answer)
{
    const struct submit_options *o = &s->line.comp[0];
    int status = 0;
    if (answer->kind == MSG_DONE) {
        status = submit_refused(&s->line, answer->body);
    } else if (answer->kind == MSG_SUBMITTED) {
        const struct msg_submitted *m = answer->body;
        if (o->test_only && !o->quiet)
            submit_test_print(&s->line, m);
        else if (!o->test_only)
            submitted_print(s, m);
        if (o->wait && !o->test_only)
            return job_wait(s, c, m->job_id);
    } else {
        program_error(NAME, "the controller gave an answer that does not belong to a submission");
        status = submit_exit_error();
    }
    client_close(c);
    return status;
}

static int submit(struct submit_batch *s, const struct msg_submit *m)
{
    struct err e = {0};
    struct message answer;
    bool only_test = s->line.comp[0].test_only;
    struct client *c =
        program_connect_for(NAME, s->line.state_dir, only_test ? "allocation failure" : NULL);
    if (!c)
        return submit_exit_error();
    if (batch_send(s, c, m, &answer, &e))
        return answer_take(s, c, &answer);
    client_close(c);
    program_error(NAME, "Batch job submission failed: %s", e.text);
    return submit_exit_error();
}

/* ---- looked at instead ---- */

static int script_lint(struct submit_batch *s, const struct submit_options *first)
{
    struct submit_command *line = &s->line;
    struct dialect_site site = submit_site(line->state_dir, line->a);
    struct lint_ask ask = {.script = s->script,
                           .cwd = line->cwd,
                           .state_dir = line->state_dir,
                           .env = line->env,
                           .a = line->a,
                           .by_sbatch = !first->ignore_pbs,
                           .own = first->ignore_pbs,
                           .argc = line->words[0].to,
                           .argv = line->argv,
                           .get = getenv};
    ask.env.site = &site;
    return lint_for_command(&ask);
}

/* ---- the whole
 * ---------------------------------------------------------------------------- */

static int submission_run(struct submit_batch *s, struct submit_options *first)
{
    struct err e = {0};
    s->line.cwd = submit_cwd(s->line.a, &e);
    s->line.state_dir = state_dir_find(NULL, s->line.a);
    if (!s->line.cwd ||
        !options_parse_env(first, CMD_SBATCH, getenv, &s->line.env, s->line.a, &e) ||
        !(first->lint ? script_read : script_load)(s, first, &e))
        return submit_fail(&s->line, &e);
    if (first->lint)
        return script_lint(s, first);
    if (!options_gather(s, first, &e))
        return submit_fail(&s->line, &e);
    if (s->line.comp[0].lint)
        return script_lint(s, first);
    if (s->line.comp[0].verbose)
        submit_verbose_print(&s->line);
    s->silent = first->quiet;
    s->args = s->line.rest_at < s->line.argc ? s->line.argv + s->line.rest_at + 1
                                             : s->line.argv + s->line.argc;
    struct job_spec *specs = batch_specs(s, &e);
    if (!specs)
        return submit_fail(&s->line, &e);
    struct str env = STR_INIT;
    int status;
    /* --export-file is read as who the job is of: it may be in a directory of his. */
    if (submit_cluster_check(&s->line, &e) &&
        submit_become(s->line.comp[0].uid, s->line.comp[0].gid, &e) && batch_env(s, &env, &e)) {
        struct msg_submit m = {
            .specs = {specs, s->line.ncomp},
            .script = {s->script.text, s->script.len},
            .env = {env.data, env.len},
            .test_only = s->line.comp[0].test_only,
        };
        status = submit(s, &m);
    } else {
        status = submit_fail(&s->line, &e);
    }
    str_done(&env);
    return status;
}

int cmd_sbatch(int argc, char **argv)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct submit_batch s = {0};
    struct submit_options *first = arena_alloc(a, sizeof *first);
    int status = 0;
    submit_command_init(&s.line, NAME, CMD_SBATCH, argc, argv, a);
    if (!submit_split(&s.line, first, &e))
        status = submit_fail(&s.line, &e);
    else if (!submit_information(&s.line, first))
        status = submission_run(&s, first);
    submit_command_done(&s.line);
    arena_free(a);
    return status;
}
