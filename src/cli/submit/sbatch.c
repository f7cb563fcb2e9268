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
#include "cli/submit/check.h"
#include "cli/submit/command.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "cli/submit/script.h"
#include "model/limits.h"
#include "model/script_args.h"
#include "script/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME            "sbatch"
#define RECONNECT_PAUSE 2 /* seconds, while --wait finds no controller */
#define COMMAND_SHOWN                                                                              \
    8000 /* bytes of script and arguments that scontrol shows; the script gets all of them */

extern char **environ;

struct submission {
    struct submit_command line;
    struct submit_script script;
};

static bool script_load(struct submission *s, const struct submit_options *first, struct err *e)
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
    return script_check(s->script.text, s->script.len, s->script.name, e);
}

/* ---- options of all components
 * ------------------------------------------------------------ */

static bool options_gather(struct submission *s, const struct submit_options *first, struct err *e)
{
    struct str script_warnings = STR_INIT, warnings = STR_INIT;
    bool ok =
        script_parse(s->script.text, s->script.len, s->line.comp, COMPONENTS_MAX, &s->line.ncomp,
                     first->ignore_pbs, &s->line.env, s->line.a, &script_warnings, e) ||
        err_prefix(e, "%s", s->script.name);
    if (ok && s->line.nwords > s->line.ncomp)
        s->line.ncomp = s->line.nwords;
    for (size_t i = 0; ok && i < s->line.ncomp; i++)
        ok = submit_component(&s->line, i, &warnings, e);
    if (ok) {
        submit_warnings_print(&s->line, s->script.name, &script_warnings);
        submit_warnings_print(&s->line, "", &warnings);
    }
    str_done(&script_warnings);
    str_done(&warnings);
    return ok;
}

/* ---- what the job takes along
 * ------------------------------------------------------------- */

