/* qsub: a job as users of PBS submit it.
 *
 * The command line is read first, and what it gives no line of the script does; of -l each
 * resource. Then the request becomes options of sbatch. The job starts in the home directory, with
 * a login environment and PBS_O_*; its output goes to files in the directory of the submission. */
#include "cli/pbs/qsub.h"

#include "base/alloc.h"
#include "cli/lsf/interactive.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/submit/host.h"
#include "cli/submit/lint.h"
#include "script/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NAME "qsub"

static int failed(const struct err *e)
{
    fprintf(stderr, NAME ": %s\n", e->text);
    if (e->code == ERR_USAGE)
        fprintf(stderr, "usage: qsub [OPTIONS] [script]; qsub --help lists the options\n");
    if (strncmp(e->text, "Unknown resource", 16) == 0)
        return PBS_UNKNOWN_RESOURCE;
    return e->code == ERR_USAGE ? PBS_USAGE : e->code == ERR_UNSUPPORTED ? PBS_REFUSED : 1;
}

#define BAD_VALUE "Illegal attribute or resource value"

static const struct {
    enum refusal refusal;
    const char *words;
    int status;
} refusals[] = {
    {REFUSE_INVALID_PARTITION, "Unknown queue", PBS_UNKNOWN_QUEUE},
    {REFUSE_PARTITION_ACCESS, "Unauthorized Request", PBS_DENIED},
    {REFUSE_ACCESS_DENIED, "Unauthorized Request", PBS_DENIED},
    {REFUSE_ACCOUNT, "Invalid account", PBS_REFUSED},
    {REFUSE_PARTITION_DOWN, "Queue is not enabled", PBS_QUEUE_CLOSED},
    {REFUSE_QOS, "Unauthorized Request", PBS_DENIED},
    {REFUSE_WCKEY, "Unauthorized Request", PBS_DENIED},
    {REFUSE_RESERVATION_ACCESS, "Unauthorized Request", PBS_DENIED},
    {REFUSE_BEGIN_TIME, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_DEPENDENCY, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_FEATURE, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_GRES, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_INVALID_ARRAY, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_INVALID_NODE, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_LICENSES, BAD_VALUE, PBS_BAD_VALUE},
    {REFUSE_WORK_DIR, BAD_VALUE, PBS_BAD_VALUE},
};

static int refused(const struct qsub *s, const struct msg_done *m)
{
    const char *words = s->site.torque ? "Job exceeds queue resource limits"
                                       : "Job violates queue and/or server resource limits";
    int status = PBS_REFUSED;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
        if (refusals[i].refusal == (enum refusal)m->refusal) {
            words = refusals[i].words;
            status = refusals[i].status;
        }
    fprintf(stderr, NAME ": %s\n" NAME ": %s\n", words,
            text_empty(m->detail) ? refusal_text((enum refusal)m->refusal) : m->detail);
    return status;
}

/* ---- the script ---- */

/* qsub -- COMMAND ARGUMENT …: no shell comes between. */
static void command_load(struct qsub *s)
{
    struct submit_command *line = &s->b.line;
    s->b.script = (struct submit_script){.name = "the command", .job_name = "STDIN"};
    s->b.script.text = "#!/bin/sh\nexec \"$@\"\n";
    s->b.script.len = strlen(s->b.script.text);
    s->b.args = line->argv + line->rest_at;
}

static bool script_load(struct qsub *s, struct err *e)
{
    struct submit_command *line = &s->b.line;
    struct submit_script *script = &s->b.script;
    const char *word = line->rest_at < line->argc ? line->argv[line->rest_at] : "-";
    s->b.args = line->argv + line->rest_at + (line->rest_at < line->argc);
    if (!text_is(word, "-")) {
        if (!submit_script_file(word, NULL, line->cwd, line->a, script, e))
            return false;
    } else {
        if (isatty(STDIN_FILENO) && !s->site.torque)
            puts("Job script will be read from standard input. Submit with CTRL+D.");
        if (!submit_script_stdin(line->a, script, e))
            return false;
        script->job_name = "STDIN";
    }
    if (!script_is_text(script->text, script->len, script->name, e))
        return false;
    if (memmem(script->text, script->len, "\r\n", 2))
        return err_set(e, ERR_INVALID, "%s",
                       s->site.torque ? " script is written in DOS/Windows text format"
                                      : "script contains cr, lf");
    return true;
}

