/* sbatch: one batch script to the controller.
 *
 * The command line is read twice. The first time finds the script (and --help and the like); then the options
 * are gathered again in rising order of strength: the script's directives, the SBATCH_* variables, the
 * command line. Components of a heterogeneous job come from "hetjob" in the script and from ":" on the
 * command line; the i-th of both belong together, and variables count for each. */
#include "base/alloc.h"
#include "cli/cluster_dir.h"
#include "cli/commands.h"
#include "cli/localtime.h"
#include "cli/program.h"
#include "cli/submit_check.h"
#include "cli/submit_env.h"
#include "cli/submit_host.h"
#include "cli/submit_script.h"
#include "model/limits.h"
#include "model/script_args.h"
#include "script/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "sbatch"
#define RETRIES_MAX                                                                                          \
    15 /* a busy controller is asked so often, with growing pauses, as Slurm's sbatch does                   \
        */
#define RECONNECT_PAUSE 2 /* seconds, while --wait finds no controller */
#define COMMAND_SHOWN                                                                                        \
    8000 /* bytes of script and arguments that scontrol shows; the script gets all of them */

extern char **environ;

struct words {
    int from, to; /* options of one component: argv[from] … argv[to - 1] */
};

struct submission {
    struct arena *a;
    struct option_env env;
    const char *cwd;
    int argc;
    char **argv;
    struct words words[COMPONENTS_MAX];
    size_t nwords;
    int script_at; /* index of the script's name in argv; argc = none */
    struct submit_script script;
    struct submit_options
        *comp; /* COMPONENTS_MAX, zeroed; from calloc, so that pages never used cost nothing */
    size_t ncomp;
    const char *cluster; /* set when -M was given: name to print */
    const char *state_dir;
};

/* SLURM_EXIT_ERROR, else 1. */
static int exit_error(void)
{
    const char *text = getenv("SLURM_EXIT_ERROR");
    int64_t code;
    return text && text_to_i64(text, 1, 255, &code) ? (int)code : 1;
}

static int fail(const struct err *e)
{
    program_error(NAME, "%s", e->text);
    return exit_error();
}

/* ---- command line
 * -------------------------------------------------------------------------------------------------------------
 */

/* Options of one component into `o`. options_parse_argv skips the word before the first. */
static bool words_parse(struct submission *s, size_t i, struct submit_options *o, int end, int *ret_rest,
                        struct err *e)
{
    int from = s->words[i].from - 1, rest;
    bool ok = options_parse_argv(o, CMD_SBATCH, end - from, s->argv + from, FROM_COMMAND_LINE, &s->env, s->a,
                                 &rest, e);
    *ret_rest = ok ? from + rest : 0;
    return ok;
}

static bool argv_split(struct submission *s, struct submit_options *first, struct err *e)
{
    struct submit_options *scratch = first;
    int at = 1;
    for (;;) {
        if (s->nwords == COMPONENTS_MAX)
            return err_set(e, ERR_LIMIT, "a job has at most %d components", COMPONENTS_MAX);
        s->words[s->nwords] = (struct words){at, at};
        if (!words_parse(s, s->nwords, scratch, s->argc, &at, e))
            return false;
        s->words[s->nwords++].to = at;
        if (at >= s->argc || !text_is(s->argv[at], ":"))
            break;
        at++;
        scratch = arena_alloc(s->a, sizeof *scratch);
    }
    s->script_at = at;
    return true;
}

static bool script_load(struct submission *s, const struct submit_options *first, struct err *e)
{
    if (first->wrap && s->script_at < s->argc)
        return err_set(e, ERR_INVALID, "Script arguments not permitted with --wrap option");
    if (first->wrap)
        submit_script_wrap(first->wrap, s->a, &s->script);
    else if (s->script_at < s->argc) {
        const char *dir = first->spec.work_dir;
        if (dir && dir[0] != '/')
            dir = arena_printf(s->a, "%s/%s", s->cwd, dir);
        if (!submit_script_file(s->argv[s->script_at], dir, s->cwd, s->a, &s->script, e))
            return false;
    } else if (!submit_script_stdin(s->a, &s->script, e))
        return false;
    return script_check(s->script.text, s->script.len, s->script.name, e);
}

/* ---- options of all components
 * ------------------------------------------------------------------------------------------------ */

/* One warning a line, with `about` (a script's name, or "") before it. */
static void warnings_print(const struct submission *s, const char *about, struct str *warnings)
{
    struct span rest = {str_text(warnings), warnings->len}, line;
    while (!s->comp[0].quiet && span_next(&rest, '\n', &line))
        if (line.len)
            fprintf(stderr, NAME ": %s%s%.*s\n", about, *about ? ": " : "", (int)line.len, line.data);
    str_clear(warnings);
}

/* -F, or -w with a file: names separated by blanks, commas or newlines; the command line's --nodelist beats
 * it. */
