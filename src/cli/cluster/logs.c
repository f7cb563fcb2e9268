/* remuda logs: what a job has written so far; -f follows until the job is over. The file is found
 * from the job's record, so nobody has to remember where the pattern put it. */
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "model/array.h"
#include "model/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "Usage: remuda logs [-f] [-e] [--rank N] [--state DIR] JOB\n"
    "  The output of a job (42, or 42_7 for an element of an array).\n"
    "  -f, --follow  go on until the job is over      -e, --stderr  its error file instead\n"
    "  --rank N      the file of task N, for patterns with %t\n";

struct logs_options {
    const char *state_dir;
    const char *job;
    bool follow, error_file;
    int64_t rank;
};

static bool options_read(int argc, char **argv, struct logs_options *o, struct err *ret_err)
{
    for (int i = 1; i < argc;) {
        if (text_is(argv[i], "-f") || text_is(argv[i], "--follow")) {
            o->follow = true;
            i++;
        } else if (text_is(argv[i], "-e") || text_is(argv[i], "--stderr")) {
            o->error_file = true;
            i++;
        } else if (text_is(argv[i], "--rank") || text_starts(argv[i], "--rank=")) {
            const char *value = argv[i][6] ? argv[i] + 7 : i + 1 < argc ? argv[++i] : "";
            if (!text_to_i64(value, 0, INT32_MAX, &o->rank))
                return err_set(ret_err, ERR_INVALID, "--rank needs a task number, not \"%s\"",
                               value);
            i++;
        } else if (program_state_option(argc, argv, &i, &o->state_dir, ret_err)) {
            if (ret_err->code)
                return false;
        } else if (argv[i][0] == '-' || o->job) {
            return err_set(ret_err, ERR_INVALID,
                           "unknown word \"%s\"; `remuda logs --help` lists the options", argv[i]);
        } else {
            o->job = argv[i++];
        }
    }
    return o->job || err_set(ret_err, ERR_INVALID,
                             "which job? `remuda logs JOB`; `squeue` and `sacct` list them");
}

/* ---- the job's record ----------------------------------------------------------------------- */

struct found {
    struct job job; /* the last of several */
    size_t n;
};

static void job_keep(void *ctx, const void *record)
{
    struct found *found = ctx;
    found->job = *(const struct job *)record;
    found->n++;
}

/* Live first, then history: the same record either way. */
static bool job_read(struct client *c, const char *ref, struct arena *a, struct job *ret,
                     struct err *ret_err)
{
    struct found found = {0};
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

static const char *log_path(const struct job *j, const struct logs_options *o, struct arena *a)
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

/* Copies what is new. False when stdout is gone. */
static bool copy_new(int fd)
{
    char piece[65536];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        if (fwrite(piece, 1, (size_t)n, stdout) != (size_t)n)
            return false;
    return fflush(stdout) == 0;
}

/* Shows what is new in the file of the job, as long as it may grow and somebody listens. */
static bool logs_show(struct client *c, const struct logs_options *o, struct err *ret_err)
{
    struct arena *look = arena_new();
    struct job j = {0};
    const char *path = NULL;
    bool ok = true, more = true;
    int fd = -1;
    for (unsigned turn = 0; ok && more; turn++) {
        if (turn % NAPS_A_LOOK == 0) {
            arena_reset(look);
            ok = job_read(c, o->job, look, &j, ret_err);
            path = ok ? log_path(&j, o, look) : NULL;
        }
        /* The state was read before the file, so that nothing written before the end can be
         * missed. */
        if (ok && fd < 0)
            fd = open(path, O_RDONLY | O_CLOEXEC);
        more = ok && o->follow && !job_state_over(j.state) && (fd < 0 || copy_new(fd));
        if (more)
            nap();
    }
    if (ok && fd < 0)
        ok = err_set(ret_err, ERR_NOT_FOUND, "job %s is %s and has no output: %s: %s", o->job,
                     enum_name(&job_state_names, j.state), path, strerror(errno));
    else if (ok)
        copy_new(fd);
    if (fd >= 0)
        close(fd);
    arena_free(look);
    return ok;
}

int cmd_logs(int argc, char **argv)
{
    struct logs_options o = {0};
    struct err err = {0};
    for (int i = 1; i < argc; i++)
        if (text_is(argv[i], "--help") || text_is(argv[i], "-h")) {
            fputs(usage, stdout);
            return 0;
        }
    if (!options_read(argc, argv, &o, &err)) {
        program_error("remuda logs", "%s", err.text);
        return 2;
    }
    struct arena *a = arena_new();
    struct client *c = program_connect("remuda logs", state_dir_find(o.state_dir, a));
    bool ok = c && logs_show(c, &o, &err);
    if (c && !ok)
        program_error("remuda logs", "%s", err.text);
    if (c)
        client_close(c);
    arena_free(a);
    return ok ? 0 : 1;
}