/* The shell of -S, else the one its first line names, else the login shell. */
static bool interpreter_add(struct qsub *s, struct err *e)
{
    struct submit_script *script = &s->b.script;
    const char *shell = s->request.shell ? s->request.shell : s->login_shell;
    bool own = script->len > 2 && memcmp(script->text, "#!", 2) == 0;
    if (s->request.shell || !own) {
        size_t host = strcspn(shell, "@,");
        script->text = arena_printf(s->b.line.a, "#!%.*s\n%s", (int)host, shell, script->text);
        script->len = strlen(script->text);
    }
    return script_check(script->text, script->len, script->name, e);
}

/* ---- the job ---- */

static void name_set(struct qsub *s)
{
    const char *name = s->request.name ? s->request.name : s->b.script.job_name;
    if (!s->request.name && s->site.torque)
        name = arena_strndup(s->b.line.a, name, strnlen(name, 15));
    s->b.line.comp[0].spec.name = name;
}

static void variable_add(struct qsub *s, const char *name, const char *value)
{
    CHECK(s->b.nenv < BATCH_ENV_MAX);
    if (value)
        s->b.env[s->b.nenv++] = arena_printf(s->b.line.a, "PBS_O_%s=%s", name, value);
}

static void number_add(struct qsub *s, const char *name, int32_t n)
{
    CHECK(s->b.nenv < BATCH_ENV_MAX);
    if (n > 0)
        s->b.env[s->b.nenv++] = arena_printf(s->b.line.a, "%s=%d", name, n);
}

/* Of the first chunk: its CPUs, and its ompthreads, else its CPUs. What -v says of the latter
 * counts. */
static void threads_add(struct qsub *s)
{
    const struct pbs_resources *l = &s->request.l;
    const char *listed = s->request.variables;
    int32_t cpus = l->ncpus > 0 ? l->ncpus : s->request.interactive ? 1 : 0;
    if (s->site.torque || !(l->select || s->request.interactive))
        return;
    number_add(s, "NCPUS", cpus);
    if (!listed || !strstr(listed, "OMP_NUM_THREADS"))
        number_add(s, "OMP_NUM_THREADS", l->threads ? l->threads : cpus);
}

static void environment_add(struct qsub *s)
{
    static const char *const copied[] = {"LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ"};
    struct utsname system;
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        variable_add(s, copied[i], getenv(copied[i]));
    variable_add(s, "HOME", s->home);
    variable_add(s, "HOST", submit_hostname(s->b.line.a));
    variable_add(s, "WORKDIR", s->request.origin ? s->request.origin : s->b.line.cwd);
    variable_add(s, "QUEUE", s->request.queue); /* of none the node says where it came to */
    if (uname(&system) == 0)
        variable_add(s, "SYSTEM", system.sysname);
    threads_add(s);
    if (s->site.torque)
        variable_add(s, "INITDIR", s->request.dir ? s->request.dir : s->home);
}

/* Files are written where the job runs: of "[HOST:]PATH" another host than this one is said. */
static void host_note(struct qsub *s, const char *option, const char *given)
{
    const char *colon = given ? strchr(given, ':') : NULL,
               *slash = given ? strchr(given, '/') : NULL;
    const char *here = submit_hostname(s->b.line.a);
    if (!colon || (slash && slash < colon))
        return;
    struct span host = {given, strcspn(given, ".:")}; /* with and without its domain */
    if (host.len && (strlen(here) < host.len || memcmp(here, host.data, host.len) != 0 ||
                     (here[host.len] && here[host.len] != '.')))
        str_addf(&s->warnings,
                 "without effect: %s %.*s: files are written where the job runs, not copied\n",
                 option, (int)(colon - given + 1), given);
}

static bool options_become(struct qsub *s, struct err *e)
{
    struct submit_command *line = &s->b.line;
    struct job_spec *j = &line->comp[0].spec;
    line->ncomp = pbs_parts(&s->request);
    for (size_t i = 0; i < line->ncomp; i++) {
        struct dialect_out d = {&line->comp[i], FROM_DIRECTIVE, &line->env, line->a, &s->warnings};
        if (!pbs_part_finish(&s->request, i, &d, e) ||
            !options_finish(&line->comp[i], CMD_SBATCH, line->a, &s->warnings, e))
            return false;
    }
    if (s->request.array && s->request.rerun_no && !s->site.torque)
        return err_set(e, ERR_INVALID, "cannot submit non-rerunable Array Job");
    host_note(s, "-o", s->request.out);
    host_note(s, "-e", s->request.err_file);
    if (s->request.no_effect)
        str_addf(&s->warnings, "without effect: %s\n", s->request.no_effect);
    name_set(s);
    for (size_t i = 0; i < line->ncomp; i++) {
        struct job_spec *part = &line->comp[i].spec;
        part->name = j->name;
        part->dialect = DIALECT_PBS;
        part->dialect_site =
            arena_printf(line->a, "%s:%s", s->site.torque ? "torque" : "pro", pbs_server(&s->site));
        part->work_dir = s->request.dir ? s->request.dir : s->home;
    }
    qsub_files_set(s);
    return true;
}

