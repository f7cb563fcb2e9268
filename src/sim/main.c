/* remuda-sim: the controller's and the nodes' machines in virtual time. */
#include "base/alloc.h"
#include "base/str.h"
#include "sim/sim.h"

#include <stdio.h>

static const struct sim_main_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    {"run", sim_run,
     "run [OPTION]… TRACE.swf[.gz]… | --from-sacct FILE | --from-live\n"
     "         a workload through the daemon's planner; remuda-sim run --help\n"},
    {"compare", sim_compare,
     "compare [OPTION]… --a WHAT --b WHAT TRACE.swf[.gz] | --from-sacct FILE | --from-live\n"
     "         two policies or configurations beside each other\n"},
    {"pack", sim_pack,
     "pack --machine NODES.csv [OPTION]… TASKS.csv\n"
     "         how full a machine of GPUs gets, by rule of placement\n"},
    {"score", sim_score,
     "score [OPTION]…\n"
     "         the scoreboard of scheduling quality on the open traces\n"},
    {"check", sim_check,
     "check TRACE EXPECTED.csv…\n"
     "         schedules against those of other simulators, to the second; prints TAP\n"},
    {"series", sim_series,
     "series DIR <SAMPLES\n"
     "         samples of jobs, written as text (sim/series.c), into files of days\n"},
    {"story", sim_story,
     "story [--bless] FILE…\n"
     "         plays a story (tests/story/*.story) and compares its trace; --bless writes the "
     "trace "
     "into the file\n"},
    {"worlds", sim_worlds,
     "worlds [--seed N] [--count N] [--hostile] [--disasters] [--once]\n"
     "         [--hash] [--trace]\n"
     "         seeded worlds with crashes, losses and repeats; each is played twice (--once: "
     "once; --hash: what "
     "two trees that do the same print alike); prints "
     "TAP and the seed of a world that fails\n"},
};

static void usage(FILE *to)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "%s remuda-sim %s", i ? "      " : "Usage:", commands[i].usage);
}

int main(int argc, char **argv)
{
    const char *names[ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        names[i] = commands[i].name;
        if (argc > 1 && text_is(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    }
    if (argc > 1 && text_is(argv[1], "--help")) {
        usage(stdout);
        return 0;
    }
    const char *near = argc > 1 ? text_nearest(argv[1], names, ARRAY_LEN(names)) : NULL;
    if (argc > 1)
        fprintf(stderr, "remuda-sim: there is no command '%s'%s%s%s\n", argv[1],
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    usage(stderr);
    return 2;
}
