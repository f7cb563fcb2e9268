/* bsub: a job as LSF's users submit it.
 *
 * Its options are read by the table in script/lsf/options.c, from the #BSUB lines of the script
 * first and then from the command line, and become options of sbatch; from there on it is a job
 * like any other, but for its environment, its output and the report in it. */
#include "base/alloc.h"
#include "cli/lsf/interactive.h"
#include "cli/lsf/jobs.h"
#include "cli/lsf/lsf.h"
#include "cli/lsf/names.h"
#include "cli/lsf/refusal_words.h"
#include "cli/lsf/ulimits.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/submit/batch.h"
#include "cli/submit/host.h"
#include "cli/submit/lint.h"
#include "cli/submit/site.h"
#include "script/lsf/lsf.h"
#include "script/script.h"
#include "wire/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME       "bsub"
#define FIRST_LINE "#!/bin/sh\n"

struct bsub {
    struct submit_batch b;
    struct dialect_site site;
    struct lsf_request request;
    struct client *client;
    struct str warnings;
    size_t added; /* bytes before the script as it was given: a first line */
    bool queue_given;
};

/* ---- messages ---- */

static int not_submitted(const char *text)
{
    size_t len = strlen(text);
    fprintf(stderr, "%s%s Job not submitted.\n", text, len && text[len - 1] == '.' ? "" : ".");
    return LSF_EXIT;
}

static int failed(const struct err *e)
{
    if (e->lead[0])
        fprintf(stderr, NAME ": %s\n", e->lead);
    return not_submitted(e->text);
}

static int refused(const struct bsub *s, const struct msg_done *m)
{
    not_submitted(lsf_refusal_words(&s->b.line.comp[0].spec.req, m, s->b.line.a));
    if (!text_empty(m->detail))
        fprintf(stderr, NAME ": %s\n", m->detail);
    return LSF_EXIT;
}

/* ---- the script ---- */

/* Directives of a file that is run as a command count only where the site says so. */
static bool file_is_parsed(const struct bsub *s)
{
    const char *given = getenv("LSB_BSUB_PARSE_SCRIPT");
    return given ? given[0] == 'y' || given[0] == 'Y' : s->site.lsf_parse_script;
}

static bool has_directives(const struct submit_script *script)
{
    return strncmp(script->text, "#BSUB ", 6) == 0 ||
           memmem(script->text, script->len, "\n#BSUB ", 7);
}

/* The script that words are: `bsub FILE …` may be one itself. */
static bool words_load(struct bsub *s, struct err *e)
{
    struct submit_command *line = &s->b.line;
    char *const *words = line->argv + line->rest_at;
    struct submit_script file;
    bool readable = submit_script_file(words[0], NULL, line->cwd, line->a, &file, NULL) &&
                    file.len > 2 && memcmp(file.text, "#!", 2) == 0 && has_directives(&file);
    if (readable && file_is_parsed(s)) {
        s->b.script = file;
        s->b.args = words + 1;
        return script_check(file.text, file.len, file.name, e);
    }
    if (readable)
        str_addf(&s->warnings,
                 "the #BSUB lines of %s are not read, as it is run as a command; bsub < %s reads "
                 "them\n",
                 words[0], words[0]);
    const char *command = submit_joined(line->a, words[0], words + 1);
    s->b.script = (struct submit_script){.name = "the command", .job_name = command};
    s->b.script.text = arena_printf(line->a, "#!/bin/sh\n%s\n", command);
    s->b.script.len = strlen(s->b.script.text);
    return true;
}

/* The first line that is a command: the name of a job that is given none. */
static const char *first_command(const struct submit_script *script, struct arena *a)
{
    struct span rest = {script->text, script->len}, line;
    bool goes_on = false; /* a #BSUB line that ends in a backslash */
    while (span_next(&rest, '\n', &line)) {
        line = span_trim(line);
        bool command = line.len && line.data[0] != '#' && !goes_on;
        bool directive = line.len > 5 && memcmp(line.data, "#BSUB", 5) == 0;
        goes_on = (directive || goes_on) && line.len && line.data[line.len - 1] == '\\';
        if (command)
            return arena_strndup(a, line.data, utf8_cut(line.data, line.len, 256));
    }
    return NULL;
}

static void prompt(void)
{
    fputs("bsub> ", stdout);
    fflush(stdout);
}

/* A terminal is asked line by line. */
static bool terminal_read(struct submit_script *ret, struct arena *a)
{
    struct str text = STR_INIT;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    for (prompt(); (n = getline(&line, &cap, stdin)) > 0; prompt())
        str_addn(&text, line, (size_t)n);
    free(line);
    putchar('\n');
    *ret = (struct submit_script){.text = arena_dup(a, str_text(&text), text.len + 1),
                                  .len = text.len};
    str_done(&text);
    return ret->len > 0;
}

