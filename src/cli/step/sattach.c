/* sattach: the streams of a running step, once more. Ctrl-C and the end of this command leave the step alone. */
#include "base/idset.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/options.h"
#include "cli/program/program.h"
#include "cli/step/run.h"
#include "cli/step/terminal.h"
#include "model/alloc.h"
#include "model/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct ask {
    const char *ref;
    int32_t in_task, out_task, err_task;
    bool label, layout, pty, quiet, help, usage, version;
    int words;
};

enum {
    OPT_IN = 1,
    OPT_OUT,
    OPT_ERR,
    OPT_LABEL,
    OPT_LAYOUT,
    OPT_PTY,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_USAGE,
    OPT_VERSION
};

#define USAGE "sattach [options] <jobid.stepid>"

static const struct cli_option options[] = {
    {"input-filter", 0, CLI_VALUE, OPT_IN, "input goes to this `task` only"},
    {"output-filter", 0, CLI_VALUE, OPT_OUT, "output of this `task` only"},
    {"error-filter", 0, CLI_VALUE, OPT_ERR, "errors of this `task` only"},
    {"label", 'l', CLI_NONE, OPT_LABEL, "put the task number before each line"},
    {"layout", 0, CLI_NONE, OPT_LAYOUT, "say which tasks run where, connect to nothing"},
    {"pty", 0, CLI_NONE, OPT_PTY, "task 0 has a terminal: use this one for it"},
    {"quiet", 'Q', CLI_NONE, OPT_QUIET, "say nothing but errors"},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "kept for compatibility: nothing more is said"},
    {"help", 'h', CLI_NONE, OPT_HELP, "show this help"},
    {"usage", 'u', CLI_NONE, OPT_USAGE, "all options in a few lines"},
    {"version", 'V', CLI_NONE, OPT_VERSION, "show the version"},
};
static const struct cli_options table = {options, sizeof options / sizeof options[0], true};

static bool task_take(const char *name, const char *value, int32_t *ret, struct err *e)
{
    int64_t n;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(e, ERR_INVALID, "Invalid numeric value \"%s\" for %s.", value, name);
    *ret = (int32_t)n;
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct ask *q = ctx;
    switch (id) {
    case OPT_IN: return task_take("input-filter", value, &q->in_task, ret_err);
    case OPT_OUT: return task_take("output-filter", value, &q->out_task, ret_err);
    case OPT_ERR: return task_take("error-filter", value, &q->err_task, ret_err);
    case OPT_LABEL: q->label = true; break;
    case OPT_LAYOUT: q->layout = true; break;
    case OPT_PTY: q->pty = true; break;
    case OPT_QUIET: q->quiet = true; break;
    case OPT_HELP: q->help = true; break;
    case OPT_USAGE: q->usage = true; break;
    case OPT_VERSION: q->version = true; break;
    case CLI_WORD:
        q->ref = value;
        q->words++;
        break;
    default: break;
    }
    return true;
}

static void layout_print(const struct step *s, struct arena *a)
{
    struct alloc al = {0};
    alloc_parse(s->layout ? s->layout : "", a, &al, NULL);
    printf("Job step layout:\n\t%d tasks, %zu nodes (%s)\n\n", s->ntasks, al.n, s->nodes ? s->nodes : "");
    for (size_t i = 0; i < al.n; i++) {
        struct idset ids = IDSET_INIT;
        uint32_t id;
        printf("\tNode %zu (%s), %d task(s): ", i, al.node[i].node, al.node[i].tasks);
        bool more = al.node[i].task_ids && idset_parse(&ids, al.node[i].task_ids, UINT32_MAX, NULL) &&
                    idset_first(&ids, &id);
        for (; more; more = idset_next(&ids, id, &id))
            printf("%u ", id);
        putchar('\n');
        idset_done(&ids);
    }
}

struct found {
    struct arena *a;
    const struct step *step;
};

static void step_take(void *ctx, const void *record)
{
    struct found *f = ctx;
    f->step = arena_dup(f->a, record, sizeof(struct step));
}

static bool made(void *ctx, size_t i, const struct step *step)
{
    const struct ask *q = ctx;
    (void)i;
    (void)step;
    if (q->pty)
        terminal_raw();
    return true;
}

static int attach(const struct ask *q, struct arena *a)
{
    struct allocation al = {
        .name = "sattach", .a = a, .state_dir = state_dir_find(NULL, a), .quiet = q->quiet};
    struct msg_query query = {.what = QUERY_STEPS, .ids = q->ref, .exact = true};
    struct found f = {a, NULL};
    struct msg_done done = {0};
    struct err e = {0};
    al.client = program_connect("sattach", al.state_dir);
    if (!al.client)
        return 1;
    if (!client_query(al.client, &query, &step_fields, a, step_take, &f, &done, &e) || !f.step) {
        program_error("sattach", "Could not get job step info: %s",
                      e.code         ? e.text
                      : done.refusal ? refusal_text((enum refusal)done.refusal)
                                     : "Invalid job id specified");
        if (!e.code && !done.refusal)
            program_error("sattach", "no step %s runs; squeue -s lists those that do", q->ref);
        client_close(al.client);
        return 1;
    }
    if (q->layout) {
        layout_print(f.step, a);
        client_close(al.client);
        return 0;
    }
    al.signal_fd = command_signals_open();
    struct step_run_ask run = {.label = q->label,
                               .pty = q->pty,
                               .quiet = q->quiet,
                               .in_fd = STDIN_FILENO,
                               .in_task = q->in_task,
                               .output = {{STDOUT_FILENO, q->out_task}, {STDERR_FILENO, q->err_task}},
                               .created = made,
                               .ctx = (void *)(uintptr_t)q};
    struct config conf;
    if (cluster_settings_read(al.state_dir, al.client, &conf, &e)) {
        run.plain = !conf.settings.stream_tls;
        config_done(&conf);
    }
    int status = step_follow(&al, f.step->job_id, f.step->step_id, &run);
    client_close(al.client);
    return status;
}

int cmd_sattach(int argc, char **argv)
{
    struct ask q = {.in_task = -1, .out_task = -1, .err_task = -1};
    struct err e = {0};
    struct job_ref ref;
    if (!cli_parse(&table, argc, argv, option_take, &q, &e)) {
        program_usage_error("sattach", &e);
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
    if (q.words != 1 || !job_ref_parse(q.ref, &ref, &e) || !ref.has_step) {
        program_error("sattach", "%s",
                      q.words == 1 ? "Failed to parse stepid from command line options"
                                   : "too many parameters");
        program_error("sattach", "name one step: sattach 42.0 (squeue -s lists them)");
        puts("Usage: " USAGE);
        return 1;
    }
    struct arena *a = arena_new();
    int status = attach(&q, a);
    job_ref_done(&ref);
    arena_free(a);
    return status;
}
