/* remuda shell JOB: a shell (or a command) inside a running job, with its devices and limits, on its first node or the one named. */
#include "cli/program/commands.h"
#include "cli/program/options.h"
#include "cli/program/program.h"
#include "cli/step/job_step.h"
#include "cli/step/terminal.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ask {
    const char *node, *job;
    const char *argv[256];
    size_t n;
    bool help;
};

enum { OPT_NODE = 1, OPT_HELP };

static const struct cli_option options[] = {
    {"nodelist", 'w', CLI_VALUE, OPT_NODE, "on this node of the job; default: its first"},
    {"help", 'h', CLI_NONE, OPT_HELP, "show this help"},
};
static const struct cli_options table = {options, sizeof options / sizeof options[0], true};

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct ask *q = ctx;
    if (id == OPT_NODE)
        q->node = value;
    else if (id == OPT_HELP)
        q->help = true;
    else if (!q->job)
        q->job = value;
    else if (q->n + 1 < sizeof q->argv / sizeof q->argv[0])
        q->argv[q->n++] = value;
    else
        return err_set(ret_err, ERR_LIMIT, "too many words");
    return true;
}

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
    const struct passwd *p = getpwuid(getuid());
    return p && p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh";
}

static int run(struct ask *q, struct arena *a)
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

int cmd_shell(int argc, char **argv)
{
    struct ask q = {0};
    struct err e = {0};
    if (!cli_parse(&table, argc, argv, option_take, &q, &e)) {
        program_usage_error("remuda", &e);
        return 1;
    }
    if (q.help || !q.job) {
        cli_help_print(&table, "remuda shell [-w NODE] JOB [-- COMMAND …]");
        return q.help ? 0 : 1;
    }
    if (!job_step_names_job(q.job)) {
        program_error("remuda", "\"%s\" is no job id: 42, 42_7 and 42+1 are, as squeue shows them", q.job);
        return 1;
    }
    struct arena *a = arena_new();
    int status = run(&q, a);
    arena_free(a);
    return status;
}