static const char *script_args(struct submission *s, char *const *words)
{
    struct str out = STR_INIT;
    for (; *words; words++)
        script_args_add(&out, *words);
    const char *text = out.len ? arena_strdup(s->line.a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

static void spec_complete(struct submission *s, struct submit_options *o)
{
    struct job_spec *j = &o->spec;
    char *const *args = s->line.rest_at < s->line.argc ? s->line.argv + s->line.rest_at + 1
                                                       : s->line.argv + s->line.argc;
    j->batch = true;
    if (!j->name)
        j->name = s->script.job_name;
    submit_spec_complete(&s->line, o);
    j->command = s->script.path ? submit_joined(s->line.a, s->script.path, args) : NULL;
    if (j->command && strlen(j->command) > COMMAND_SHOWN)
        j->command = arena_printf(s->line.a, "%.*s...", COMMAND_SHOWN, j->command);
    j->script_args = script_args(s, args);
    if (submit_env_wants_login(j->export_env))
        j->get_user_env = true;
    else if (text_is_nocase(j->export_env, "NIL"))
        j->get_user_env = false;
}

/* There is one script: its files may be named in any component, the first that does counts. */
static void script_files_take(struct submission *s)
{
    struct job_spec *first = &s->line.comp[0].spec;
    for (size_t i = 1; i < s->line.ncomp; i++) {
        const struct job_spec *j = &s->line.comp[i].spec;
        first->std_in = first->std_in ? first->std_in : j->std_in;
        first->std_out = first->std_out ? first->std_out : j->std_out;
        first->std_err = first->std_err ? first->std_err : j->std_err;
    }
}

static bool export_file_read(struct submission *s, const char *name, struct span *ret,
                             struct err *e)
{
    int64_t number;
    bool given_fd = text_to_i64(name, 3, 1 << 20, &number);
    int fd = given_fd ? (int)number : open(name, O_RDONLY | O_CLOEXEC);
    ret->data = fd >= 0 ? submit_read_fd(fd, LIMIT_ENV_BYTES, s->line.a, &ret->len, e) : NULL;
    int why = errno;
    if (fd >= 0 && !given_fd)
        close(fd);
    if (ret->data)
        return true;
    err_set(e, ERR_NOT_FOUND, "--export-file=%s: %s", name, strerror(why));
    return err_lead(e, "error: Could not open user environment file %s", name);
}

static bool env_capture(struct submission *s, struct str *out, struct err *e)
{
    const struct submit_options *o = &s->line.comp[0];
    const char *extra[4 + SUBMIT_ENV_OPTIONS + 1] = {
        arena_printf(s->line.a, "SLURM_SUBMIT_DIR=%s", s->line.cwd),
        arena_printf(s->line.a, "SLURM_SUBMIT_HOST=%s", o->spec.alloc_host),
        "SLURM_PRIO_PROCESS=0",
        arena_printf(s->line.a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
    };
    submit_env_options(o, CMD_SBATCH, s->line.a, extra + 4);
    struct env_ask ask = {.environ = environ, .export_env = o->spec.export_env, .extra = extra};
    if (o->export_file && !export_file_read(s, o->export_file, &ask.file, e))
        return false;
    return submit_env_capture(&ask, out, e);
}

/* ---- answers
 * ------------------------------------------------------------------------------ */

static void submitted_print(const struct submission *s, const struct msg_submitted *m)
{
    const struct submit_options *o = &s->line.comp[0];
    if (!text_empty(m->warning) && !o->quiet)
        fprintf(stderr, NAME ": %s\n", m->warning);
    if (o->quiet)
        return;
    if (o->parsable)
        printf("%llu%s%s\n", (unsigned long long)m->job_id, s->line.cluster ? ";" : "",
               s->line.cluster ? s->line.cluster : "");
    else
        printf("Submitted batch job %llu%s%s\n", (unsigned long long)m->job_id,
               s->line.cluster ? " on cluster " : "", s->line.cluster ? s->line.cluster : "");
    fflush(stdout);
}

/* Waits for the end of the job, through restarts of the controller. */
static int job_wait(struct submission *s, struct client *c, uint64_t job_id)
{
    struct msg_wait_job ask = {.job_id = job_id};
    struct message answer;
    struct err e = {0};
    while (!c || !client_call(c, MSG_WAIT_JOB, &ask, -1, s->line.a, &answer, &e)) {
        if (c)
            client_close(c);
        sleep(RECONNECT_PAUSE);
        c = client_open(s->line.state_dir, &e);
    }
    client_close(c);
    if (answer.kind != MSG_JOB_ENDED) {
        program_error(NAME, "cannot learn how job %llu ended", (unsigned long long)job_id);
        return submit_exit_error();
    }
    const struct msg_job_ended *end = answer.body;
    if (status_signal(end->exit_status))
        return 1;
    return status_code(end->exit_status);
}

static int answer_take(struct submission *s, struct client *c, const struct message *answer)
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

static int submit(struct submission *s, const struct msg_submit *m)
{
    struct err e = {0};
    struct message answer;
    bool only_test = s->line.comp[0].test_only;
    struct client *c =
        program_connect_for(NAME, s->line.state_dir, only_test ? "allocation failure" : NULL);
    if (!c)
        return submit_exit_error();
    for (unsigned tries = 1;; tries++) {
        if (!client_call(c, MSG_SUBMIT, m, 0, s->line.a, &answer, &e)) {
            client_close(c);
            program_error(NAME, "Batch job submission failed: %s", e.text);
            return submit_exit_error();
        }
        if (!submit_is_busy(&s->line, &answer, tries))
            return answer_take(s, c, &answer);
        sleep(tries);
    }
}

/* ---- the whole
 * ---------------------------------------------------------------------------- */

static int submission_run(struct submission *s, struct submit_options *first)
{
    struct err e = {0};
    s->line.cwd = submit_cwd(s->line.a, &e);
    if (!s->line.cwd ||
        !options_parse_env(first, CMD_SBATCH, getenv, &s->line.env, s->line.a, &e) ||
        !script_load(s, first, &e) || !options_gather(s, first, &e))
        return submit_fail(&s->line, &e);
    s->line.state_dir = state_dir_find(NULL, s->line.a);
    if (s->line.comp[0].verbose)
        submit_verbose_print(&s->line);
    script_files_take(s);
    struct job_spec *specs = arena_alloc(s->line.a, s->line.ncomp * sizeof *specs);
    for (size_t i = 0; i < s->line.ncomp; i++) {
        spec_complete(s, &s->line.comp[i]);
        specs[i] = s->line.comp[i].spec;
        if (!submit_spec_check(&specs[i], &e))
            return submit_fail(&s->line, &e);
    }
    struct str env = STR_INIT;
    int status;
    if (submit_cluster_check(&s->line, &e) && env_capture(s, &env, &e) &&
        submit_become(s->line.comp[0].uid, s->line.comp[0].gid, &e)) {
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
    struct submission s = {0};
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
