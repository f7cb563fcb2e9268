/* strigger: there are no triggers. Each of Slurm's options is known and refused by name, with what tells of the same event here. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/options.h"
#include "cli/program/program.h"

#include <stdio.h>

enum { OPT_HELP = 1, OPT_USAGE, OPT_VERSION, OPT_VERBOSE, OPT_ACT, OPT_DAEMON, OPT_JOB, OPT_NODE, OPT_HOW };

// clang-format off
static const struct cli_option option_rows[] = {
    {"set", 0, CLI_NONE, OPT_ACT, "make a trigger (refused)"},
    {"get", 0, CLI_NONE, OPT_ACT, "show triggers (refused)"},
    {"clear", 0, CLI_NONE, OPT_ACT, "remove a trigger (refused)"},
    {"backup_slurmctld_assumed_control", 'C', CLI_NONE, OPT_DAEMON, "event: the second controller took over"},
    {"backup_slurmctld_failure", 'B', CLI_NONE, OPT_DAEMON, "event: the second controller failed"},
    {"backup_slurmctld_resumed_operation", 'c', CLI_NONE, OPT_DAEMON, "event: the second controller is back"},
    {"burst_buffer", 0, CLI_NONE, OPT_DAEMON, "event: trouble with a burst buffer"},
    {"primary_database_failure", 'h', CLI_NONE, OPT_DAEMON, "event: the database is away"},
    {"primary_database_resumed_operation", 'H', CLI_NONE, OPT_DAEMON, "event: the database is back"},
    {"primary_slurmctld_acct_buffer_full", 'e', CLI_NONE, OPT_DAEMON, "event: accounting cannot be sent"},
    {"primary_slurmctld_failure", 'a', CLI_NONE, OPT_DAEMON, "event: the controller failed"},
    {"primary_slurmctld_resumed_control", 'b', CLI_NONE, OPT_DAEMON, "event: the controller has control again"},
    {"primary_slurmctld_resumed_operation", 'A', CLI_NONE, OPT_DAEMON, "event: the controller is back"},
    {"primary_slurmdbd_failure", 'g', CLI_NONE, OPT_DAEMON, "event: the accounting daemon failed"},
    {"primary_slurmdbd_resumed_operation", 'G', CLI_NONE, OPT_DAEMON, "event: the accounting daemon is back"},
    {"down", 'd', CLI_NONE, OPT_NODE, "event: a node is down"},
    {"drained", 'D', CLI_NONE, OPT_NODE, "event: a node is drained"},
    {"draining", 0, CLI_NONE, OPT_NODE, "event: a node is being drained"},
    {"fail", 'F', CLI_NONE, OPT_NODE, "event: a node is about to fail"},
    {"front_end", 0, CLI_NONE, OPT_NODE, "event: a front end changed"},
    {"idle", 'I', CLI_NONE, OPT_NODE, "event: a node is idle"},
    {"node", 'n', CLI_ATTACHED, OPT_NODE, "of these `nodes`"},
    {"reconfig", 'r', CLI_NONE, OPT_NODE, "event: the configuration was read again"},
    {"resume", 0, CLI_NONE, OPT_NODE, "event: a node was resumed"},
    {"up", 'u', CLI_NONE, OPT_NODE, "event: a node is up"},
    {"fini", 'f', CLI_NONE, OPT_JOB, "event: a job ended"},
    {"jobid", 'j', CLI_VALUE, OPT_JOB, "of this `job`"},
    {"time", 't', CLI_NONE, OPT_JOB, "event: a job reaches its time limit"},
    {"flags", 0, CLI_VALUE, OPT_HOW, "PERM: the trigger stays"},
    {"id", 'i', CLI_VALUE, OPT_HOW, "`number` of a trigger"},
    {"offset", 'o', CLI_VALUE, OPT_HOW, "`seconds` before or after the event"},
    {"program", 'p', CLI_VALUE, OPT_HOW, "`path` of what is run"},
    {"user", 0, CLI_VALUE, OPT_HOW, "triggers of this `user`"},
    {"clusters", 'M', CLI_VALUE, OPT_HOW, "`cluster`; only this one is known"},
    {"cluster", 0, CLI_VALUE, OPT_HOW, NULL},
    {"noheader", 'N', CLI_NONE, OPT_HOW, "no header line"},
    {"quiet", 'Q', CLI_NONE, OPT_HOW, "no messages"},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "say more"},
    {"version", 'V', CLI_NONE, OPT_VERSION, "version"},
    {"help", 0, CLI_NONE, OPT_HELP, "this text"},
    {"usage", 0, CLI_NONE, OPT_USAGE, "all options in a few lines"},
};
// clang-format on
static const struct cli_options table = {option_rows, ARRAY_LEN(option_rows), true};

#define USAGE "strigger [OPTIONS]"

struct asked {
    bool help, usage, version;
    int acts;  /* --set, --get, --clear given */
    int first; /* the option that says what the trigger is about; 0 = none */
};

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct asked *q = ctx;
    (void)value;
    (void)ret_err;
    q->help |= id == OPT_HELP;
    q->usage |= id == OPT_USAGE;
    q->version |= id == OPT_VERSION;
    q->acts += id == OPT_ACT;
    if (id > OPT_ACT && (!q->first || q->first == OPT_HOW))
        q->first = id;
    return true;
}

static const char *instead(int about)
{
    if (about == OPT_JOB)
        return "sbatch --mail-type=END,TIME_LIMIT_80, --signal=B:USR1@120 or --dependency=afterany:JOB tell "
               "of "
               "a job's end and limit";
    if (about == OPT_NODE)
        return "HealthCheckProgram in remuda.conf runs on each node; sinfo -R and scontrol show node say why "
               "one is down or drained";
    if (about == OPT_DAEMON)
        return "the controller is one process, supervised by systemd; scontrol ping says whether it answers";
    return "mail (--mail-type), --signal, dependencies and HealthCheckProgram tell of jobs and nodes";
}

static void refuse(const struct asked *q, const char *what)
{
    if (q->acts != 1)
        program_error("strigger",
                      "You must use exactly one of the following options: --set, --get or --clear");
    program_error("strigger", "not supported yet: %s (there are no triggers; %s)", what, instead(q->first));
}

int cmd_strigger(int argc, char **argv)
{
    struct asked q = {0};
    struct err e = {0};
    if (!cli_parse(&table, argc, argv, option_take, &q, &e)) {
        program_usage_error("strigger", &e);
        return 1;
    }
    if (q.version)
        puts(SLURM_VERSION_TEXT);
    else if (q.help)
        cli_help_print(&table, USAGE);
    else if (q.usage)
        cli_usage_print(&table, USAGE);
    else
        refuse(&q, argc > 1 ? argv[1] : "triggers");
    return q.version || q.help || q.usage ? 0 : 1;
}