static bool stdin_load(struct bsub *s, struct err *e)
{
    struct submit_script *script = &s->b.script;
    struct arena *a = s->b.line.a;
    if (isatty(STDIN_FILENO)) {
        if (!terminal_read(script, a))
            return err_set(e, ERR_INVALID, "No command is specified");
    } else if (!submit_script_stdin(a, script, e)) {
        return false;
    }
    script->name = "the script";
    if (!script_is_text(script->text, script->len, script->name, e))
        return false;
    script->job_name = first_command(script, a);
    if (!script->job_name)
        return err_set(e, ERR_INVALID, "No command is specified");
    if (script->len < 2 || memcmp(script->text, "#!", 2) != 0) {
        s->added = strlen(FIRST_LINE);
        script->text = arena_printf(a, FIRST_LINE "%s", script->text);
        script->len = strlen(script->text);
    }
    return script_check(script->text, script->len, script->name, e);
}

/* ---- options ---- */

static bool options_read(struct bsub *s, struct err *e)
{
    struct submit_command *line = &s->b.line;
    struct lsf_request *r = &s->request;
    unsigned directives;
    int rest;
    bool is_script = s->b.script.path || line->rest_at >= line->argc;
    *r = (struct lsf_request){.site = &s->site, .queues = getenv("LSB_DEFAULTQUEUE")};
    const char *from_environment = r->queues;
    r->project = getenv("LSB_DEFAULTPROJECT");
    if (is_script && !lsf_read_script(r, s->b.script.text + s->added, s->b.script.len - s->added,
                                      &line->env, line->a, &s->warnings, &directives, e))
        return false;
    if (!lsf_read_words(r, line->argc, line->argv, &line->env, line->a, &rest, e))
        return false;
    s->queue_given = r->queues && r->queues != from_environment;
    return true;
}

/* A directory gets ID.out in it, with and without a slash at its end. */
static const char *named_file(const struct bsub *s, const char *file)
{
    struct stat st;
    size_t len = file ? strlen(file) : 0;
    if (!len || file[len - 1] == '/' || strchr(file, '%') || stat(file, &st) != 0 ||
        !S_ISDIR(st.st_mode))
        return file;
    return arena_printf(s->b.line.a, "%s/", file);
}

/* %P and %U, which are known; %J and %I are not yet. */
static bool work_dir_expand(struct bsub *s, struct err *e)
{
    struct lsf_request *r = &s->request;
    const struct passwd *p = user_by_uid(getuid());
    struct str out = STR_INIT;
    if (!r->work_dir || !strchr(r->work_dir, '%'))
        return true;
    for (const char *c = r->work_dir; *c; c++) {
        const char *value = c[0] != '%'   ? NULL
                            : c[1] == 'P' ? (r->project ? r->project : "default")
                            : c[1] == 'U' ? (p ? p->pw_name : NULL)
                                          : NULL;
        if (c[0] == '%' && (c[1] == 'J' || c[1] == 'I')) {
            str_done(&out);
            return err_set(e, ERR_UNSUPPORTED,
                           "-cwd %s: %%J and %%I are not known before the job is submitted; in the "
                           "script: mkdir -p $LSB_JOBID && cd $LSB_JOBID",
                           r->work_dir);
        }
        if (value)
            str_add(&out, value);
        else
            str_addc(&out, *c);
        c += value != NULL;
    }
    r->work_dir = arena_strdup(s->b.line.a, str_text(&out));
    str_done(&out);
    return true;
}

static bool options_become(struct bsub *s, struct err *e)
{
    struct submit_command *line = &s->b.line;
    line->ncomp = lsf_parts(&s->request);
    s->request.out = named_file(s, s->request.out);
    s->request.err_file = named_file(s, s->request.err_file);
    bool ok = work_dir_expand(s, e);
    for (size_t i = 0; ok && i < line->ncomp; i++) {
        struct submit_options *o = &line->comp[i];
        struct dialect_out d = {o, FROM_DIRECTIVE, &line->env, line->a, &s->warnings};
        const struct lsf_request *part = lsf_part(&s->request, i, line->a, e);
        ok = part && lsf_finish(part, &d, e) && lsf_names_resolve(part, s->client, &d, e) &&
             options_finish(o, CMD_SBATCH, line->a, &s->warnings, e);
        o->spec.dialect = DIALECT_LSF;
    }
    if (ok && s->request.no_effect)
        str_addf(&s->warnings, "without effect: %s\n", s->request.no_effect);
    return ok;
}

