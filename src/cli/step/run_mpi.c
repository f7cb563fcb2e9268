/* The tasks of an MPI program meet here, where the streams of all nodes end: what a node brings is
 * handed on at once, and when all have come, all are told. A task that has ended comes to no
 * meeting any more: those who wait for it would wait for ever, and the step is ended. */
#include "base/alloc.h"
#include "base/idset.h"
#include "base/plain.h"
#include "cli/program/program.h"
#include "cli/step/run_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of meetings that are open at once: pairs of tasks may meet, and each task by several ways. Nodes
 * say who meets: a host that lies could name others for ever. */
#define MEETINGS_MORE 4096 /* than there are tasks */
#define RANKS_MAX     (64u << 20)
#define UNREAD_MAX    (64u << 20) /* bytes that a node asks for, and does not read */

/* Nodes of a meeting that is under way. */
struct meeting {
    const char *ranks; /* NULL = all tasks */
    struct step_node **came;
    size_t n, expected;
};

/* ---- where the tasks are ---- */

static void ranks_format(const struct step_node *n, struct str *out)
{
    struct idset own = IDSET_INIT, all = IDSET_INIT;
    uint32_t id = 0;
    if (n->task_ids && idset_parse(&own, n->task_ids, UINT32_MAX, NULL))
        for (bool more = idset_first(&own, &id); more; more = idset_next(&own, id, &id))
            idset_add(&all, id + (uint32_t)n->step->first);
    idset_format(&all, out);
    idset_done(&own);
    idset_done(&all);
}

static void map_add(struct srun_run *r, struct step_node *n, void *arg)
{
    struct str *map = arg;
    struct str ranks = STR_INIT;
    (void)r;
    ranks_format(n, &ranks);
    if (ranks.len)
        str_addf(map, "%s %s\n", n->name, str_text(&ranks));
    str_done(&ranks);
}

void run_mpi_tell(struct srun_run *r, struct msg_stream_tasks *t)
{
    struct str map = STR_INIT;
    if (text_empty(t->mpi))
        return;
    if (!r->mpi_map) {
        const struct step *first = &r->step[0].step;
        run_each_node(r, map_add, &map);
        r->mpi_map = arena_strdup(r->a, str_text(&map));
        /* PMIx takes whoever knows it for one of them. */
        const char *secret = text_is(t->mpi, "pmix") ? hub_key_new(r->a) : "";
        r->mpi_name =
            arena_printf(r->a, "%llu.%u.%lld%s%.16s", (unsigned long long)first->job_id,
                         first->attempt, (long long)first->step_id, *secret ? "." : "", secret);
        str_done(&map);
    }
    t->mpi_map = r->mpi_map;
    t->mpi_name = r->mpi_name;
}

/* ---- who meets ---- */

struct meeting_asked {
    const struct idset *ranks; /* NULL = all */
    size_t n;
};

static bool has_any(const struct step_node *n, const struct idset *ranks, bool only_ended,
                    uint32_t *ret_rank)
{
    struct idset own = IDSET_INIT;
    uint32_t id = 0;
    bool found = false;
    if (n->task_ids && idset_parse(&own, n->task_ids, UINT32_MAX, NULL))
        for (bool more = idset_first(&own, &id); more && !found; more = idset_next(&own, id, &id)) {
            uint32_t rank = id + (uint32_t)n->step->first;
            found = (!ranks || idset_has(ranks, rank)) &&
                    (!only_ended || tasks_is_ended(n->step->tasks, (int32_t)id));
            *ret_rank = rank;
        }
    idset_done(&own);
    return found;
}

/* Most of the time none has. */
static bool has_ended(const struct step_node *n)
{
    return tasks_count(n->step->tasks, TASK_ENDED) > 0;
}

static void count_one(struct srun_run *r, struct step_node *n, void *arg)
{
    struct meeting_asked *a = arg;
    uint32_t rank;
    (void)r;
    a->n += has_any(n, a->ranks, false, &rank);
}

/* The ranks as a set; false: of all tasks. */
static bool ranks_read(const char *ranks, struct idset *set)
{
    return ranks && idset_parse(set, ranks, UINT32_MAX, NULL);
}

static size_t ranks_bytes(const struct meeting *m)
{
    return m->ranks ? strlen(m->ranks) : 0;
}

