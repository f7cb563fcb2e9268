/* sbcast: a file to all nodes of a job (bcast.c). */
#include "cli/bcast.h"
#include "cli/command_signals.h"
#include "cli/commands.h"
#include "cli/job_step.h"
#include "cli/options.h"
#include "cli/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ask {
    const char *job, *from, *to, *nodes;
    bool force, preserve, verbose, help, version;
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
    OPT_VERSION
};

// clang-format off
static const struct cli_option options[] = {
    {"jobid", 'j', CLI_VALUE, OPT_JOB, "the job; default: the one this runs in"},
    {"force", 'f', CLI_NONE, OPT_FORCE, "replace a file that is there"},
    {"preserve", 'p', CLI_NONE, OPT_PRESERVE, "keep the time of change"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODES, "only to these nodes of the job"},
    {"compress", 'C', CLI_ATTACHED, OPT_COMPRESS, "kept for compatibility: the file is copied as it is"},
    {"fanout", 'F', CLI_VALUE, OPT_NUMBER, "kept for compatibility: each node is served directly"},
    {"size", 's', CLI_VALUE, OPT_SIZE, "kept for compatibility: blocks have the size that suits the stream"},
    {"timeout", 't', CLI_VALUE, OPT_NUMBER, "kept for compatibility: a node that is lost ends the copy by itself"},
    {"send-libs", 0, CLI_ATTACHED, OPT_LIBS, "kept for compatibility: libraries are not copied"},
    {"exclude", 0, CLI_VALUE, OPT_NOTHING, "kept for compatibility: libraries are not copied"},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "say more"},
    {"help", 'h', CLI_NONE, OPT_HELP, "show this help"},
    {"usage", 0, CLI_NONE, OPT_HELP, NULL},
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
    case OPT_VERSION: q->version = true; break;
    case CLI_WORD:
        if (q->to)
            return err_set(ret_err, ERR_INVALID,
                           "one source and one destination are given: sbcast FILE PATH");
        *(q->from ? &q->to : &q->from) = value;
        break;
    default: break;
    }
    return true;
}

static int copy(const struct ask *q, uint64_t id, struct arena *a)
{
    struct job_step s;
    struct bcast_ask ask = {
        .from = q->from, .to = q->to, .force = q->force, .preserve = q->preserve, .quiet = !q->verbose};
    if (!job_step_open(&s, "sbcast", id, "sbcast", a))
        return 1;
    int32_t nodes = s.al.job[0].alloc_nodes;
    s.spec.req.nodelist = q->nodes;
    if (!q->nodes)
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
    int64_t id = 0;
    if (!cli_parse(&table, argc, argv, option_take, &q, &e)) {
        program_error("sbcast", "%s", e.text);
        return 1;
    }
    if (q.version)
        puts(SLURM_VERSION_TEXT);
    else if (q.help)
        cli_help_print(&table, "sbcast [OPTIONS] FILE PATH");
    if (q.version || q.help)
        return 0;
    if (!q.to || !q.job || !text_to_i64(q.job, 1, INT64_MAX, &id)) {
        program_error("sbcast",
                      !q.to ? "Need two file names, have %d names: sbcast FILE PATH"
                            : "Command only valid from within Slurm job, or with --jobid=ID",
                      q.from ? 1 : 0);
        return 1;
    }
    struct arena *a = arena_new();
    int status = copy(&q, (uint64_t)id, a);
    arena_free(a);
    return status;
}