static bool work_dir_make(const struct bsub *s, struct err *e)
{
    const char *dir = s->request.work_dir;
    char *path = dir ? arena_strdup(s->b.line.a, dir) : NULL;
    for (char *slash = path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777); /* what cannot be made is named below */
        *slash = '/';
    }
    if (!dir || mkdir(dir, 0777) == 0 || errno == EEXIST)
        return true;
    return err_set(e, ERR_INVALID, "-cwd %s: cannot be made: %s", dir, strerror(errno));
}

/* ---- submitting ---- */

/* -env "all,~A": what the job has is what this process has. */
static void environment_cut(struct bsub *s)
{
    struct span rest = span_of(s->request.env_without), one;
    while (s->request.env_without && span_next(&rest, ',', &one))
        unsetenv(arena_strndup(s->b.line.a, one.data, one.len));
}

static void environment_add(struct bsub *s)
{
    environment_cut(s);
    struct submit_batch *b = &s->b;
    b->env[b->nenv++] = arena_printf(b->line.a, "LS_SUBCWD=%s", b->line.cwd);
    b->env[b->nenv++] = arena_printf(b->line.a, "LSF_VERSION=%d", 34);
    static const char *const dirs[] = {"LSF_BINDIR", "LSF_SERVERDIR", "LSF_LIBDIR"};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        b->env[b->nenv++] = arena_printf(b->line.a, "%s=%s", dirs[i], program_bin_dir(b->line.a));
}

/* The queue a job is in that named none. */
static const char *queue_of(struct bsub *s, uint64_t job_id)
{
    const char *queue = s->b.line.comp[0].spec.req.partition;
    return queue && s->queue_given ? queue : lsf_queue_of_job(s->client, job_id, s->b.line.a);
}

static void time_print(const char *what, int64_t us)
{
    struct str text = STR_INIT;
    if (us)
        civil_format(us, us, "%a %b %e %H:%M:%S %Y", &civil_local, &text);
    if (text.len)
        fprintf(stderr, "%s %s\n", what, str_text(&text));
    str_done(&text);
}

static void times_print(const struct bsub *s)
{
    time_print("Job will be scheduled after", s->request.begin_us);
    time_print("Job will be terminated by", s->request.end_by_us);
}

static void submitted_print(struct bsub *s, const struct msg_submitted *m)
{
    FILE *to = getenv("BSUB_STDERR") ? stderr : stdout;
    bool quiet = getenv("BSUB_QUIET") != NULL;
    const char *queue = quiet ? NULL : queue_of(s, m->job_id);
    if (!quiet)
        fprintf(to, "Job <%llu> is submitted to %squeue <%s>.\n", (unsigned long long)m->job_id,
                s->queue_given ? "" : "default ", queue);
    fflush(to); /* first: programs that read both streams as one take the first number */
    if (!quiet)
        times_print(s);
    if (!text_empty(m->warning))
        fprintf(stderr, NAME ": %s\n", m->warning);
    submit_warnings_say(NAME, &s->warnings);
}

/* Says where the job starts, once, or nothing where it ends before or cannot be asked. A connection
 * of its own: what else comes for an allocation is nobody's then. */
static void start_wait(struct bsub *s, uint64_t job_id)
{
    struct msg_attach ask = {.job_id = job_id};
    struct message answer;
    struct err e = {0};
    struct client *c = client_open(s->b.line.state_dir, &e);
    if (c && client_call(c, MSG_ATTACH, &ask, -1, s->b.line.a, &answer, &e) &&
        answer.kind == MSG_ALLOCATED) {
        const struct msg_allocated *m = answer.body;
        struct lsf_host *host;
        size_t n = m->jobs.n ? lsf_job_hosts(m->jobs.v, s->b.line.a, &host) : 0;
        fprintf(stderr, "<<Starting on %s>>\n", n ? host[0].name : "");
    }
    if (c)
        client_close(c);
}

/* -K */
static int job_wait(struct bsub *s, uint64_t job_id)
{
    struct client *c = s->client;
    s->client = NULL;
    fputs("<<Waiting for dispatch ...>>\n", stderr);
    start_wait(s, job_id);
    const struct msg_job_ended *end = batch_wait(&s->b, c, job_id);
    fputs("<<Job is finished>>\n", stderr);
    if (!end)
        return LSF_EXIT;
    struct job over = {.state = (int32_t)end->state, .exit_status = end->exit_status};
    return lsf_job_exit_code(&over);
}

static int submit(struct bsub *s, struct job_spec *specs, const struct str *env)
{
    struct msg_submit m = {.specs = {specs, s->b.line.ncomp},
                           .script = {s->b.script.text, s->b.script.len},
                           .env = {env->data, env->len}};
    struct message answer;
    struct err e = {0};
    if (!batch_send(&s->b, s->client, &m, &answer, &e))
        return failed(&e);
    if (answer.kind != MSG_SUBMITTED)
        return refused(s, answer.body);
    const struct msg_submitted *done = answer.body;
    submitted_print(s, done);
    return s->request.wait ? job_wait(s, done->job_id) : 0;
}