static bool nodefile_read(struct submission *s, struct submit_options *o, struct err *e)
{
    size_t len;
    if (!o->nodefile)
        return true;
    int fd = open(o->nodefile, O_RDONLY | O_CLOEXEC);
    const char *text = fd >= 0 ? submit_read_fd(fd, LIMIT_TEXT_BYTES, s->a, &len, e) : NULL;
    if (fd >= 0)
        close(fd);
    if (!text)
        return err_set(e, ERR_NOT_FOUND, "Unable to read the list of nodes %s: %s", o->nodefile,
                       strerror(errno));
    struct str list = STR_INIT;
    for (const char *c = text; *c;) {
        size_t blank = strspn(c, " \t\r\n,");
        c += blank;
        size_t word = strcspn(c, " \t\r\n");
        if (word && list.len)
            str_addc(&list, ',');
        str_addn(&list, c, word);
        c += word;
    }
    const struct option_row *row = option_named("nodelist", CMD_SBATCH);
    bool through_list = text_is(o->given[option_index(row)], o->nodefile);
    enum option_source source = option_source_of(o, through_list ? "nodelist" : "nodefile", CMD_SBATCH);
    bool ok = option_set(o, row, str_text(&list), source, &s->env, s->a, e);
    str_done(&list);
    return ok || err_prefix(e, "%s", o->nodefile);
}

static bool component_gather(struct submission *s, size_t i, struct str *warnings, struct err *e)
{
    struct submit_options *o = &s->comp[i];
    int rest;
    if (!options_parse_env(o, CMD_SBATCH, getenv, &s->env, s->a, e))
        return false;
    if (i < s->nwords && !words_parse(s, i, o, s->words[i].to, &rest, e))
        return false;
    if (i > 0 && !options_carry_over(o, &s->comp[i - 1], &s->env, s->a, e))
        return false;
    return nodefile_read(s, o, e) && options_finish(o, CMD_SBATCH, s->a, warnings, e);
}

static bool options_gather(struct submission *s, const struct submit_options *first, struct err *e)
{
    struct str script_warnings = STR_INIT, warnings = STR_INIT;
    s->comp = xcalloc(COMPONENTS_MAX, sizeof *s->comp);
    bool ok = script_parse(s->script.text, s->script.len, s->comp, COMPONENTS_MAX, &s->ncomp,
                           first->ignore_pbs, &s->env, s->a, &script_warnings, e) ||
              err_prefix(e, "%s", s->script.name);
    if (ok && s->nwords > s->ncomp)
        s->ncomp = s->nwords;
    for (size_t i = 0; ok && i < s->ncomp; i++)
        ok = component_gather(s, i, &warnings, e);
    if (ok) {
        warnings_print(s, s->script.name, &script_warnings);
        warnings_print(s, "", &warnings);
    }
    str_done(&script_warnings);
    str_done(&warnings);
    return ok;
}

/* ---- what the job takes along
 * ------------------------------------------------------------------------------------------------- */

static const char *joined_words(struct submission *s, const char *first, char *const *words)
{
    struct str line = STR_INIT;
    str_add(&line, first);
    for (; *words; words++) {
        str_addc(&line, ' ');
        str_add(&line, *words);
    }
    const char *text = arena_strdup(s->a, str_text(&line));
    str_done(&line);
    return text;
}

