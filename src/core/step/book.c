/* What the steps of a job hold of it, counted from their layouts whenever it is asked: there is no
 * book that could go wrong. */
#include "core/step/step.h"

#include "core/step/layout.h"
#include "model/env/device_out.h"

static void room_fill(const struct core *c, struct step_room *room, const struct alloc_node *held,
                      struct arena *a)
{
    const struct noderec *n = node_find(c, held->node);
    *room = (struct step_room){.held = held, .mem_mib = held->mem_mib};
    idset_parse(&room->free, held->cpus, INT32_MAX, NULL);
    room->device = arena_alloc(a, (held->ngres + 1) * sizeof *room->device);
    room->count = arena_alloc(a, (held->ngres + 1) * sizeof *room->count);
    for (size_t g = 0; g < held->ngres; g++) {
        room->device[g] = IDSET_INIT;
        room->count[g] = held->gres[g].count;
        if (held->gres[g].devices)
            idset_parse(&room->device[g], held->gres[g].devices, INT32_MAX, NULL);
    }
    if (n) {
        room->threads_per_core = n->n.threads_per_core;
        room->cpus_per_socket = n->n.sockets > 0 ? n->n.cpus / n->n.sockets : 0;
    }
}

static bool cpus_remove(struct idset *from, const char *text)
{
    struct idset ids = IDSET_INIT;
    uint32_t id;
    bool all = true;
    if (text && idset_parse(&ids, text, INT32_MAX, NULL))
        for (bool more = idset_first(&ids, &id); more; more = idset_next(&ids, id, &id))
            all &= idset_del(from, id);
    idset_done(&ids);
    return all;
}

static bool gres_remove(struct step_room *room, const struct alloc_gres *taken)
{
    int64_t rest = taken->count;
    for (size_t g = 0; g < room->held->ngres; g++) {
        const struct alloc_gres *of = &room->held->gres[g];
        if (!text_is(of->kind, taken->kind) || !text_is(of->type, taken->type) ||
            !of->devices != !taken->devices)
            continue;
        if (of->devices)
            return cpus_remove(&room->device[g], taken->devices);
        int64_t n = rest < room->count[g] ? rest : room->count[g];
        room->count[g] -= n;
        rest -= n;
    }
    return rest == 0;
}

/* Takes one step's part out of a room; false if something was not there. */
static bool room_use(struct step_room *room, const struct alloc_node *part, uint32_t shares)
{
    bool there = true;
    if (!(shares & SHARES_CPUS))
        there &= cpus_remove(&room->free, part->cpus);
    if (!(shares & SHARES_MEMORY)) {
        room->mem_mib -= part->mem_mib;
        there &= room->mem_mib >= 0;
    }
    for (size_t g = 0; g < part->ngres && !(shares & SHARES_GRES); g++)
        there &= gres_remove(room, &part->gres[g]);
    return there;
}

/* Layouts keep the order of the job's nodes. A node the job lost may still be in a layout. */
static bool step_use(struct step_room *room, size_t n, const struct steprec *st)
{
    size_t at = 0;
    bool there = true;
    for (size_t i = 0; i < st->layout.n; i++) {
        size_t k = at;
        while (k < n && !text_is(room[k].held->node, st->layout.node[i].node))
            k++;
        if (k == n)
            continue;
        there &= room_use(&room[k], &st->layout.node[i], st->s.shares);
        at = k + 1;
    }
    return there;
}

/* No step is given what is out of use. What is broken stays so; what is not clean comes back. */
static void outs_remove(const struct core *c, struct step_room *room, bool failed_only,
                        struct arena *a)
{
    const struct noderec *n = node_find(c, room->held->node);
    struct device_outs outs = {0};
    if (n && n->n.devices_out)
        device_outs_parse(n->n.devices_out, a, &outs);
    for (size_t i = 0; i < outs.n; i++)
        for (size_t g = 0; g < room->held->ngres; g++)
            if (room->held->gres[g].devices && text_is(room->held->gres[g].kind, outs.v[i].kind) &&
                (outs.v[i].failed || !failed_only))
                idset_del(&room->device[g], (uint32_t)outs.v[i].index);
}

