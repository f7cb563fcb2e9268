#include "cli/step/srun_streams.h"

#include "base/alloc.h"
#include "cli/program/program.h"
#include "model/job/pattern.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields that differ by task or node: the nodes open such files. */
static bool is_node_side(const char *path)
{
    for (const char *p = path; (p = strchr(p, '%')); p++) {
        p += 1 + strspn(p + 1, "0123456789");
        if (*p && strchr("tnN", *p))
            return true;
        if (!*p)
            break;
    }
    return false;
}

/* `stream`: stdin, stdout or stderr. From where srun is: --chdir is of the tasks and of the files
 * that nodes open. */
static bool file_open(const char *stream, const char *path, int flags, int *ret, struct err *e)
{
    *ret = open(path, flags | O_CLOEXEC, 0666);
    if (*ret >= 0)
        return true;
    int why = errno;
    err_set(e, ERR_NOT_FOUND, "%s: %s", path, strerror(why));
    return err_lead(e, "error: Could not open %s file: %s", stream, strerror(why));
}

/* all, none, a task's number, a file of srun's own, or one on the nodes. */
static bool way_choose(const struct srun_streams *s, const char *asked, int standard, int flags,
                       struct stream_way *ret, struct err *e)
{
    static const char *const streams[] = {"stdin", "stdout", "stderr"};
    int64_t number;
    *ret = (struct stream_way){.fd = standard, .task = -1, .stream = streams[standard]};
    if (text_empty(asked) || text_is(asked, "all"))
        return true;
    if (text_is(asked, "none") || text_is(asked, "/dev/null")) {
        ret->fd = -1;
        return true;
    }
    if (text_to_i64(asked, 0, LIMIT_TASKS, &number)) {
        ret->task = (int32_t)number;
        ret->number = asked;
        return true;
    }
    if (strchr(asked, '%')) {
        ret->fd = -1;
        *(is_node_side(asked) ? &ret->node_file : &ret->late_file) = asked;
        return true;
    }
    return file_open(ret->stream, asked, flags, &ret->fd, e);
}

/* Always appending: --output and --error may name one file. */
static int output_flags(const struct submit_options *o)
{
    return O_WRONLY | O_CREAT | O_APPEND | (o->spec.open_mode == OPEN_APPEND ? 0 : O_TRUNC);
}

static void files_follow(struct srun_streams *s)
{
    s->files =
        (struct output_ways){.out = {s->out.fd, s->out.task}, .err = {s->err.fd, s->err.task}};
}

bool streams_have_output(const struct submit_options *o)
{
    return !text_empty(o->spec.std_out) || !text_empty(o->spec.std_err);
}

bool streams_choose(const struct submit_options *o, struct arena *a, struct srun_streams *ret,
                    struct err *e)
{
    int flags = output_flags(o);
    *ret = (struct srun_streams){.o = o, .a = a};
    if (o->spec.open_mode > OPEN_TRUNCATE)
        return err_set(e, ERR_VALUE,
                       "--open-mode of srun: append and truncate are allowed, of both files alike");
    if (!way_choose(ret, o->spec.std_in, STDIN_FILENO, O_RDONLY, &ret->in, e) ||
        !way_choose(ret, o->spec.std_out, STDOUT_FILENO, flags, &ret->out, e))
        return false;
    if (text_empty(o->spec.std_err) && !text_empty(o->spec.std_out)) {
        ret->err = ret->out;
        ret->err.node_file = NULL; /* with the output, says the node */
    } else if (!way_choose(ret, o->spec.std_err, STDERR_FILENO, flags, &ret->err, e)) {
        return false;
    }
    if (o->launch.pty)
        ret->in.task = ret->out.task = 0;
    files_follow(ret);
    return true;
}

void streams_tell(const struct srun_streams *s, struct msg_stream_tasks *t)
{
    t->std_in = s->in.node_file;
    t->std_out = s->out.node_file;
    t->std_err = text_is(s->err.node_file, s->out.node_file) ? NULL : s->err.node_file;
    t->errors_apart = !s->err.node_file && !text_empty(s->o->spec.std_err);
    t->label = s->o->launch.label;
    t->append = s->o->spec.open_mode == OPEN_APPEND;
    t->stdin_task_plus1 =
        s->in.fd < 0 && !s->in.node_file && !s->in.late_file ? -1 : s->in.task + 1;
}

/* A number is a task's only if there is such a task; else it is a file's name, as for Slurm. */
static void number_judge(struct stream_way *way, int32_t ntasks)
{
    if (!way->number || way->task < ntasks)
        return;
    way->late_file = way->number;
    way->task = -1;
}

static bool late_open(const struct srun_streams *s, struct stream_way *way, int flags,
                      const struct job *job, const struct step *step, int32_t ntasks)
{
    struct str path = STR_INIT;
    struct err e = {0};
    number_judge(way, ntasks);
    if (!way->late_file)
        return true;
    struct pattern_env env = pattern_env_of_job(job);
    env.step_id = step->step_id;
    pattern_expand(way->late_file, &env, &path);
    bool ok = file_open(way->stream, str_text(&path), flags, &way->fd, &e);
    if (!ok) {
        fprintf(stderr, "srun: %s\n", e.lead);
        program_error("srun", "%s", e.text);
    }
    str_done(&path);
    return ok;
}

bool streams_open_late(struct srun_streams *s, const struct job *job, const struct step *step,
                       int32_t ntasks)
{
    int flags = output_flags(s->o);
    bool ok = late_open(s, &s->in, O_RDONLY, job, step, ntasks) &&
              late_open(s, &s->out, flags, job, step, ntasks) &&
              late_open(s, &s->err, flags, job, step, ntasks);
    files_follow(s);
    return ok;
}