static const char *script_args(struct submission *s, char *const *words)
{
    struct str out = STR_INIT;
    for (; *words; words++)
        script_args_add(&out, *words);
    const char *text = out.len ? arena_strdup(s->a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

static void spec_complete(struct submission *s, struct submit_options *o)
{
    struct job_spec *j = &o->spec;
    char *const *args = s->script_at < s->argc ? s->argv + s->script_at + 1 : s->argv + s->argc;
    j->batch = true;
    if (!j->name)
        j->name = s->script.job_name;
    if (!j->work_dir)
        j->work_dir = s->cwd;
    else if (j->work_dir[0] != '/')
        j->work_dir = text_is(j->work_dir, ".") ? s->cwd : arena_printf(s->a, "%s/%s", s->cwd, j->work_dir);
    j->command = s->script.path ? joined_words(s, s->script.path, args) : NULL;
    if (j->command && strlen(j->command) > COMMAND_SHOWN)
        j->command = arena_printf(s->a, "%.*s...", COMMAND_SHOWN, j->command);
    j->script_args = script_args(s, args);
    j->submit_line = joined_words(s, NAME, s->argv + 1);
    j->alloc_host = submit_hostname(s->a);
    j->rlimits = submit_rlimits(o->propagate, s->a);
    j->umask_plus1 = submit_umask() + 1;
    if (submit_env_wants_login(j->export_env))
        j->get_user_env = true;
    else if (text_is_nocase(j->export_env, "NIL"))
        j->get_user_env = false;
}

static bool export_file_read(struct submission *s, const char *name, struct span *ret, struct err *e)
{
    int64_t number;
    bool given_fd = text_to_i64(name, 3, 1 << 20, &number);
    int fd = given_fd ? (int)number : open(name, O_RDONLY | O_CLOEXEC);
    ret->data = fd >= 0 ? submit_read_fd(fd, LIMIT_ENV_BYTES, s->a, &ret->len, e) : NULL;
    int why = errno;
    if (fd >= 0 && !given_fd)
        close(fd);
    return ret->data ||
           err_set(e, ERR_NOT_FOUND, "Could not open user environment file %s: %s", name, strerror(why));
}

static bool env_capture(struct submission *s, struct str *out, struct err *e)
{
    const struct submit_options *o = &s->comp[0];
    const char *extra[] = {
        arena_printf(s->a, "SLURM_SUBMIT_DIR=%s", s->cwd),
        arena_printf(s->a, "SLURM_SUBMIT_HOST=%s", o->spec.alloc_host),
        "SLURM_PRIO_PROCESS=0",
        arena_printf(s->a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
        NULL,
    };
    struct env_ask ask = {.environ = environ, .export_env = o->spec.export_env, .extra = extra};
    if (o->export_file && !export_file_read(s, o->export_file, &ask.file, e))
        return false;
    return submit_env_capture(&ask, out, e);
}

/* -M: this cluster by its name, or all; there are no others. */
static bool cluster_check(struct submission *s, struct err *e)
{
    const char *asked = s->comp[0].clusters;
    if (!asked)
        return true;
    struct config conf;
    if (!cluster_conf_read(s->state_dir, &conf, e))
        return false;
    s->cluster = arena_strdup(s->a, conf.settings.cluster_name);
    config_done(&conf);
    struct span rest = span_of(asked), name;
    while (span_next(&rest, ',', &name))
        if (span_is_nocase(span_trim(name), s->cluster) || span_is_nocase(span_trim(name), "all") ||
            span_is_nocase(span_trim(name), "local"))
            return true;
    return err_set(
        e, ERR_NOT_FOUND,
        "'%s' can't be reached now, or it is an invalid entry for --cluster. This cluster is \"%s\".", asked,
        s->cluster);
}

/* ---- answers
 * ------------------------------------------------------------------------------------------------------------------
 */

static void submitted_print(const struct submission *s, const struct msg_submitted *m)
{
    const struct submit_options *o = &s->comp[0];
    if (!text_empty(m->warning) && !o->quiet)
        fprintf(stderr, NAME ": %s\n", m->warning);
    if (o->parsable)
        printf("%llu%s%s\n", (unsigned long long)m->job_id, s->cluster ? ";" : "",
               s->cluster ? s->cluster : "");
    else if (!o->quiet)
        printf("Submitted batch job %llu%s%s\n", (unsigned long long)m->job_id,
               s->cluster ? " on cluster " : "", s->cluster ? s->cluster : "");
    fflush(stdout);
}

static void test_print(const struct msg_submitted *m)
{
    struct str when = STR_INIT;
    civil_format_iso(m->planned_us, &civil_local, &when);
    fprintf(stderr, NAME ": Job %llu to start at %s using %d processors on nodes %s in partition %s\n",
            (unsigned long long)m->job_id, str_text(&when), m->cpus, m->nodes ? m->nodes : "",
            m->partition ? m->partition : "");
    if (!text_empty(m->warning))
        fprintf(stderr, NAME ": %s\n", m->warning);
    str_done(&when);
}

static int refused_print(const struct msg_done *m, bool test_only)
{
    program_error(NAME, "%s: %s", test_only ? "allocation failure" : "Batch job submission failed",
                  refusal_text((enum refusal)m->refusal));
    if (!text_empty(m->detail))
        program_error(NAME, "%s", m->detail);
    return exit_error();
}

/* Waits for the end of the job, through restarts of the controller. */
static int job_wait(struct submission *s, struct client *c, uint64_t job_id)
{
    struct msg_wait_job ask = {.job_id = job_id};
    struct message answer;
    struct err e = {0};
    while (!c || !client_call(c, MSG_WAIT_JOB, &ask, -1, s->a, &answer, &e)) {
        if (c)
            client_close(c);
        sleep(RECONNECT_PAUSE);
        c = client_open(s->state_dir, &e);
    }
    client_close(c);
    if (answer.kind != MSG_JOB_ENDED) {
        program_error(NAME, "cannot learn how job %llu ended", (unsigned long long)job_id);
        return exit_error();
    }
    const struct msg_job_ended *end = answer.body;
    if (status_signal(end->exit_status))
        return 1;
    return status_code(end->exit_status);
}

static int answer_take(struct submission *s, struct client *c, const struct message *answer)
{
    const struct submit_options *o = &s->comp[0];
    int status = 0;
    if (answer->kind == MSG_DONE) {
        status = refused_print(answer->body, o->test_only);
    } else if (answer->kind == MSG_SUBMITTED) {
        const struct msg_submitted *m = answer->body;
        if (o->test_only)
            test_print(m);
        else
            submitted_print(s, m);
        if (o->wait && !o->test_only)
            return job_wait(s, c, m->job_id);
    } else {
        program_error(NAME, "the controller gave an answer that does not belong to a submission");
        status = exit_error();
    }
    client_close(c);
    return status;
}

static bool is_busy(const struct message *answer)
{
    if (answer->kind != MSG_DONE)
        return false;
    int32_t refusal = ((const struct msg_done *)answer->body)->refusal;
    return refusal == REFUSE_QUEUE_FULL || refusal == REFUSE_BUSY;
}

static int submit(struct submission *s, const struct msg_submit *m)
{
    struct err e = {0};
    struct message answer;
    struct client *c = program_connect(NAME, s->state_dir);
    if (!c)
        return exit_error();
    for (unsigned tries = 1;; tries++) {
        if (!client_call(c, MSG_SUBMIT, m, 0, s->a, &answer, &e)) {
            client_close(c);
            program_error(NAME, "Batch job submission failed: %s", e.text);
            return exit_error();
        }
        if (!is_busy(&answer) || tries > RETRIES_MAX)
            return answer_take(s, c, &answer);
        if (tries == 1) {
            const struct msg_done *done = answer.body;
            program_error(NAME, "Slurm temporarily unable to accept job, sleeping and retrying%s%s",
                          done->detail ? ": " : "", done->detail ? done->detail : "");
        }
        sleep(tries);
    }
}

/* ---- the whole
 * ----------------------------------------------------------------------------------------------------------------
 */

/* -v: the options in force, and what came of none. */
static void verbose_print(const struct submission *s)
{
    for (size_t k = 0; k < s->ncomp; k++) {
        const struct submit_options *o = &s->comp[k];
        fprintf(stderr, NAME ": defined options%s\n", k ? " (next component)" : "");
        const struct option_row *row;
        for (size_t i = 0; (row = option_at(i)); i++)
            if (o->source[i] != FROM_DEFAULT)
                fprintf(stderr, NAME ": %-20s: %s\n", row->name, *o->given[i] ? o->given[i] : "set");
        if (o->no_effect)
            fprintf(stderr, NAME ": without effect: %s\n", o->no_effect);
    }
}

static int submission_run(struct submission *s, struct submit_options *first)
{
    struct err e = {0};
    s->cwd = submit_cwd(s->a, &e);
    if (!s->cwd || !options_parse_env(first, CMD_SBATCH, getenv, &s->env, s->a, &e) ||
        !script_load(s, first, &e) || !options_gather(s, first, &e))
        return fail(&e);
    s->state_dir = state_dir_find(NULL, s->a);
    if (s->comp[0].verbose)
        verbose_print(s);
    struct job_spec *specs = arena_alloc(s->a, s->ncomp * sizeof *specs);
    for (size_t i = 0; i < s->ncomp; i++) {
        spec_complete(s, &s->comp[i]);
        specs[i] = s->comp[i].spec;
        if (!submit_spec_check(&specs[i], &e))
            return fail(&e);
    }
    struct str env = STR_INIT;
    int status;
    if (cluster_check(s, &e) && env_capture(s, &env, &e) &&
        submit_become(s->comp[0].uid, s->comp[0].gid, &e)) {
        struct msg_submit m = {
            .specs = {specs, s->ncomp},
            .script = {s->script.text, s->script.len},
            .env = {env.data, env.len},
            .test_only = s->comp[0].test_only,
        };
        status = submit(s, &m);
    } else {
        status = fail(&e);
    }
    str_done(&env);
    return status;
}

static bool information_print(const struct submit_options *o)
{
    struct str text = STR_INIT;
    if (o->version)
        str_add(&text, SLURM_VERSION_TEXT "\n");
    else if (o->help)
        options_write_help(CMD_SBATCH, &text);
    else if (o->usage)
        options_write_usage(CMD_SBATCH, &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    return o->version || o->help || o->usage;
}

int cmd_sbatch(int argc, char **argv)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct submission s = {.a = a, .env = {time_now_us(), &civil_local}, .argc = argc, .argv = argv};
    struct submit_options *first = arena_alloc(a, sizeof *first);
    int status = 0;
    if (!argv_split(&s, first, &e)) {
        status = fail(&e);
        fprintf(stderr, "Try \"" NAME " --help\" for more information\n");
    } else if (!information_print(first)) {
        status = submission_run(&s, first);
    }
    free(s.comp);
    arena_free(a);
    return status;
}
