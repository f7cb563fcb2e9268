/* What the node says of itself: when it connects, and from time to time. */
#include "agent/inside.h"

#include "model/protocol.h"

/* No shepherd has spoken, and none was found: a daemon that is killed now takes it with it, and it
 * is then to be launched again, not taken for lost. */
static bool is_unbegun(const struct held_step *s)
{
    return s->state <= HELD_STARTING && !s->found;
}

/* What runs the epilog of a job alone is the job's, which is not over. */
static bool is_ended(const struct holdings *h, const struct held_step *s)
{
    bool is_visit = s->step_id == STEP_EXTERN && visit_of(h, s->job_id, s->attempt);
    return s->state >= HELD_ENDED && !is_visit;
}

/* Steps, and jobs that have been here and are not told to be gone, as if of a step of their own:
 * the controller asks for the end of what it does not believe to be here. */
static struct record_list all_held(struct turn *t)
{
    const struct holdings *h = &t->a->held;
    struct held_walk w = {0};
    struct visit_walk v = {0}, counted = {0};
    size_t n = 0, most = h->count;
    while (visit_next(h, &counted))
        most++;
    struct held *rows = arena_alloc(t->fx->arena, (most + 1) * sizeof *rows);
    while (held_next(h, &w))
        rows[n++] = (struct held){w.step->job_id, w.step->attempt, w.step->step_id,
                                  is_ended(h, w.step), is_unbegun(w.step)};
    while (visit_next(h, &v))
        if (!held_find(h, v.visit->job_id, v.visit->attempt, STEP_EXTERN))
            rows[n++] = (struct held){
                .job_id = v.visit->job_id, .attempt = v.visit->attempt, .step_id = STEP_EXTERN};
    return (struct record_list){rows, n};
}

static void hello(struct turn *t)
{
    struct agent *a = t->a;
    devices_refresh(t);
    struct node self = *a->node;
    bool speaks = devices_speak(&a->devices);
    self.devices_out = speaks ? a->devices.text : NULL;
    self.device_health = a->devices.n ? a->devices.health : NULL;
    struct msg_node_hello m = {.node = {&self, 1},
                               .held = all_held(t),
                               .pid = a->pid,
                               .devices_seq = speaks ? a->devices.seq : 0,
                               .protocol = PROTOCOL_NOW,
                               .protocol_oldest = PROTOCOL_OLDEST};
    a->hello_said = true;
    a->node_changed = false;
    devices_told(&a->devices);
    turn_send(t, MSG_NODE_HELLO, &m);
}

/* Nothing is said before it is known which devices may be given. */
void hello_when_looked(struct turn *t)
{
    if (t->a->connected && t->a->devices.looked && !t->a->hello_said)
        hello(t);
}

void heartbeat_send(struct turn *t)
{
    struct agent *a = t->a;
    devices_refresh(t);
    struct msg_heartbeat beat = {.load_centi = a->load_centi,
                                 .free_mem_mib = a->free_mem_mib,
                                 .devices_seq = devices_speak(&a->devices) ? a->devices.seq : 0,
                                 .devices_out = devices_speak(&a->devices) ? a->devices.text : NULL,
                                 .device_health = a->devices.n ? a->devices.health : NULL,
                                 .gpu_use = gpus_say(t)};
    struct node self = *a->node;
    self.device_health = beat.device_health;
    if (a->node_changed)
        beat.node = (struct record_list){&self, 1};
    a->node_changed = false;
    devices_told(&a->devices);
    turn_send(t, MSG_HEARTBEAT, &beat);
}
