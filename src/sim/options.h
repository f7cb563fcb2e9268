/* What `run` and `compare` take from their command lines, and the workload they work on. */
#ifndef REMUDA_SIM_OPTIONS_H
#define REMUDA_SIM_OPTIONS_H

#include "sim/replay/replay.h"
#include "sim/replay/site.h"

#include <stdio.h>

#define CONFIGS_MAX 2

struct sim_options {
    const char *command; /* name, for messages */
    struct replay_setup setup;
    const char *policies; /* names, comma-separated; NULL = none given */
    bool policy_given;    /* or an order, or a way to backfill */
    size_t first, last;   /* --jobs */
    uint64_t shake_seed;
    int64_t shake_s;
    const char *starts, *svg, *a, *b, *sacct, *live_path;
    bool json, live;
    const char *config[CONFIGS_MAX];
    size_t nconfigs;
    struct str settings, lines; /* behind setup.settings and setup.machine.lines */
};

/* Reads the options in front of the operands. Returns -1 to go on with argv[optind]…, else the exit
 * status; what was wrong has been said. */
int options_parse(int argc, char **argv, const char *command, void (*help)(FILE *),
                  struct sim_options *ret);
void options_done(struct sim_options *o); /* texts */
void options_help(FILE *to);              /* those that both commands have */

/* Opens the workload: `path`, or what --from-sacct and --from-live name (then path is NULL).
 * `machine` says what it is replayed on, and gets its size from the trace if it has none. Says what
 * is wrong and returns false. */
bool workload_open(const struct sim_options *o, const char *path, struct replay_machine *machine,
                   struct trace *ret);

/* What it is replayed on: the configuration at `config`, or else what --machine said, or, for a
 * live queue, the configuration of the running cluster. `site` keeps what the setup refers to. The
 * policy becomes the configuration's own unless one was asked for. */
bool machine_open(const struct sim_options *o, const char *config, struct site *site,
                  struct replay_setup *setup);

/* Two sides: those of --a and --b, or two configurations. */
bool compare_run(struct sim_options *o, int argc, char **argv);

/* Says "remuda-sim COMMAND: …"; returns false. */
bool options_complain(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
