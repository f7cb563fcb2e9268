/* sattach: the streams of a running step, once more. Ctrl-C and the end of this command leave the
 * step alone. */
#include "base/idset.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/step/run.h"
#include "cli/step/terminal.h"
#include "cli/submit/command.h"
#include "model/job/alloc.h"
#include "model/job/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sattach_ask {
    const char *ref;
    int32_t in_task, out_task, err_task;
    bool label, layout, pty, quiet;
    int words;
};

static SETTER(set_task)
{
    int64_t n;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "Invalid numeric value \"%s\" for %s.", value,
                       row->name);
    *(int32_t *)((char *)to + row->at) = (int32_t)n;
    return true;
}

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sattach_ask *q = to;
    q->ref = word;
    q->words++;
    return true;
}

#define USAGE      "sattach [options] <jobid.stepid>"
#define AT(member) offsetof(struct sattach_ask, member)
static const struct option_row rows[] = {
    OPT_VALUE("input-filter", 0, "task", "input goes to this task only", set_task, AT(in_task)),
    OPT_VALUE("output-filter", 0, "task", "output of this task only", set_task, AT(out_task)),
    OPT_VALUE("error-filter", 0, "task", "errors of this task only", set_task, AT(err_task)),
    OPT_FLAG("label", 'l', "put the task number before each line", AT(label)),
    OPT_FLAG("layout", 0, "say which tasks run where, connect to nothing", AT(layout)),
    OPT_FLAG("pty", 0, "task 0 has a terminal: use this one for it", AT(pty)),
    OPT_FLAG("quiet", 'Q', "say nothing but errors", AT(quiet)),
    OPT_NO_EFFECT("verbose", 'v', ARG_NONE, "kept for compatibility: nothing more is said"),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "show this help"),
    OPT_ACCEPTED("usage", 'u', ARG_NONE, "all options in a few lines"),
    OPT_ACCEPTED("version", 'V', ARG_NONE, "show the version"),
};
OPTION_TABLE(sattach_options, rows, .usage = USAGE, .words = WORDS_MIXED, .word = word_take);

static void layout_print(const struct step *s, struct arena *a)
{
    struct alloc al = {0};
    alloc_parse(s->layout ? s->layout : "", a, &al, NULL);
    printf("Job step layout:\n\t%d tasks, %zu nodes (%s)\n\n", s->ntasks, al.n,
           s->nodes ? s->nodes : "");
    for (size_t i = 0; i < al.n; i++) {
        struct idset ids = IDSET_INIT;
        uint32_t id;
        printf("\tNode %zu (%s), %d task(s): ", i, al.node[i].node, al.node[i].tasks);
        bool more = al.node[i].task_ids &&
                    idset_parse(&ids, al.node[i].task_ids, UINT32_MAX, NULL) &&
                    idset_first(&ids, &id);
        for (; more; more = idset_next(&ids, id, &id))
            printf("%u ", id);
        putchar('\n');
        idset_done(&ids);
    }
}

struct sattach_found {
    struct arena *a;
    const struct step *step;
};

static void step_take(void *ctx, const void *record)
{
    struct sattach_found *f = ctx;
    f->step = arena_dup(f->a, record, sizeof(struct step));
}

static bool made(void *ctx, size_t i, const struct step *step)
{
    const struct sattach_ask *q = ctx;
    (void)i;
    (void)step;
    if (q->pty)
        terminal_raw();
    return true;
}

/* No such step runs: because of its job, or because that has no such step. */
static const char *missing_why(struct allocation *al, const char *ref)
{
    struct err e = {0};
    bool found = allocation_find(al, arena_strndup(al->a, ref, strcspn(ref, ".")), &e);
    enum refusal why = REFUSE_INVALID_JOB_ID;
    if (!found && text_is(e.text, refusal_text(REFUSE_ALREADY_DONE)))
        why = REFUSE_ALREADY_DONE;
    else if (!found && text_is(e.text, refusal_text(REFUSE_JOB_PENDING)))
        why = REFUSE_JOB_PENDING;
    return refusal_text(why);
}

static int attach(const struct sattach_ask *q, struct arena *a)
{
    struct allocation al = {
        .name = "sattach", .a = a, .state_dir = state_dir_find(NULL, a), .quiet = q->quiet};
    struct msg_query query = {.what = QUERY_STEPS, .ids = q->ref, .exact = true};
    struct sattach_found f = {a, NULL};
    struct msg_done done = {0};
    struct err e = {0};
    al.client = program_connect("sattach", al.state_dir);
    if (!al.client)
        return submit_exit_error();
    if (!client_query(al.client, &query, &step_fields, a, step_take, &f, &done, &e) || !f.step) {
        program_error("sattach", "Could not get job step info: %s",
                      e.code         ? e.text
                      : done.refusal ? refusal_text((enum refusal)done.refusal)
                                     : missing_why(&al, q->ref));
        if (!e.code && !done.refusal)
            program_error("sattach", "no step %s runs; squeue -s lists those that do", q->ref);
        client_close(al.client);
        return submit_exit_error();
    }
    if (q->layout) {
        layout_print(f.step, a);
        client_close(al.client);
        return 0;
    }
    al.signal_fd = command_signals_open();
    struct step_run_ask run = {
        .label = q->label,
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

static int sattach(const struct option_line *line, const struct sattach_ask *q, struct arena *a)
{
    struct job_ref ref;
    struct err e = {0};
    if (program_information(line))
        return 0;
    if (q->words != 1 || !job_ref_parse(q->ref, &ref, &e) || !ref.has_step) {
        program_error("sattach", "%s",
                      q->words == 1 ? "Failed to parse stepid from command line options"
                                    : "too many parameters");
        program_error("sattach", "name one step: sattach 42.0 (squeue -s lists them)");
        puts("Usage: " USAGE);
        return 1;
    }
    int status = attach(q, a);
    job_ref_done(&ref);
    return status;
}

int cmd_sattach(int argc, char **argv)
{
    struct sattach_ask q = {.in_task = -1, .out_task = -1, .err_task = -1};
    struct arena *a = arena_new();
    struct option_line line = {.table = &sattach_options, .to = &q, .a = a};
    struct err e = {0};
    int status = 1;
    submit_exit_check("sattach", "SLURM_EXIT_ERROR");
    if (option_line_read(&line, argc, argv, &e))
        status = sattach(&line, &q, a);
    else
        program_usage_error("sattach", &e);
    arena_free(a);
    return status;
}