static bool node_away(const struct core *c, const char *name)
{
    const struct noderec *n = node_find(c, name);
    return !n || !n->conn;
}

struct step_room *step_rooms(struct core *c, struct jobrec *r, const struct alloc *held,
                             enum room_view view, struct arena *a)
{
    ASSERT(view != ROOM_NOW || held->n <= c->node.n);
    struct step_room *room = arena_alloc(a, (held->n + 1) * sizeof *room);
    for (size_t i = 0; i < held->n; i++) {
        room_fill(c, &room[i], &held->node[i], a);
        room[i].unusable = view != ROOM_EVER && node_away(c, held->node[i].node);
    }
    for (size_t i = 0; i < r->step.n && view == ROOM_NOW; i++)
        if (step_live(r->step.v[i]))
            step_use(room, held->n, r->step.v[i]);
    for (size_t i = 0; i < held->n; i++)
        outs_remove(c, &room[i], view == ROOM_EVER, a);
    return room;
}

void step_rooms_done(struct step_room *room, const struct alloc *held)
{
    for (size_t i = 0; i < held->n; i++) {
        idset_done(&room[i].free);
        for (size_t g = 0; g < held->node[i].ngres; g++)
            idset_done(&room[i].device[g]);
    }
}

/* Nothing of the job is held by two of its steps that do not share it. */
void step_book_check(const struct core *c, const struct jobrec *r)
{
    struct arena *a = arena_new();
    struct alloc held = {0};
    size_t live = 0;
    for (size_t i = 0; i < r->step.n; i++)
        live += step_live(r->step.v[i]) && r->step.v[i]->layout.n > 0;
    if (live && alloc_parse(r->j.alloc, a, &held, NULL)) {
        struct step_room *room = arena_alloc(a, (held.n + 1) * sizeof *room);
        for (size_t i = 0; i < held.n; i++)
            room_fill(c, &room[i], &held.node[i], a);
        for (size_t i = 0; i < r->step.n; i++)
            CHECK(!step_live(r->step.v[i]) || step_use(room, held.n, r->step.v[i]));
        step_rooms_done(room, &held);
    }
    arena_free(a);
}

/* ---- ports ---------------------------------------------------------------------------------- */

static bool port_used(const struct core *c, const struct noderec *n, int32_t port)
{
    for (size_t i = 0; i < n->job.n; i++) {
        const struct jobrec *r = job_find(c, n->job.v[i]);
        for (size_t k = 0; r && k < r->step.n; k++) {
            const struct steprec *st = r->step.v[k];
            if (step_live(st) && st->s.master_port == port && st->part.n &&
                st->part.v[0].node == n->index)
                return true;
        }
    }
    return false;
}

/* Virtual nodes share the ports of one machine. */
static bool port_taken(const struct core *c, uint32_t node, int32_t port)
{
    if (!c->node.v[node]->n.is_virtual)
        return port_used(c, c->node.v[node], port);
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->n.is_virtual && port_used(c, c->node.v[i], port))
            return true;
    return false;
}

/* Ports go round with jobs and steps, so that one that was just used rests. */
int32_t step_port(const struct core *c, uint32_t node, uint64_t salt)
{
    ASSERT(node < c->node.n);
    int32_t first, last;
    if (text_empty(c->settings.rendezvous_ports) ||
        !ports_parse(c->settings.rendezvous_ports, &first, &last, NULL))
        return 0;
    uint64_t count = (uint64_t)(last - first + 1);
    for (uint64_t k = 0; k < count; k++) {
        int32_t port = (int32_t)((uint64_t)first + (salt + k) % count);
        if (!port_taken(c, node, port))
            return port;
    }
    return 0;
}
