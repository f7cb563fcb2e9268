/* remuda logs: what a job has written so far; -f follows until the job is over. The file is found
 * from the job's record, so nobody has to remember where the pattern put it. */
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "model/job/array.h"
#include "model/job/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct logs_line {
    const char *state_dir;
    const char *job;
    bool follow, error_file;
    int64_t rank;
};

static bool job_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct logs_line *o = to;
    if (o->job)
        return own_word_refuse(to, word, a, ret_err);
    o->job = word;
    return true;
}

static const struct option_row rows[] = {
    OPT_FLAG("follow", 'f', "go on until the job is over", offsetof(struct logs_line, follow)),
    OPT_VALUE("rank", 0, "task", "the file of this task, for patterns with %t", set_own_number,
              offsetof(struct logs_line, rank), .max = INT32_MAX),
    OWN_STATE(struct logs_line),
    OPT_FLAG("stderr", 'e', "its error file instead", offsetof(struct logs_line, error_file)),
    OWN_HELP,
};
OPTION_TABLE(logs_options, rows, .usage = "remuda logs [OPTIONS] JOB",
             .about = "  The output of a job (42, or 42_7 for an element of an array).\n",
             .words = WORDS_MIXED, .word = job_take);

/* ---- the job's record ----------------------------------------------------------------------- */

struct logs_found {
    struct job job; /* the last of several */
    size_t n;
};

static void job_keep(void *ctx, const void *record)
{
    struct logs_found *found = ctx;
    found->job = *(const struct job *)record;
    found->n++;
}

/* Live first, then history: the same record either way. */
static bool job_read(struct client *c, const char *ref, struct arena *a, struct job *ret,
                     struct err *ret_err)
{
    struct logs_found found = {0};
    struct msg_query q = {.what = QUERY_JOBS, .ids = ref, .states = "all"};
    struct msg_done done = {0};
    if (!client_query(c, &q, &job_fields, a, job_keep, &found, &done, ret_err))
        return false;
    if (!found.n) {
        q.what = QUERY_HISTORY;
        if (!client_query(c, &q, &job_fields, a, job_keep, &found, &done, ret_err))
            return false;
    }
    *ret = found.job;
    return found.n > 0 || err_set(ret_err, ERR_NOT_FOUND, "there is no job %s", ref);
}

static const char *log_path(const struct job *j, const struct logs_line *o, struct arena *a)
{
    const char *pattern = o->error_file ? j->spec.std_err : j->spec.std_out;
    if (o->error_file && text_empty(pattern))
        pattern = j->spec.std_out;
    if (text_empty(pattern))
        pattern = j->array_task_id != NO_TASK ? "slurm-%A_%a.out" : "slurm-%j.out";
    struct pattern_env env = pattern_env_of_job(j);
    env.task = (int32_t)o->rank;
    struct str path = STR_INIT;
    pattern_expand(pattern, &env, &path);
    const char *full =
        str_text(&path)[0] == '/'
            ? arena_strdup(a, str_text(&path))
            : arena_printf(a, "%s/%s", j->spec.work_dir ? j->spec.work_dir : ".", str_text(&path));
    str_done(&path);
    return full;
}

/* ---- showing -------------------------------------------------------------------------------- */

#define NAP_MS      200
#define NAPS_A_LOOK 5 /* the controller is asked once a second, the file is looked at more often */

static void nap(void)
{
    struct timespec t = {.tv_nsec = NAP_MS * 1000000};
    nanosleep(&t, NULL);
}

/* Copies what is new. False when stdout is gone, or with the error that it cannot be read. */
static bool copy_new(int fd, bool own, const char *path, struct err *ret_err)
{
    int why;
    bool ok = file_out(fd, own, &why) && fflush(stdout) == 0;
    if (why)
        err_set(ret_err, ERR_UNAVAILABLE, "%s cannot be read: %s", path, strerror(why));
    return ok;
}

/* Shows what is new in the file of the job, as long as it may grow and somebody listens. */
static bool logs_show(struct client *c, const struct logs_line *o, struct err *ret_err)
{
    struct arena *look = arena_new();
    struct job j = {0};
    const char *path = NULL;
    bool ok = true, more = true, own = true;
    int fd = -1;
    for (unsigned turn = 0; ok && more; turn++) {
        if (turn % NAPS_A_LOOK == 0) {
            arena_reset(look);
            ok = job_read(c, o->job, look, &j, ret_err);
            path = ok ? log_path(&j, o, look) : NULL;
            own = ok && j.user_id == getuid();
        }
        /* The state was read before the file, so that nothing written before the end can be
         * missed. */
        if (ok && fd < 0)
            fd = own ? open(path, O_RDONLY | O_CLOEXEC) : foreign_open(path);
        more = ok && o->follow && !job_state_over(j.state) &&
               (fd < 0 || copy_new(fd, own, path, ret_err));
        if (more)
            nap();
    }
    if (ok && fd < 0)
        ok = err_set(ret_err, ERR_NOT_FOUND, "job %s is %s and has no output: %s: %s", o->job,
                     enum_name(&job_state_names, j.state), path, strerror(errno));
    else if (ok && ret_err->code == ERR_NONE)
        copy_new(fd, own, path, ret_err);
    if (fd >= 0)
        close(fd);
    arena_free(look);
    return ok && ret_err->code == ERR_NONE;
}

static int logs(const struct logs_line *o, struct arena *a)
{
    struct err err = {0};
    if (!o->job) {
        program_error("remuda logs",
                      "which job? `remuda logs JOB`; `squeue` and `sacct` list them");
        return 2;
    }
    struct client *c = program_connect("remuda logs", state_dir_find(o->state_dir, a));
    bool ok = c && logs_show(c, o, &err);
    if (c && !ok)
        program_error("remuda logs", "%s", err.text);
    if (c)
        client_close(c);
    return ok ? 0 : 1;
}

int cmd_logs(int argc, char **argv)
{
    struct logs_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &logs_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda logs", &line, argc, argv, &status))
        status = logs(&o, a);
    arena_free(a);
    return status;
}