/* One that is over, or a new one; NULL: there are too many. */
static struct meeting *meeting_room(struct srun_run *r, size_t bytes)
{
    struct meeting *found = NULL;
    size_t sum = bytes;
    for (size_t i = 0; i < r->nmeetings; i++) {
        if (r->meeting[i]->n)
            sum += ranks_bytes(r->meeting[i]);
        else
            found = r->meeting[i];
    }
    if (sum > RANKS_MAX)
        return NULL;
    if (found || r->nmeetings >= (size_t)r->ntasks + MEETINGS_MORE)
        return found;
    r->meeting = xrealloc(r->meeting, (r->nmeetings + 1) * sizeof *r->meeting);
    return r->meeting[r->nmeetings++] = xcalloc(1, sizeof *found);
}

static struct meeting *meeting_of(struct srun_run *r, const char *ranks)
{
    struct idset set = IDSET_INIT;
    for (size_t i = 0; i < r->nmeetings; i++)
        if (r->meeting[i]->n && text_is(r->meeting[i]->ranks, ranks))
            return r->meeting[i];
    struct meeting *one = meeting_room(r, ranks ? strlen(ranks) : 0);
    if (!one)
        return NULL;
    struct meeting_asked a = {.ranks = ranks_read(ranks, &set) ? &set : NULL};
    run_each_node(r, count_one, &a);
    idset_done(&set);
    free((char *)(uintptr_t)one->ranks);
    one->ranks = ranks ? xstrdup(ranks) : NULL;
    one->expected = a.n;
    one->came = xrealloc(one->came, (a.n + 1) * sizeof *one->came);
    return one;
}

struct meeting_telling {
    const struct msg_stream_mpi *m;
    const struct step_node *but;
    struct idset *ranks; /* NULL = all */
};

static void tell_one(struct srun_run *r, struct step_node *n, void *arg)
{
    const struct meeting_telling *t = arg;
    uint32_t rank;
    (void)r;
    if (n != t->but && n->peer && has_any(n, t->ranks, false, &rank))
        peer_send(n->peer, MSG_STREAM_MPI, t->m);
}

static void tell(struct srun_run *r, const struct msg_stream_mpi *m, const struct step_node *but)
{
    struct idset set = IDSET_INIT;
    struct meeting_telling t = {m, but, ranks_read(m->ranks, &set) ? &set : NULL};
    run_each_node(r, tell_one, &t);
    idset_done(&set);
}

/* ---- who will not come ---- */

struct meeting_search {
    const struct idset *ranks;
    uint32_t rank;
    bool found;
};

static void ended_find(struct srun_run *r, struct step_node *n, void *arg)
{
    struct meeting_search *s = arg;
    uint32_t rank;
    (void)r;
    if (!s->found && has_ended(n) && has_any(n, s->ranks, true, &rank)) {
        s->found = true;
        s->rank = rank;
    }
}

void run_mpi_check(struct srun_run *r)
{
    for (size_t i = 0; i < r->nmeetings && !r->killed; i++) {
        struct idset set = IDSET_INIT;
        if (!r->meeting[i]->n)
            continue;
        struct meeting_search s = {.ranks = ranks_read(r->meeting[i]->ranks, &set) ? &set : NULL};
        run_each_node(r, ended_find, &s);
        idset_done(&set);
        if (!s.found)
            continue;
        program_error(r->al->name, "task %u has ended, and others wait to meet it (MPI)", s.rank);
        run_kill(r, "Terminating", true);
    }
}

/* ---- what nodes say ---- */

static void meet(struct srun_run *r, struct step_node *n, const struct msg_stream_mpi *m)
{
    struct meeting *at = meeting_of(r, m->ranks);
    if (!at && !r->killed) {
        program_error(r->al->name, "%s: more meetings are open than there may be (MPI)", n->name);
        run_kill(r, "Terminating", true);
    }
    if (!at)
        return;
    for (size_t i = 0; i < at->n; i++)
        if (at->came[i] == n)
            return; /* it is waiting already */
    if (at->n >= at->expected)
        return;
    at->came[at->n++] = n;
    if (m->data.len)
        tell(r, &(struct msg_stream_mpi){.op = MPI_MEET, .ranks = m->ranks, .data = m->data}, n);
    if (at->n < at->expected) {
        run_mpi_check(r);
        return;
    }
    at->n = 0;
    tell(r, &(struct msg_stream_mpi){.op = MPI_MET, .ranks = m->ranks}, NULL);
}

/* ---- what one task has put ---- */

