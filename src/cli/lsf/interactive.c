/* It is salloc with the options that the request became, and in the allocation srun's interactive
 * step, which takes nothing of it and runs on its first host once, however many slots there are. */
#include "cli/lsf/interactive.h"

#include "base/list.h"
#include "base/vec.h"
#include "cli/lsf/jobs.h"
#include "cli/lsf/names.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/submit/command.h"
#include "cli/submit/env.h"
#include "cli/submit/salloc.h"
#include "io/client/client.h"
#include "script/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a shell in the allocation says before the command; of a job whose parts differ the variables
 * are those of each component. The node sets LSF's. */
#define ANNOUNCE                                                                                   \
    "echo \"<<Starting on $(%s/scontrol show hostnames "                                           \
    "\"${SLURM_JOB_NODELIST:-$SLURM_JOB_NODELIST_HET_GROUP_0}\" | head -n 1)>>\" >&2; "            \
    "exec \"$@\""

static void options_add(const struct submit_options *o, dialect_words *argv, struct arena *a)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        if (o->source[i] == FROM_DEFAULT || !(row->commands & CMD_SALLOC))
            continue;
        vec_push(argv, *o->given[i] ? arena_printf(a, "--%s=%s", row->name, o->given[i])
                                    : arena_printf(a, "--%s", row->name));
    }
}

/* -env and -v: srun takes along what there is. */
static bool variables_set(const char *export_env, struct arena *a, struct err *e)
{
    struct str env = STR_INIT;
    bool listed = export_env && !text_is_nocase(export_env, "NONE");
    struct env_ask ask = {.environ = environ,
                          .export_env = listed ? arena_printf(a, "ALL,%s", export_env) : NULL};
    bool ok = !listed || submit_env_capture(&ask, &env, e);
    struct span rest = {env.data, env.len};
    for (const char *entry; ok && text_next(&rest, &entry);)
        putenv(arena_strdup(a, entry));
    str_done(&env);
    return ok;
}

int interactive_job(const struct submit_options *o, size_t ncomp, bool terminal,
                    const char *announce_lines, char *const *command,
                    const struct allocation_told *told, struct arena *a)
{
    dialect_words argv = {0};
    struct err e = {0};
    if (!variables_set(o->spec.export_env, a, &e)) {
        fprintf(stderr, "%s: %s\n", told->name, e.text);
        return 1;
    }
    vec_push(&argv, arena_strdup(a, "salloc"));
    vec_push(&argv, arena_strdup(a, "--quiet"));
    for (size_t i = 0; i < ncomp; i++) {
        if (i > 0)
            vec_push(&argv, arena_strdup(a, ":"));
        options_add(&o[i], &argv, a);
        const char *name = o[i].spec.name;
        vec_push(&argv, arena_printf(a, "--job-name=%s",
                                     name ? name : submit_joined(a, *command, command + 1)));
    }
    const char *words[] = {"sh", "-c", announce_lines, "sh"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        vec_push(&argv, arena_strdup(a, words[i]));
    vec_push(&argv, arena_printf(a, "%s/srun", program_bin_dir(a)));
    const char *step[] = {"--interactive", "--preserve-env", "--quiet", "--ntasks=1", "--nodes=1"};
    for (size_t i = 0; i < ARRAY_LEN(step); i++)
        vec_push(&argv, arena_strdup(a, step[i]));
    if (terminal)
        vec_push(&argv, arena_strdup(a, "--pty"));
    if (!command[1]) { /* one word is a line of a shell, as for jobs that are not interactive */
        vec_push(&argv, arena_strdup(a, "/bin/sh"));
        vec_push(&argv, arena_strdup(a, "-c"));
    }
    for (; *command; command++)
        vec_push(&argv, *command);
    int argc = (int)argv.n;
    vec_push(&argv, NULL);
    int status = salloc_run(argc, argv.v, told);
    vec_done(&argv);
    return status;
}

struct lsf_told {
    const char *queue; /* NULL = none was named: the default one */
    struct arena *a;
};

/* The number comes first, as of a job that is not interactive, and then the wait. */
static void lsf_submitted(void *ctx, uint64_t job_id)
{
    const struct lsf_told *t = ctx;
    struct err e = {0};
    FILE *to = getenv("BSUB_STDERR") ? stderr : stdout;
    struct client *c = t->queue ? NULL : cluster_reach(state_dir_find(NULL, t->a), &e);
    const char *queue = t->queue ? t->queue : c ? lsf_queue_of_job(c, job_id, t->a) : "";
    if (c)
        client_close(c);
    if (!getenv("BSUB_QUIET"))
        fprintf(to, "Job <%llu> is submitted to %squeue <%s>.\n", (unsigned long long)job_id,
                t->queue ? "" : "default ", queue);
    fflush(to);
    fputs("<<Waiting for dispatch ...>>\n", stderr);
}

static int lsf_over(void *ctx, uint64_t job_id)
{
    (void)ctx, (void)job_id;
    fputs("<<Terminated while pending>>\n", stderr);
    return lsf_job_exit_code(&(struct job){.state = JOB_CANCELLED});
}

int lsf_interactive(const struct submit_options *o, size_t ncomp, bool terminal, const char *queue,
                    char *const *command, struct arena *a)
{
    struct lsf_told about = {queue, a};
    struct allocation_told told = {.name = "bsub",
                                   .dialect = DIALECT_LSF,
                                   .project = o->spec.project,
                                   .job_group = o->spec.job_group,
                                   .submitted = lsf_submitted,
                                   .over = lsf_over,
                                   .ctx = &about};
    return interactive_job(o, ncomp, terminal, arena_printf(a, ANNOUNCE, program_bin_dir(a)),
                           command, &told, a);
}

void lsf_interactive_note(const struct lsf_request *r, struct arena *a, struct str *warnings)
{
    struct lsf_request idle = {0};
    if (r->out || r->err_file || r->in)
        lsf_note(&idle, a, "-o, -e and -i with -I", "its streams are those of this terminal");
    if (r->nulimit)
        lsf_note(&idle, a, "-C, -S, -D and -F with -I", "ulimit in the command sets them");
    if (r->rerun == YES)
        lsf_note(&idle, a, "-r with -I", "it ends with its host, and is called again by hand");
    if (r->login_shell)
        lsf_note(&idle, a, "-L with -I", "the environment of this shell goes along");
    if (r->export_env && !list_has_nocase(r->export_env, "all"))
        lsf_note(&idle, a, "-env without all, with -I", "the environment of this shell goes along");
    if (idle.no_effect)
        str_addf(warnings, "without effect: %s\n", idle.no_effect);
}