/* ---- submitting ---- */

static int job_wait(struct qsub *s, uint64_t job_id)
{
    struct client *c = s->client;
    s->client = NULL;
    const struct msg_job_ended *end = batch_wait(&s->b, c, job_id);
    if (!end || (end->state == JOB_CANCELLED && end->exit_status == 0))
        return 3;
    int signo = status_signal(end->exit_status);
    return signo ? 128 + signo : status_code(end->exit_status);
}

/* A reservation is a queue of PBS, too: where there is no partition of that name, there may be one.
 * False: it could not be asked. */
static bool reservation_try(struct qsub *s, struct msg_submit *m, struct job_spec *spec,
                            struct message *answer, struct err *e)
{
    const struct msg_done *done = answer->body;
    struct message second;
    if (answer->kind == MSG_SUBMITTED || done->refusal != REFUSE_INVALID_PARTITION ||
        s->request.reservation)
        return true;
    for (size_t i = 0; i < m->specs.n; i++) {
        spec[i].req.reservation = spec[i].req.partition;
        spec[i].req.partition = NULL;
    }
    if (!batch_send(&s->b, s->client, m, &second, e))
        return false;
    if (second.kind == MSG_SUBMITTED)
        *answer = second;
    return true;
}

static int submit(struct qsub *s, struct job_spec *specs, const struct str *env)
{
    struct msg_submit m = {.specs = {specs, s->b.line.ncomp},
                           .script = {s->b.script.text, s->b.script.len},
                           .env = {env->data, env->len}};
    struct message answer;
    struct err e = {0};
    if (!batch_send(&s->b, s->client, &m, &answer, &e) ||
        !reservation_try(s, &m, specs, &answer, &e))
        return failed(&e);
    if (answer.kind != MSG_SUBMITTED)
        return refused(s, answer.body);
    const struct msg_submitted *done = answer.body;
    if (!s->request.quiet)
        printf("%llu%s.%s\n", (unsigned long long)done->job_id, s->request.array ? "[]" : "",
               pbs_server(&s->site));
    fflush(stdout); /* first: programs that read both streams as one look for it at the front */
    if (!text_empty(done->warning))
        fprintf(stderr, NAME ": %s\n", done->warning);
    submit_warnings_say(NAME, &s->warnings);
    return s->request.wait ? job_wait(s, done->job_id) : 0;
}

static int batch_run(struct qsub *s)
{
    struct err e = {0};
    struct str env = STR_INIT;
    environment_add(s);
    struct job_spec *specs = interpreter_add(s, &e) ? batch_specs(&s->b, &e) : NULL;
    int status =
        specs && submit_become(NULL, s->b.line.comp[0].gid, &e) && batch_env(&s->b, &env, &e)
            ? submit(s, specs, &env)
            : failed(&e);
    str_done(&env);
    return status;
}

static void interactive_submitted(void *ctx, uint64_t job_id)
{
    const struct qsub *s = ctx;
    printf("qsub: waiting for job %llu.%s to start\n", (unsigned long long)job_id,
           pbs_server(&s->site));
    fflush(stdout);
}

static int interactive_over(void *ctx, uint64_t job_id)
{
    const struct qsub *s = ctx;
    fprintf(stderr, NAME ": job %llu.%s apparently deleted\n", (unsigned long long)job_id,
            pbs_server(&s->site));
    return 1;
}