struct meeting_at {
    const struct step_node *node; /* NULL = the one that has `rank` */
    uint32_t rank;
    int64_t number, seen;
    struct step_node *found;
};

static void place_find(struct srun_run *r, struct step_node *n, void *arg)
{
    struct meeting_at *a = arg;
    struct idset one = IDSET_INIT;
    uint32_t rank;
    (void)r;
    idset_add(&one, a->rank);
    if (a->node == n)
        a->number = a->seen;
    if (a->number >= 0 ? a->number == a->seen : !a->node && has_any(n, &one, false, &rank))
        a->found = n;
    a->seen++;
    idset_done(&one);
}

/* What was asked, or is the answer. */
static void say(struct srun_run *r, struct step_node *n, const struct msg_stream_mpi *m)
{
    if (peer_unsent(n->peer) <= UNREAD_MAX) {
        peer_send(n->peer, MSG_STREAM_MPI, m);
    } else if (!r->killed) {
        program_error(r->al->name, "%s: it does not read what it asks for (MPI)", n->name);
        run_kill(r, "Terminating", true);
    }
}

/* To the node that has the rank; who asked is told by its number, which the answer has again. */
static void ask(struct srun_run *r, struct step_node *n, const struct msg_stream_mpi *m)
{
    char number[24];
    struct meeting_at who = {.node = n, .number = -1},
                      whose = {.rank = (uint32_t)m->rank, .number = -1};
    run_each_node(r, place_find, &who);
    run_each_node(r, place_find, &whose);
    snprintf(number, sizeof number, "%lld", (long long)who.number);
    if (whose.found && whose.found->peer)
        say(r, whose.found,
            &(struct msg_stream_mpi){.op = MPI_ASK, .rank = m->rank, .text = number});
    else
        say(r, n, &(struct msg_stream_mpi){.op = MPI_ANSWER, .rank = m->rank, .code = 1});
}

static void answer(struct srun_run *r, const struct msg_stream_mpi *m)
{
    struct meeting_at who = {.number = -1};
    if (!m->text || !text_to_i64(m->text, 0, INT32_MAX, &who.number))
        return;
    run_each_node(r, place_find, &who);
    if (who.found && who.found->peer)
        say(r, who.found,
            &(struct msg_stream_mpi){
                .op = MPI_ANSWER, .rank = m->rank, .code = m->code, .data = m->data});
}

/* ---- the end ---- */

/* How srun ends is told by its tasks, those that are killed for it as well. */
static void rank_left(struct srun_run *r, const struct msg_stream_mpi *m)
{
    if (r->killed)
        return;
    r->killed = true;
    program_error(r->al->name, "task %d left without MPI_Finalize: the others are ended", m->rank);
    tell(r,
         &(struct msg_stream_mpi){
             .op = MPI_ABORT, .ranks = "left", .rank = m->rank, .code = m->code},
         NULL);
}

static void aborted(struct srun_run *r, const struct msg_stream_mpi *m)
{
    struct str why = STR_INIT;
    if (text_is(m->ranks, "left")) {
        rank_left(r, m);
        return;
    }
    if (r->mpi_code)
        return;
    r->mpi_code = m->code & 0xff ? m->code & 0xff : 1;
    r->killed = true;
    str_add_plain(&why, m->text ? m->text : "");
    if (text_is(m->ranks, "start"))
        program_error(r->al->name, "%s", str_text(&why));
    else
        program_error(r->al->name, "task %d ends its program with code %d%s%s", m->rank, m->code,
                      why.len ? ": " : "", str_text(&why));
    str_done(&why);
    tell(r, &(struct msg_stream_mpi){.op = MPI_ABORT, .rank = m->rank, .code = m->code}, NULL);
}

void run_mpi_take(struct srun_run *r, struct step_node *n, const struct msg_stream_mpi *m)
{
    switch ((enum mpi_op)m->op) {
    case MPI_MEET: meet(r, n, m); break;
    case MPI_ABORT: aborted(r, m); break;
    case MPI_ASK: ask(r, n, m); break;
    case MPI_ANSWER: answer(r, m); break;
    case MPI_MET: break;
    }
}

void run_mpi_done(struct srun_run *r)
{
    for (size_t i = 0; i < r->nmeetings; i++) {
        free((char *)(uintptr_t)r->meeting[i]->ranks);
        free(r->meeting[i]->came);
        free(r->meeting[i]);
    }
    free(r->meeting);
}
