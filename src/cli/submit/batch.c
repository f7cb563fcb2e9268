#include "cli/submit/batch.h"

#include "base/alloc.h"
#include "cli/submit/check.h"
#include "cli/submit/env.h"
#include "model/grammar/script_args.h"
#include "model/limits.h"
#include "wire/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECONNECT_PAUSE 2 /* seconds, while a wait finds no controller */
/* bytes of script and arguments that scontrol shows; the script gets all of them */
#define COMMAND_SHOWN 8000

extern char **environ;

/* ---- what the job takes along ---- */

static const char *script_args(struct submit_batch *b, char *const *words)
{
    struct str out = STR_INIT;
    for (; *words; words++)
        script_args_add(&out, *words);
    const char *text = out.len ? arena_strdup(b->line.a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

static void spec_complete(struct submit_batch *b, struct submit_options *o)
{
    struct job_spec *j = &o->spec;
    char *const *args = b->args;
    j->batch = true;
    if (!j->name)
        j->name = b->script.job_name;
    submit_spec_complete(&b->line, o);
    j->command = b->script.path ? submit_joined(b->line.a, b->script.path, args) : NULL;
    size_t len = j->command ? strlen(j->command) : 0;
    if (len > COMMAND_SHOWN)
        j->command = arena_printf(b->line.a, "%.*s...",
                                  (int)utf8_cut(j->command, len, COMMAND_SHOWN), j->command);
    j->script_args = script_args(b, args);
    if (submit_env_wants_login(j->export_env))
        j->get_user_env = true;
    else if (text_is_nocase(j->export_env, "NIL"))
        j->get_user_env = false;
}

/* There is one script: its files may be named in any component, the first that does counts. */
static void script_files_take(struct submit_batch *b)
{
    struct job_spec *first = &b->line.comp[0].spec;
    for (size_t i = 1; i < b->line.ncomp; i++) {
        const struct job_spec *j = &b->line.comp[i].spec;
        first->std_in = first->std_in ? first->std_in : j->std_in;
        first->std_out = first->std_out ? first->std_out : j->std_out;
        first->std_err = first->std_err ? first->std_err : j->std_err;
    }
}

static bool export_file_read(struct submit_batch *b, const char *name, struct span *ret,
                             struct err *e)
{
    int64_t number;
    bool given_fd = text_to_i64(name, 3, 1 << 20, &number);
    int fd = given_fd ? (int)number : open(name, O_RDONLY | O_CLOEXEC);
    ret->data = fd >= 0 ? submit_read_fd(fd, LIMIT_ENV_BYTES, b->line.a, &ret->len, e) : NULL;
    int why = errno;
    if (fd >= 0 && !given_fd)
        close(fd);
    if (ret->data && ret->len > LIMIT_ENV_BYTES)
        return err_set(e, ERR_LIMIT, "--export-file=%s: an environment has at most %u bytes", name,
                       LIMIT_ENV_BYTES);
    if (ret->data)
        return true;
    err_set(e, ERR_NOT_FOUND, "--export-file=%s: %s", name, strerror(why));
    return err_lead(e, "error: Could not open user environment file %s", name);
}

bool batch_env(struct submit_batch *b, struct str *out, struct err *e)
{
    const struct submit_options *o = &b->line.comp[0];
    const char *extra[4 + SUBMIT_ENV_OPTIONS + BATCH_ENV_MAX + 1] = {
        arena_printf(b->line.a, "SLURM_SUBMIT_DIR=%s", b->line.cwd),
        arena_printf(b->line.a, "SLURM_SUBMIT_HOST=%s", o->spec.alloc_host),
        arena_printf(b->line.a, "SLURM_PRIO_PROCESS=%d", submit_nice()),
        arena_printf(b->line.a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
    };
    size_t n = 4 + submit_env_options(o, CMD_SBATCH, b->line.a, extra + 4);
    for (size_t i = 0; i < b->nenv; i++)
        extra[n++] = b->env[i];
    extra[n] = NULL;
    /* What a process of the user's has in its environment he may read. */
    struct env_ask ask = {.environ = environ,
                          .export_env = o->spec.export_env,
                          .few = b->line.by_root && geteuid() != 0,
                          .extra = extra};
    if (o->export_file && !export_file_read(b, o->export_file, &ask.file, e))
        return false;
    return submit_env_capture(&ask, out, e);
}

/* ---- sending and waiting ---- */

struct job_spec *batch_specs(struct submit_batch *b, struct err *ret_err)
{
    script_files_take(b);
    struct job_spec *specs = arena_alloc(b->line.a, b->line.ncomp * sizeof *specs);
    for (size_t i = 0; i < b->line.ncomp; i++) {
        spec_complete(b, &b->line.comp[i]);
        specs[i] = b->line.comp[i].spec;
        if (!submit_spec_check(&specs[i], ret_err))
            return NULL;
    }
    return specs;
}

bool batch_send(struct submit_batch *b, struct client *c, const struct msg_submit *m,
                struct message *ret_answer, struct err *ret_err)
{
    for (unsigned tries = 1;; tries++) {
        if (!client_call(c, MSG_SUBMIT, m, 0, b->line.a, ret_answer, ret_err))
            return false;
        if (!submit_is_busy(&b->line, ret_answer, tries))
            return true;
        sleep(tries);
    }
}

const struct msg_job_ended *batch_wait(struct submit_batch *b, struct client *c, uint64_t job_id)
{
    struct msg_wait_job ask = {.job_id = job_id};
    struct message answer;
    struct err e = {0};
    while (!c || !client_call(c, MSG_WAIT_JOB, &ask, -1, b->line.a, &answer, &e)) {
        if (c)
            client_close(c);
        sleep(RECONNECT_PAUSE);
        c = client_open(b->line.state_dir, &e);
    }
    client_close(c);
    return answer.kind == MSG_JOB_ENDED ? answer.body : NULL;
}

void batch_env_export(const struct submit_batch *b)
{
    for (size_t i = 0; i < b->nenv; i++)
        putenv(arena_strdup(b->line.a, b->env[i]));
}

void submit_warnings_say(const char *command, struct str *warnings)
{
    struct span rest = {str_text(warnings), warnings->len}, line;
    while (span_next(&rest, '\n', &line))
        if (line.len)
            fprintf(stderr, "%s: %.*s\n", command, (int)line.len, line.data);
    str_clear(warnings);
}
