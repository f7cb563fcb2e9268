/* sbcast: a file to all nodes of a job (bcast.c). */
#include "base/hostlist.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/options.h"
#include "cli/program/program.h"
#include "cli/step/bcast.h"
#include "cli/step/job_step.h"
#include "model/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ask {
    const char *job, *from, *to, *nodes;
    bool force, preserve, verbose, help, usage, version;
    int words;
};

enum {
    OPT_JOB = 1,
    OPT_FORCE,
    OPT_PRESERVE,
    OPT_NODES,
    OPT_COMPRESS,
    OPT_SIZE,
    OPT_NUMBER,
    OPT_LIBS,
    OPT_NOTHING,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_USAGE,
    OPT_VERSION
};

#define USAGE "sbcast [OPTIONS] SOURCE DEST"

// clang-format off
static const struct cli_option options[] = {
    {"jobid", 'j', CLI_VALUE, OPT_JOB, "the `job`; default: the one this runs in"},
    {"force", 'f', CLI_NONE, OPT_FORCE, "replace a file that is there"},
    {"preserve", 'p', CLI_NONE, OPT_PRESERVE, "keep the time of change"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODES, "only to these `nodes` of the job"},
    {"compress", 'C', CLI_ATTACHED, OPT_COMPRESS, "kept for compatibility: the file is copied as it is"},
    {"fanout", 'F', CLI_VALUE, OPT_NUMBER, "kept for compatibility: each node is served directly"},
    {"size", 's', CLI_VALUE, OPT_SIZE, "kept for compatibility: blocks have the size that suits the stream"},
    {"timeout", 't', CLI_VALUE, OPT_NUMBER, "kept for compatibility: a node that is lost ends the copy by itself"},
    {"send-libs", 0, CLI_ATTACHED, OPT_LIBS, "kept for compatibility: libraries are not copied"},
    {"exclude", 0, CLI_VALUE, OPT_NOTHING, "kept for compatibility: libraries are not copied"},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "say more"},
    {"help", 'h', CLI_NONE, OPT_HELP, "show this help"},
    {"usage", 0, CLI_NONE, OPT_USAGE, "all options in a few lines"},
    {"version", 'V', CLI_NONE, OPT_VERSION, "show the version"},
};
// clang-format on
static const struct cli_options table = {options, sizeof options / sizeof options[0], true};