static int interactive_run(struct qsub *s)
{
    const char *asked = s->request.shell ? s->request.shell : s->login_shell; /* PATH[@HOST],… */
    char *shell[] = {arena_strndup(s->b.line.a, asked, strcspn(asked, "@,")),
                     arena_strdup(s->b.line.a, "-l"), NULL};
    const struct job_spec *j = &s->b.line.comp[0].spec;
    const char *announce =
        arena_printf(s->b.line.a,
                     "id=$SLURM_JOB_ID.%s; echo \"qsub: job $id ready\"; echo; cd; "
                     "\"$@\"; status=$?; echo; echo \"qsub: job $id completed\"; exit $status",
                     pbs_server(&s->site));
    if (s->request.array) {
        fputs(NAME ": -I is not taken with an array\n", stderr);
        return PBS_USAGE;
    }
    submit_warnings_say(NAME, &s->warnings);
    environment_add(s);
    batch_env_export(&s->b);
    struct allocation_told told = {.name = NAME,
                                   .dialect = DIALECT_PBS,
                                   .dialect_site = j->dialect_site,
                                   .project = j->project,
                                   .submitted = interactive_submitted,
                                   .over = interactive_over,
                                   .ctx = s};
    return interactive_job(s->b.line.comp, s->b.line.ncomp, isatty(STDIN_FILENO), announce, shell,
                           &told, s->b.line.a);
}

/* --lint */
static int script_lint(struct qsub *s)
{
    struct submit_command *line = &s->b.line;
    struct err e = {0};
    struct lint_ask ask = {.a = line->a, .own = true, .dialect = DIALECT_PBS, .env = line->env};
    const char *word = line->rest_at < line->argc ? line->argv[line->rest_at] : "-";
    ask.cwd = submit_cwd(line->a, &e);
    ask.state_dir = line->state_dir;
    ask.env.site = &s->site;
    ask.argc = line->rest_at;
    ask.argv = line->argv;
    if (!ask.cwd ||
        !(text_is(word, "-") ? submit_script_stdin(line->a, &ask.script, &e)
                             : submit_script_file(word, NULL, ask.cwd, line->a, &ask.script, &e)))
        return failed(&e);
    return lint_for_command(&ask);
}

static int qsub_run(struct qsub *s)
{
    struct submit_command *line = &s->b.line;
    struct pbs_request *r = &s->request;
    struct err e = {0};
    const struct passwd *p = user_by_uid(getuid());
    unsigned lines;
    s->home = p && p->pw_dir ? p->pw_dir : "/";
    s->login_shell = p && p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh";
    line->cwd = submit_cwd(line->a, &e);
    if (!line->cwd)
        return failed(&e);
    bool command = line->rest_at < line->argc && text_is(line->argv[line->rest_at - 1], "--");
    bool none = r->interactive && line->rest_at >= line->argc;
    if (command)
        command_load(s);
    else if (none)
        s->b.script = (struct submit_script){.text = "", .job_name = "STDIN", .name = "nothing"};
    else if (!script_load(s, &e))
        return failed(&e);
    if (!r->prefix)
        r->prefix = getenv("PBS_DPREFIX");
    if (!command && !pbs_read_script(r, s->b.script.text, s->b.script.len, &line->env, line->a,
                                     &s->warnings, &lines, &e))
        return failed(&e);
    if (!options_become(s, &e))
        return failed(&e);
    if (r->umask) {
        umask((mode_t)strtol(r->umask, NULL, 8));
        unsetenv("SLURM_UMASK"); /* of the job that it is called in */
    }
    if (r->interactive)
        return interactive_run(s);
    s->client = pbs_connect(NAME, line->state_dir);
    return s->client ? batch_run(s) : PBS_NO_CONTROLLER;
}

int cmd_qsub(int argc, char **argv)
{
    struct qsub s = {.warnings = STR_INIT};
    struct arena *a = arena_new();
    struct str help = STR_INIT;
    struct err e = {0};
    int status = 0;
    submit_command_init(&s.b.line, NAME, CMD_SBATCH, argc, argv, a);
    s.b.line.state_dir = state_dir_find(NULL, a);
    s.site = pbs_site(s.b.line.state_dir, a);
    s.request.site = &s.site;
    if (!pbs_read_words(&s.request, argc, argv, &s.b.line.env, a, &s.b.line.rest_at, &e)) {
        status = failed(&e);
        status = status == 1 ? PBS_USAGE : status; /* of a line of the script it is 1 */
    } else if (s.request.help)
        option_table_write_help(&qsub_options, &help);
    else if (s.request.lint)
        status = script_lint(&s);
    else if (s.request.version)
        str_add(&help, "pbs_version = 20.0.0 (commands of Remuda)\n");
    else
        status = qsub_run(&s);
    fputs(str_text(&help), stdout);
    str_done(&help);
    str_done(&s.warnings);
    if (s.client)
        client_close(s.client);
    submit_command_done(&s.b.line);
    arena_free(a);
    return status;
}
