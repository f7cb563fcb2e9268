/* strigger: there are no triggers. Each of Slurm's options is known and refused by name, with what
 * tells of the same event here. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"

#include <stdio.h>

enum about { ABOUT_NOTHING, ABOUT_ACT, ABOUT_DAEMON, ABOUT_JOB, ABOUT_NODE, ABOUT_HOW };

struct asked {
    int acts;         /* --set, --get, --clear given */
    enum about first; /* what the trigger is about */
};

/* The row's `min`: what the option is about. */
static SETTER(note)
{
    struct asked *q = to;
    enum about about = (enum about)row->min;
    q->acts += about == ABOUT_ACT;
    if (about > ABOUT_ACT && (!q->first || q->first == ABOUT_HOW))
        q->first = about;
    return true;
}

static bool word_pass_over(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return true;
}

// clang-format off
#define TRIGGER(name_, letter_, about_, ...)                                                                 \
    {.name = name_, .letter = letter_, .support = SUPPORT_REFUSED, .why = "there are no triggers",           \
     .set = note, .min = about_, .doc = __VA_ARGS__}
static const struct option_row option_rows[] = {
    TRIGGER("set", 0, ABOUT_ACT, "make a trigger (refused)"),
    TRIGGER("get", 0, ABOUT_ACT, "show triggers (refused)"),
    TRIGGER("clear", 0, ABOUT_ACT, "remove a trigger (refused)"),
    TRIGGER("backup_slurmctld_assumed_control", 'C', ABOUT_DAEMON, "event: the second controller took over"),
    TRIGGER("backup_slurmctld_failure", 'B', ABOUT_DAEMON, "event: the second controller failed"),
    TRIGGER("backup_slurmctld_resumed_operation", 'c', ABOUT_DAEMON, "event: the second controller is back"),
    TRIGGER("burst_buffer", 0, ABOUT_DAEMON, "event: trouble with a burst buffer"),
    TRIGGER("primary_database_failure", 'h', ABOUT_DAEMON, "event: the database is away"),
    TRIGGER("primary_database_resumed_operation", 'H', ABOUT_DAEMON, "event: the database is back"),
    TRIGGER("primary_slurmctld_acct_buffer_full", 'e', ABOUT_DAEMON, "event: accounting cannot be sent"),
    TRIGGER("primary_slurmctld_failure", 'a', ABOUT_DAEMON, "event: the controller failed"),
    TRIGGER("primary_slurmctld_resumed_control", 'b', ABOUT_DAEMON, "event: the controller has control again"),
    TRIGGER("primary_slurmctld_resumed_operation", 'A', ABOUT_DAEMON, "event: the controller is back"),
    TRIGGER("primary_slurmdbd_failure", 'g', ABOUT_DAEMON, "event: the accounting daemon failed"),
    TRIGGER("primary_slurmdbd_resumed_operation", 'G', ABOUT_DAEMON, "event: the accounting daemon is back"),
    TRIGGER("down", 'd', ABOUT_NODE, "event: a node is down"),
    TRIGGER("drained", 'D', ABOUT_NODE, "event: a node is drained"),
    TRIGGER("draining", 0, ABOUT_NODE, "event: a node is being drained"),
    TRIGGER("fail", 'F', ABOUT_NODE, "event: a node is about to fail"),
    TRIGGER("front_end", 0, ABOUT_NODE, "event: a front end changed"),
    TRIGGER("idle", 'I', ABOUT_NODE, "event: a node is idle"),
    TRIGGER("node", 'n', ABOUT_NODE, "of these nodes", .arg = ARG_OPTIONAL, .metavar = "nodes"),
    TRIGGER("reconfig", 'r', ABOUT_NODE, "event: the configuration was read again"),
    TRIGGER("resume", 0, ABOUT_NODE, "event: a node was resumed"),
    TRIGGER("up", 'u', ABOUT_NODE, "event: a node is up"),
    TRIGGER("fini", 'f', ABOUT_JOB, "event: a job ended"),
    TRIGGER("jobid", 'j', ABOUT_JOB, "of this job", .arg = ARG_REQUIRED, .metavar = "job"),
    TRIGGER("time", 't', ABOUT_JOB, "event: a job reaches its time limit"),
    TRIGGER("flags", 0, ABOUT_HOW, "PERM: the trigger stays", .arg = ARG_REQUIRED),
    TRIGGER("id", 'i', ABOUT_HOW, "number of a trigger", .arg = ARG_REQUIRED, .metavar = "number"),
    TRIGGER("offset", 'o', ABOUT_HOW, "seconds before or after the event", .arg = ARG_REQUIRED, .metavar = "seconds"),
    TRIGGER("program", 'p', ABOUT_HOW, "path of what is run", .arg = ARG_REQUIRED, .metavar = "path"),
    TRIGGER("user", 0, ABOUT_HOW, "triggers of this user", .arg = ARG_REQUIRED, .metavar = "user"),
    TRIGGER("clusters", 'M', ABOUT_HOW, "cluster; only this one is known", .arg = ARG_REQUIRED, .metavar = "cluster", .alias = "cluster"),
    TRIGGER("noheader", 'N', ABOUT_HOW, "no header line"),
    TRIGGER("quiet", 'Q', ABOUT_HOW, "no messages"),
    OPT_ACCEPTED("verbose", 'v', ARG_NONE, "say more"),
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "this text"),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines"),
};
// clang-format on
OPTION_TABLE(strigger_options, option_rows, .usage = "strigger [OPTIONS]", .words = WORDS_MIXED,
             .word = word_pass_over, .letters_equals = true, .refused_shown = true);

static const char *instead(enum about about)
{
    if (about == ABOUT_JOB)
        return "sbatch --mail-type=END,TIME_LIMIT_80, --signal=B:USR1@120 or "
               "--dependency=afterany:JOB tell "
               "of "
               "a job's end and limit";
    if (about == ABOUT_NODE)
        return "HealthCheckProgram in remuda.conf runs on each node; sinfo -R and scontrol show "
               "node say why "
               "one is down or drained";
    if (about == ABOUT_DAEMON)
        return "the controller is one process, supervised by systemd; scontrol ping says whether "
               "it answers";
    return "mail (--mail-type), --signal, dependencies and HealthCheckProgram tell of jobs and "
           "nodes";
}

static void refuse(const struct asked *q, const char *what)
{
    if (q->acts != 1)
        program_error("strigger",
                      "You must use exactly one of the following options: --set, --get or --clear");
    program_error("strigger", "not supported yet: %s (there are no triggers; %s)", what,
                  instead(q->first));
}

int cmd_strigger(int argc, char **argv)
{
    struct asked q = {0};
    struct err e = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &strigger_options, .to = &q, .a = a};
    bool read = option_line_read(&line, argc, argv, &e), told = read && program_information(&line);
    if (!read)
        program_usage_error("strigger", &e);
    else if (!told)
        refuse(&q, argc > 1 ? argv[1] : "triggers");
    arena_free(a);
    return told ? 0 : 1;
}
