/* remuda-sim: the controller's and the nodes' machines in virtual time. */
#include "base/str.h"
#include "sim/sim.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc > 1 && text_is(argv[1], "worlds"))
        return sim_worlds(argc - 1, argv + 1);
    if (argc > 1 && text_is(argv[1], "story"))
        return sim_story(argc - 1, argv + 1);
    if (argc > 1 && text_is(argv[1], "run"))
        return sim_run(argc - 1, argv + 1);
    if (argc > 1 && text_is(argv[1], "check"))
        return sim_check(argc - 1, argv + 1);
    if (argc > 1 && text_is(argv[1], "score"))
        return sim_score(argc - 1, argv + 1);
    FILE *to = argc > 1 && text_is(argv[1], "--help") ? stdout : stderr;
    fputs("Usage: remuda-sim worlds [--seed N] [--count N] [--trace]\n"
          "         seeded worlds with crashes, losses and repeats; each is played twice; prints TAP and the "
          "seed of a world that fails\n"
          "       remuda-sim run [OPTION]… TRACE.swf[.gz]…\n"
          "         a workload through the daemon's planner; remuda-sim run --help\n"
          "       remuda-sim check TRACE EXPECTED.csv…\n"
          "         schedules against those of other simulators, to the second; prints TAP\n"
          "       remuda-sim score [OPTION]…\n"
          "         the scoreboard of scheduling quality on the open traces\n"
          "       remuda-sim story [--bless] FILE…\n"
          "         plays a story (tests/story/*.story) and compares its trace; --bless writes the trace "
          "into the file\n",
          to);
    return to == stdout ? 0 : 2;
}
