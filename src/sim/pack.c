/* remuda-sim pack: how full a machine gets before tasks no longer fit, by rule of placement. */
#include "base/str.h"
#include "sim/replay/packing.h"
#include "sim/sim.h"

#include <getopt.h>
#include <stdio.h>

struct pack_options {
    const char *machine;
    int64_t seeds;
    bool json;
};

static void help(FILE *to)
{
    fputs("Usage: remuda-sim pack --machine NODES.csv [OPTION]… TASKS.csv[.gz]\n"
          "Tasks arrive in random order and never leave. Prints how many of the machine's GPUs are "
          "allocated "
          "when as\n"
          "many have been asked for, with nodes chosen by least lost capacity and by best fit.\n"
          "  --machine NODES.csv  columns name, cpu_milli, memory_mib, gpu, model, in any order; "
          "nodes "
          "without GPUs are\n"
          "                       left out\n"
          "  TASKS.csv            columns cpu_milli, memory_mib, num_gpu, gpu_milli (share of the "
          "GPU of a "
          "task with one)\n"
          "                       and gpu_spec (models that will do, A|B; empty = any), in any "
          "order\n"
          "  --seeds N            orders of arrival (default 12)\n"
          "  --json               one JSON object\n",
          to);
}

static bool pack(const struct pack_options *o, const char *tasks)
{
    struct packing_result least, best;
    struct err err = {0};
    if (!packing_run(o->machine, tasks, PACK_LEAST_LOST, (unsigned)o->seeds, &least, &err) ||
        !packing_run(o->machine, tasks, PACK_BEST_FIT, (unsigned)o->seeds, &best, &err)) {
        fprintf(stderr, "remuda-sim pack: %s\n", err.text);
        return false;
    }
    if (o->json) {
        printf("{\"nodes\": %zu, \"gpus\": %lld, \"tasks\": %zu, \"kinds\": %zu, \"seeds\": %lld, "
               "\"least_lost\": {\"percent\": %.3f, "
               "\"deviation\": %.3f}, \"best_fit\": {\"percent\": %.3f, \"deviation\": %.3f}}\n",
               least.nodes, (long long)least.gpus, least.tasks, least.kinds, (long long)o->seeds,
               least.percent, least.deviation, best.percent, best.deviation);
        return true;
    }
    printf("%zu tasks of %zu kinds on %lld GPUs of %zu nodes; %lld orders of arrival\n",
           least.tasks, least.kinds, (long long)least.gpus, least.nodes, (long long)o->seeds);
    printf("  least lost capacity  %6.2f %% of the GPUs allocated at full demand, +- %.2f\n",
           least.percent, least.deviation);
    printf("  best fit             %6.2f %%                                       +- %.2f\n",
           best.percent, best.deviation);
    return true;
}

int sim_pack(int argc, char **argv)
{
    static const struct option longs[] = {{"machine", 1, 0, 'm'},
                                          {"seeds", 1, 0, 'n'},
                                          {"json", 0, 0, 'J'},
                                          {"help", 0, 0, 'h'},
                                          {0}};
    struct pack_options o = {.seeds = 12};
    int c;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
        switch (c) {
        case 'm': o.machine = optarg; break;
        case 'n':
            if (!text_to_i64(optarg, 1, 10000, &o.seeds)) {
                fprintf(stderr, "remuda-sim pack: --seeds=%s: a number from 1 to 10000\n", optarg);
                return 2;
            }
            break;
        case 'J': o.json = true; break;
        default: help(c == 'h' ? stdout : stderr); return c == 'h' ? 0 : 2;
        }
    if (!o.machine || optind + 1 != argc) {
        fputs(o.machine ? "remuda-sim pack: one table of tasks is expected\n"
                        : "remuda-sim pack: --machine is missing: a table of nodes\n",
              stderr);
        help(stderr);
        return 2;
    }
    return pack(&o, argv[optind]) ? 0 : 1;
}
