/* remuda shell JOB: a shell (or a command) inside a running job, with its devices and limits, on
 * its first node or the one named. */
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/step/job_step.h"
#include "cli/step/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shell_ask {
    const char *node, *job;
    const char *argv[256];
    size_t n;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct shell_ask *q = to;
    if (!q->job)
        q->job = word;
    else if (q->n + 1 < sizeof q->argv / sizeof q->argv[0])
        q->argv[q->n++] = word;
    else
        return err_set(ret_err, ERR_LIMIT, "too many words");
    return true;
}

static const struct option_row rows[] = {
    OPT_VALUE("nodelist", 'w', NULL, "on this node of the job; default: its first", set_any_text,
              offsetof(struct shell_ask, node)),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "show this help"),
};
OPTION_TABLE(shell_options, rows, .usage = "remuda shell [-w NODE] JOB [-- COMMAND …]",
             .words = WORDS_MIXED, .word = word_take);

static bool made(void *ctx, size_t i, const struct step *step)
{
    (void)i;
    (void)ctx;
    (void)step;
    terminal_raw();
    return true;
}

static const char *shell_of_user(void)
{
    const struct passwd *p = user_by_uid(getuid());
    return p && p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh";
}

static int run(struct shell_ask *q, struct arena *a)
{
    struct job_step s;
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!job_step_open(&s, "remuda", q->job, "shell", a))
        return 1;
    s.spec.req.min_nodes = s.spec.req.max_nodes = s.spec.req.ntasks = 1;
    s.spec.req.nodelist = q->node;
    if (!q->n)
        q->argv[q->n++] = shell_of_user();
    job_step_program(&s, q->argv);
    s.step.create.pty = s.run.pty = terminal;
    if (terminal) {
        terminal_size(&s.step.tasks.rows, &s.step.tasks.columns);
        s.step.tasks.term = getenv("TERM");
        s.step.tasks.stdin_task_plus1 = 1;
        s.run.in_task = 0;
        s.run.created = made;
    }
    return job_step_run(&s);
}

static int shell(const struct option_line *line, struct shell_ask *q, struct arena *a)
{
    if (program_information(line))
        return 0;
    if (!q->job) {
        struct str text = STR_INIT;
        option_table_write_help(&shell_options, &text);
        fputs(str_text(&text), stdout);
        str_done(&text);
        return 1;
    }
    if (!job_step_names_job(q->job)) {
        program_error("remuda", "\"%s\" is no job id: 42, 42_7 and 42+1 are, as squeue shows them",
                      q->job);
        return 1;
    }
    return run(q, a);
}

int cmd_shell(int argc, char **argv)
{
    struct shell_ask q = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &shell_options, .to = &q, .a = a};
    struct err e = {0};
    int status = 1;
    if (option_line_read(&line, argc, argv, &e))
        status = shell(&line, &q, a);
    else
        program_usage_error("remuda", &e);
    arena_free(a);
    return status;
}
