/* From a LAUNCH to the plan of a step. */
#ifndef REMUDA_NODE_DAEMON_LAUNCH_H
#define REMUDA_NODE_DAEMON_LAUNCH_H

#include "base/arena.h"
#include "base/err.h"
#include "model/job/alloc.h"
#include "model/message.h"
#include "node/step/limits_plan.h"
#include "node/step/owner.h"
#include "node/step/plan.h"

#include <stdbool.h>

/* What the node adds to it. */
struct launch_site {
    const char *node, *hostname; /* names and paths, borrowed */
    const char *state_dir, *node_dir, *bin_dir;
    const char *cgroups;
    const struct msg_node_welcome *welcome;
    /* The system's numbers of the node's CPUs, "0,2,1,3"; NULL = do not keep jobs to CPUs. */
    const char *cpu_numbers;
    int32_t threads_per_core, cores_per_socket; /* of the machine */
    struct limits_machine limits;
    bool is_root; /* else all runs as this user */
    bool has_gpus;
    /* of the node, as model/grammar/gres.h writes them; NULL = none are known */
    const char *devices;
    /* What GPUs are called where a step sees all, and where its own only: "3=MIG-a,4=MIG-b"; NULL =
     * by their numbers. */
    const char *names_all, *names_alone;
    /* Of GPUs, by their numbers: "0=195:0,1=195:1+241:7"; NULL = not known, or they cannot be
     * hidden. */
    const char *device_files;
    const char *closed_files; /* of GPUs that are nobody's: "195:4 195:5"; NULL = none */
};

/* Everything in *ret lives in the arena or belongs to the message. */
bool launch_plan(const struct launch_site *site, const struct msg_launch *l,
                 const struct owner *owner, struct arena *a, struct step_plan *ret,
                 struct err *ret_err);
/* Environment of prolog or epilog for the job; NAME=VALUE, each ended by NUL, in the arena. */
struct plan_bytes launch_program_env(const struct launch_site *site, const struct job *j,
                                     const char *context, struct arena *a);

/* ---- GPUs (launch_gpus.c) ---- */

/* Does a step see its own GPUs only? Then they are numbered from 0 for it. */
bool launch_gpus_hidden(const struct launch_site *site);
const char *launch_gpu_names(const struct launch_site *site); /* as site->names_… */
/* Which it has of the node's, which are hidden from it, and what it may not open. */
void launch_gpus(const struct launch_site *site, const struct alloc_node *here, struct arena *a,
                 struct step_plan *ret);

#endif