static int batch_run(struct bsub *s)
{
    struct err e = {0};
    struct str env = STR_INIT;
    if (s->request.wait && s->request.array)
        return not_submitted("-K is not taken with a job array");
    environment_add(s);
    struct job_spec *specs =
        work_dir_make(s, &e) && lsf_ulimits_check(&s->request, &e) ? batch_specs(&s->b, &e) : NULL;
    if (specs)
        lsf_ulimits_replace(&s->request, specs, s->b.line.a);
    const char *shown = s->b.script.job_name ? s->b.script.job_name : "";
    for (size_t i = 0; specs && i < s->b.line.ncomp; i++) /* no file: its first command */
        if (!specs[i].command)
            specs[i].command =
                arena_strndup(s->b.line.a, shown, utf8_cut(shown, strlen(shown), 1024));
    int status = specs && batch_env(&s->b, &env, &e) ? submit(s, specs, &env) : failed(&e);
    str_done(&env);
    return status;
}

static int interactive_run(struct bsub *s)
{
    struct submit_command *line = &s->b.line;
    if (line->rest_at >= line->argc)
        return not_submitted("No command is specified");
    if (s->request.array)
        return not_submitted("-I is not taken with a job array");
    lsf_interactive_note(&s->request, line->a, &s->warnings);
    submit_warnings_say(NAME, &s->warnings);
    environment_add(s);
    batch_env_export(&s->b);
    bool terminal = s->request.interactive == LSF_TERMINAL && isatty(STDIN_FILENO);
    const char *queue = s->queue_given ? line->comp[0].spec.req.partition : NULL;
    return lsf_interactive(line->comp, line->ncomp, terminal, queue, line->argv + line->rest_at,
                           line->a);
}

/* -lint */
static int script_lint(struct bsub *s)
{
    struct submit_command *line = &s->b.line;
    struct err e = {0};
    struct lint_ask ask = {.a = line->a, .own = true, .dialect = DIALECT_LSF, .env = line->env};
    bool file = line->rest_at < line->argc;
    ask.cwd = submit_cwd(line->a, &e);
    ask.state_dir = state_dir_find(NULL, line->a);
    s->site = submit_site(ask.state_dir, line->a);
    ask.env.site = &s->site;
    ask.argc = line->rest_at;
    ask.argv = line->argv;
    if (!ask.cwd || !(file ? submit_script_file(line->argv[line->rest_at], NULL, ask.cwd, line->a,
                                                &ask.script, &e)
                           : submit_script_stdin(line->a, &ask.script, &e)))
        return failed(&e);
    ask.run_as_command = file && !file_is_parsed(s);
    return lint_for_command(&ask);
}

static int bsub_run(struct bsub *s)
{
    struct submit_command *line = &s->b.line;
    struct err e = {0};
    line->cwd = submit_cwd(line->a, &e);
    line->state_dir = state_dir_find(NULL, line->a);
    s->site = submit_site(line->state_dir, line->a);
    bool words = line->rest_at < line->argc;
    s->b.args = line->argv + line->argc;
    if (!line->cwd || !(words ? words_load(s, &e) : stdin_load(s, &e)) || !options_read(s, &e))
        return failed(&e);
    if (!words && s->request.interactive != LSF_BATCH)
        return not_submitted("No command is specified");
    s->client = lsf_connect(NAME, line->state_dir);
    if (!s->client)
        return LSF_EXIT;
    if (!options_become(s, &e))
        return failed(&e);
    return s->request.interactive != LSF_BATCH ? interactive_run(s) : batch_run(s);
}

int cmd_bsub(int argc, char **argv)
{
    struct bsub s = {.warnings = STR_INIT};
    struct arena *a = arena_new();
    struct lsf_request look = {.site = &s.site};
    struct str help = STR_INIT;
    struct err e = {0};
    int status = 0;
    s.site = dialect_site_standard();
    submit_command_init(&s.b.line, NAME, CMD_SBATCH, argc, argv, a);
    if (!lsf_read_words(&look, argc, argv, &s.b.line.env, a, &s.b.line.rest_at, &e))
        status = failed(&e);
    else if (look.help)
        option_table_write_help(&bsub_options, &help);
    else if (look.lint)
        status = script_lint(&s);
    else if (look.version)
        str_add(&help, LSF_VERSION_TEXT "\n");
    else
        status = bsub_run(&s);
    fputs(str_text(&help), stdout);
    str_done(&help);
    str_done(&s.warnings);
    if (s.client)
        client_close(s.client);
    submit_command_done(&s.b.line);
    arena_free(a);
    return status;
}