/* Options without effect are still read: a slip of the pen is said. */
static bool value_check(int id, const char *value, struct err *e)
{
    int64_t n;
    size_t digits = value ? strspn(value, "0123456789") : 0;
    if (id == OPT_COMPRESS && value && !text_is(value, "lz4") && !text_is(value, "none") &&
        !text_is(value, "zlib"))
        return err_set(e, ERR_INVALID, "Compression type '%s' unknown: lz4 and none are allowed", value);
    if (id == OPT_SIZE && (digits == 0 || strlen(value + digits) > 1 || !strchr("kKmMgG", value[digits])))
        return err_set(e, ERR_INVALID, "--size=%s: a number is allowed, with k, m or g behind it", value);
    if (id == OPT_NUMBER && !text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(e, ERR_INVALID, "\"%s\": a whole number is allowed", value);
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct ask *q = ctx;
    switch (id) {
    case OPT_JOB: q->job = value; break;
    case OPT_FORCE: q->force = true; break;
    case OPT_PRESERVE: q->preserve = true; break;
    case OPT_NODES: q->nodes = value; break;
    case OPT_COMPRESS:
    case OPT_SIZE:
    case OPT_NUMBER: return value_check(id, value, ret_err);
    case OPT_LIBS:
        if (!text_is_nocase(value, "no") && !text_is_nocase(value, "n"))
            program_error("sbcast", "--send-libs has no effect: the nodes' own shared libraries are used");
        break;
    case OPT_VERBOSE: q->verbose = true; break;
    case OPT_HELP: q->help = true; break;
    case OPT_USAGE: q->usage = true; break;
    case OPT_VERSION: q->version = true; break;
    case CLI_WORD:
        if (q->words++ < 2)
            *(q->from ? &q->to : &q->from) = value;
        break;
    default: break;
    }
    return true;
}

#define EXIT_SOURCE 255 /* Slurm's, where nothing was copied because file or job is not there */

/* ---- which nodes ---- */

static int lookup_error(const char *job)
{
    program_error("sbcast", "Slurm job %s lookup error: Invalid job id specified", job);
    return EXIT_SOURCE;
}

struct found {
    struct arena *a;
    const char *step; /* "42.0": that one alone */
    const char *nodes;
};

static void step_take(void *ctx, const void *record)
{
    struct found *f = ctx;
    const struct step *s = record;
    struct str label = STR_INIT;
    step_label(s->step_id, &label);
    if (text_is(strrchr(f->step, '.') + 1, str_text(&label)) && s->nodes)
        f->nodes = arena_strdup(f->a, s->nodes);
    str_done(&label);
}

/* -j 42.0: the nodes of that step. NULL: all of the job. */
static const char *nodes_of_step(const struct ask *q, struct job_step *s, struct arena *a)
{
    struct msg_query query = {.what = QUERY_STEPS, .ids = q->job};
    struct found f = {.a = a, .step = q->job};
    struct msg_done done = {0};
    if (!strchr(q->job, '.'))
        return NULL;
    client_query(s->al.client, &query, &step_fields, a, step_take, &f, &done, NULL);
    return f.nodes;
}

static int copy(const struct ask *q, const char *job, struct arena *a)
{
    struct job_step s;
    struct err e = {0};
    struct bcast_ask ask = {
        .from = q->from, .to = q->to, .force = q->force, .preserve = q->preserve, .quiet = !q->verbose};
    if (access(q->from, R_OK) != 0) {
        program_error("sbcast", "Can't open `%s`: %s", q->from, strerror(errno));
        return EXIT_SOURCE;
    }
    if (!job_step_open(&s, "sbcast", job, "sbcast", a))
        return EXIT_SOURCE;
    const char *names = q->nodes ? q->nodes : nodes_of_step(q, &s, a);
    if (strchr(q->job, '.') && !names)
        return lookup_error(q->job);
    struct hostlist named = HOSTLIST_INIT;
    if (names && !hostlist_parse(&named, names, &e)) {
        program_error("sbcast", "%s", e.text);
        return 1;
    }
    int32_t nodes = names ? (int32_t)named.n : s.al.job[0].alloc_nodes;
    hostlist_done(&named);
    s.spec.req.nodelist = names;
    s.spec.req.min_nodes = s.spec.req.max_nodes = s.spec.req.ntasks = nodes > 0 ? nodes : 1;
    s.spec.req.ntasks_per_node = 1;
    s.al.signal_fd = command_signals_open();
    int status = bcast_run(&s.al, &s.step, &ask);
    allocation_finish(&s.al, 0);
    return status;
}

int cmd_sbcast(int argc, char **argv)
{
    struct ask q = {.job = getenv("SLURM_JOB_ID")};
    struct err e = {0};
    if (!cli_parse(&table, argc, argv, option_take, &q, &e)) {
        program_usage_error("sbcast", &e);
        return 1;
    }
    if (q.version)
        puts(SLURM_VERSION_TEXT);
    else if (q.help)
        cli_help_print(&table, USAGE);
    else if (q.usage)
        cli_usage_print(&table, USAGE);
    if (q.version || q.help || q.usage)
        return 0;
    if (q.words != 2) {
        fprintf(stderr, "Need two file names, have %d names\nTry \"sbcast --help\" for more information\n",
                q.words);
        return 1;
    }
    if (!q.job) {
        program_error("sbcast", "Need a job id to run this command.  Run from within a Slurm job or use "
                                "the --jobid option.");
        return 1;
    }
    struct arena *a = arena_new();
    const char *job = arena_strndup(a, q.job, strcspn(q.job, "."));
    int status = EXIT_SOURCE;
    if (job_step_names_job(job)) {
        status = copy(&q, job, a);
    } else {
        program_error("sbcast", "Slurm job 0 lookup error: Invalid job id specified");
        program_error("sbcast", "\"%s\" is no job: a number is, as squeue shows it", q.job);
    }
    arena_free(a);
    return status;
}
