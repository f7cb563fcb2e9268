/* A world as a whole: what happens, one thing after another. */
#include "sim/world/inside.h"

#include <stdlib.h>
#include <string.h>

static void heard(struct sim_world *w, struct simnode *n)
{
    n->heard_us = w->now_us;
    if (n->heard_conn == n->conn)
        return;
    n->heard_conn = n->conn;
    n->known_us = w->now_us;
    n->known_wall_us = world_wall(w);
}

static void happen(struct sim_world *w, struct happening *h)
{
    struct message m;
    struct simnode *n = h->node < w->node.n ? &w->node.v[h->node] : NULL;
    switch (h->what) {
    case H_TO_CORE:
        if (w->core && n->conn == h->conn && h->conn && world_message_read(w, h, &m)) {
            heard(w, n);
            controller_event(
                w, (struct event){
                       .kind = EV_MESSAGE, .conn = h->conn, .peer = &world_daemon, .msg = &m});
            controller_turn_end(w);
        }
        break;
    case H_TO_NODE:
        if (n->agent && n->conn == h->conn && h->conn && world_message_read(w, h, &m))
            simnode_event(w, h->node, (struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
        break;
    case H_NOTE:
        simnode_event(w, h->node, (struct agent_event){.kind = AGENT_NOTE, .note = &h->note});
        break;
    case H_STEP_END: simstep_ends(w, h); break;
    case H_STEP_START: break;
    case H_CONNECT: simnode_connect(w, h->node); break;
    case H_AGENT_BACK: simnode_start(w, h->node); break;
    case H_CORE_BACK:
        if (!w->core)
            controller_start(w);
        break;
    case H_AGENT_WAKE:
        if (n->agent)
            simnode_gpus_say(w, h->node);
        if (n->agent && agent_wake_due(n->agent) <= world_wall(w))
            simnode_event(w, h->node,
                          (struct agent_event){.kind = AGENT_WAKE, .free_mem_mib = 1000});
        break;
    case H_CORE_WAKE:
        if (w->core && !w->away && core_wake_due(w->core) <= world_wall(w))
            controller_turn_end(w);
        break;
    case H_STORE_RETRY: controller_store_retry(w); break;
    case H_PROGRAM:
        simnode_event(
            w, h->node,
            (struct agent_event){.kind = h->is_epilog ? AGENT_EPILOG_DONE : AGENT_PROLOG_DONE,
                                 .note = &h->note,
                                 .ok = true});
        break;
    case H_SCRIPT: simscript_goes(w, h); break;
    case H_SCRIPT_REQUEUE: simscript_requeues(w, h); break;
    case H_SRUN_CANCELS: simsrun_cancels(w, h); break;
    case H_HANG_UP: simsrun_hangs_up(w, h->conn); break;
    case H_LOOKED: simnode_looked(w, h); break;
    case H_ASK_AGAIN: world_ask_again(w, h); break;
    case H_PROGRAM_OVER:
        if (w->core && w->epoch == h->turn) {
            controller_event(w, (struct event){.kind = EV_PROGRAM_OVER});
            controller_turn_end(w);
        }
        break;
    }
    str_done(&h->bytes);
}

void world_run(struct sim_world *w, int64_t until_us)
{
    while (w->heap.n && w->heap.v[0].at_us <= until_us && !w->broken) {
        struct happening h = world_next(w);
        w->now_us = h.at_us;
        happen(w, &h);
    }
    if (w->now_us < until_us)
        w->now_us = until_us;
}

/* ---- birth and death ---- */

struct sim_world *simworld_new(uint64_t seed, const char *config, struct err *ret_err)
{
    struct sim_world *w = xcalloc(1, sizeof *w);
    if (!config_parse(config, "world", NULL, NULL, &w->config, ret_err)) {
        free(w);
        return NULL;
    }
    w->rng.state = seed;
    w->hash = HASH_INIT;
    w->next_conn = 1;
    w->store = store_open_memory();
    w->arena = arena_new();
    w->acknowledged = map_u64_new();
    w->made = map_u64_new();
    w->numbers = map_u64_new();
    w->doubtful = map_u64_new();
    w->state = map_u64_new();
    w->starts = map_u64_new();
    w->gaining = map_u64_new();
    w->step_ended = map_u64_new();
    w->step_after = map_u64_new();
    w->job = map_u64_new();
    w->to_end = map_u64_new();
    w->cron = map_u64_new();
    w->trigger_ran = map_u64_new();
    w->outs = map_str_new();
    effects_init(&w->fx);
    for (size_t i = 0; i < w->config.nnodes; i++) {
        struct simnode n = {.n = {.name = w->config.node[i].name,
                                  .real_cpus = w->config.node[i].cpus,
                                  .real_memory_mib = w->config.node[i].memory_mib,
                                  .is_virtual = true}};
        simgpus_init(&n.gpus, w->config.node[i].gres);
        n.n.devices = n.gpus.devices;
        vec_push(&w->node, n);
    }
    controller_start(w);
    for (size_t i = 0; i < w->node.n; i++) {
        simnode_boot(&w->node.v[i]);
        simnode_start(w, i);
    }
    world_run(w, USEC_PER_SEC);
    return w;
}

void simworld_free(struct sim_world *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->node.n; i++) {
        struct simnode *n = &w->node.v[i];
        agent_free(n->agent);
        while (n->step.n)
            simstep_forget(n, &(struct note){.job_id = n->step.v[0]->ids.job_id,
                                             .attempt = n->step.v[0]->ids.attempt,
                                             .step_id = n->step.v[0]->ids.step_id});
        vec_done(&n->step);
        simgpus_done(&n->gpus);
    }
    for (size_t i = 0; i < w->heap.n; i++)
        str_done(&w->heap.v[i].bytes);
    core_free(w->core);
    store_close(w->store);
    effects_done(&w->fx);
    vec_done(&w->node);
    vec_done(&w->heap);
    map_u64_free(w->acknowledged);
    map_u64_free(w->gaining);
    map_u64_free(w->made);
    map_u64_free(w->numbers);
    map_u64_free(w->doubtful);
    world_backup_free(w->backup);
    world_use_free(w->use);
    map_u64_free(w->state);
    map_u64_free(w->starts);
    map_u64_free(w->step_ended);
    map_u64_free(w->step_after);
    map_u64_free(w->to_end);
    world_cron_free(w);
    map_u64_free(w->trigger_ran);
    world_depend_free(w);
    struct map_walk jobs = {0};
    while (map_u64_next(w->job, &jobs))
        free(jobs.value);
    map_u64_free(w->job);
    struct map_walk outs = {0};
    while (map_str_next(w->outs, &outs))
        free(outs.value);
    map_str_free(w->outs);
    callers_done(&w->callers);
    arena_free(w->arena);
    config_done(&w->config);
    str_done(&w->trace);
    free(w->broken);
    free(w);
}
