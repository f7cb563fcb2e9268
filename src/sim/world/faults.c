/* Faults that come to a world from outside: daemons, machines, links, devices. */
#include "sim/world/inside.h"

#include <stdio.h>

void world_crash_controller(struct sim_world *w, enum crash_point point, int64_t back_after_us)
{
    if (!w->core)
        return;
    w->crash_back_us = back_after_us;
    w->crash = point;
    w->crash_set = true;
    if (point == CRASH_NOW)
        controller_die(w);
}

static void agent_kill(struct sim_world *w, size_t i)
{
    struct simnode *n = &w->node.v[i];
    uint64_t conn = n->conn;
    agent_free(n->agent);
    n->agent = NULL;
    n->conn = 0;
    if (w->core && conn) {
        controller_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
        controller_turn_end(w);
    }
}

void world_crash_agent(struct sim_world *w, size_t node, int64_t back_after_us)
{
    if (!w->node.v[node].agent)
        return;
    agent_kill(w, node);
    world_plan(w, back_after_us, (struct happening){.what = H_AGENT_BACK, .node = node});
}

void simnode_boot(struct simnode *n)
{
    snprintf(n->boot_name, sizeof n->boot_name, "boot%u disk", ++n->boots);
    n->n.life = n->boot_name;
}

void world_lose_machine(struct sim_world *w, size_t node, int64_t back_after_us)
{
    struct simnode *n = &w->node.v[node];
    for (size_t i = 0; i < n->step.n; i++) {
        n->step.v[i]->alive = false;
        simscript_dies(w, n->step.v[i]);
    }
    simgpus_reboot(&n->gpus);
    simnode_boot(n);
    world_crash_agent(w, node, back_after_us);
}

void world_kill_shepherds(struct sim_world *w, uint64_t job_id)
{
    for (size_t i = 0; i < w->node.n; i++)
        for (size_t k = 0; k < w->node.v[i].step.n; k++) {
            struct simstep *s = w->node.v[i].step.v[k];
            if ((uint64_t)s->ids.job_id != job_id || !s->alive)
                continue;
            simstep_dies(w, &w->node.v[i], s);
            struct happening h = {.what = H_NOTE, .node = i, .note = s->ids};
            h.note.kind = NOTE_GONE;
            world_plan(w, 50, h);
        }
}

void world_gpus_work(struct sim_world *w)
{
    w->gpus_work = true;
}

void world_break_gpu(struct sim_world *w, size_t node, int32_t index, bool broken)
{
    struct simnode *n = &w->node.v[node];
    struct device_seen seen = {
        .index = index, .sign = DEVICE_BROKEN, .why = "it has fallen off the bus"};
    simgpus_break(&n->gpus, index, broken);
    if (broken)
        simnode_event(w, node,
                      (struct agent_event){.kind = AGENT_DEVICE_SIGN, .seen = &seen, .nseen = 1});
}

void world_cut_link(struct sim_world *w, size_t node, int64_t back_after_us)
{
    struct simnode *n = &w->node.v[node];
    uint64_t conn = n->conn;
    if (!conn)
        return;
    node_link_drop(w, node);
    if (w->core) {
        controller_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
        controller_turn_end(w);
    }
    world_plan(w, back_after_us, (struct happening){.what = H_CONNECT, .node = node});
}

void world_fail_store(struct sim_world *w, unsigned commits)
{
    store_memory_fail(w->store, commits);
}

/* The daemons' timers notice that it was set, though nothing is due. */
void world_set_clock(struct sim_world *w, int64_t by_us)
{
    w->set_us += by_us;
    world_cron_clock(w);
    for (size_t i = 0; i < w->node.n; i++) {
        w->node.v[i].wake_us = 0; /* planned by the former time */
        if (w->node.v[i].agent)
            simnode_event(w, i, (struct agent_event){.kind = AGENT_WAKE, .free_mem_mib = 1000});
    }
    if (w->core) {
        controller_event(w, (struct event){.kind = EV_WAKE});
        controller_turn_end(w);
    }
}

size_t world_nodes(const struct sim_world *w)
{
    return w->node.n;
}
