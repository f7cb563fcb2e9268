#include "cli/step/tasks.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "model/job/job.h"

#include <stdlib.h>
#include <string.h>

struct srun_task {
    enum task_at at;
    const char *node;
};

struct step_tasks {
    struct srun_task *task;
    int32_t n, first, count[3], worst;
    bool any_bad;
};

typedef void (*task_fn)(struct step_tasks *t, struct srun_task *task, int32_t arg);

/* A node's word: of tasks that there are, or it would be gone through until 2³². */
static bool ids_read(const struct step_tasks *t, const char *folded, struct idset *ret)
{
    return folded && t->n > 0 && idset_parse(ret, folded, (uint32_t)t->n - 1, NULL);
}

bool tasks_is_on(const struct step_tasks *t, int32_t task, const char *node)
{
    return task >= 0 && task < t->n && (!t->task[task].node || text_is(t->task[task].node, node));
}

/* And of its own. */
static bool own_read(const struct step_tasks *t, const char *node, const char *folded,
                     struct idset *ret)
{
    struct idset said = IDSET_INIT;
    uint32_t id;
    bool more = ids_read(t, folded, &said) && idset_first(&said, &id);
    for (; more; more = idset_next(&said, id, &id))
        if (tasks_is_on(t, (int32_t)id, node))
            idset_append(ret, id, id);
    idset_done(&said);
    return ret->count > 0;
}

static void each(struct step_tasks *t, const struct idset *set, task_fn fn, int32_t arg)
{
    uint32_t id;
    for (bool more = idset_first(set, &id); more; more = idset_next(set, id, &id))
        fn(t, &t->task[id], arg);
}

static void node_set(struct step_tasks *t, const char *folded, const char *node)
{
    struct idset set = IDSET_INIT;
    uint32_t id;
    bool more = ids_read(t, folded, &set) && idset_first(&set, &id);
    for (; more; more = idset_next(&set, id, &id))
        t->task[id].node = node;
    idset_done(&set);
}

struct step_tasks *tasks_new(const struct alloc *layout, int32_t ntasks, int32_t first)
{
    struct step_tasks *t = xcalloc(1, sizeof *t);
    t->task = xcalloc((size_t)ntasks, sizeof *t->task);
    t->n = t->count[TASK_WAITS] = ntasks;
    t->first = first;
    for (size_t i = 0; i < layout->n; i++)
        node_set(t, layout->node[i].task_ids, layout->node[i].node);
    return t;
}

void tasks_free(struct step_tasks *t)
{
    if (!t)
        return;
    free(t->task);
    free(t);
}

static void task_move(struct step_tasks *t, struct srun_task *task, int32_t at)
{
    if ((int32_t)task->at >= at)
        return;
    t->count[task->at]--;
    task->at = (enum task_at)at;
    t->count[at]++;
}

void tasks_started(struct step_tasks *t, const char *node, const char *folded)
{
    struct idset set = IDSET_INIT;
    if (own_read(t, node, folded, &set))
        each(t, &set, task_move, TASK_RUNS);
    idset_done(&set);
}

bool tasks_is_ended(const struct step_tasks *t, int32_t task)
{
    return task >= 0 && task < t->n && t->task[task].at == TASK_ENDED;
}

/* ---- ends ---- */

static int32_t exit_code_of(int32_t wait_status)
{
    return status_signal(wait_status) ? 128 + status_signal(wait_status) : status_code(wait_status);
}

/* "task 3: ", "tasks 0-1,4": the members' own numbers. */
static void numbers_add(const struct step_tasks *t, const struct idset *set, struct str *out)
{
    uint32_t id, last;
    str_add(out, set->count == 1 ? "task " : "tasks ");
    for (bool more = idset_first(set, &id), first = true; more; first = false) {
        uint32_t from = id;
        do
            last = id;
        while ((more = idset_next(set, id, &id)) && id == last + 1);
        str_addf(out, "%s%u", first ? "" : ",", from + (uint32_t)t->first);
        if (last > from)
            str_addf(out, "-%u", last + (uint32_t)t->first);
    }
}

static void end_describe(const struct step_tasks *t, const char *node, const struct idset *set,
                         int32_t status, struct str *line)
{
    str_addf(line, "%s: ", node);
    numbers_add(t, set, line);
    if (status_signal(status) == STATUS_OOM)
        str_add(line, ": Out Of Memory");
    else if (status_signal(status))
        str_addf(line, ": %s%s", strsignal(status_signal(status)),
                 status & 0x80 ? " (core dumped)" : "");
    else
        str_addf(line, ": Exited with exit code %d", status_code(status));
}

void tasks_ended(struct step_tasks *t, const char *node, const char *folded, int32_t status,
                 struct str *line)
{
    struct idset set = IDSET_INIT;
    bool any = own_read(t, node, folded, &set);
    each(t, &set, task_move, TASK_ENDED);
    if (exit_code_of(status) > t->worst)
        t->worst = exit_code_of(status);
    if (status != 0)
        t->any_bad = true;
    if (status != 0 && any)
        end_describe(t, node, &set, status, line);
    idset_done(&set);
}

void tasks_lost(struct step_tasks *t, const char *node)
{
    for (int32_t i = 0; i < t->n; i++)
        if (text_is(t->task[i].node, node) && t->task[i].at != TASK_ENDED) {
            task_move(t, &t->task[i], TASK_ENDED);
            t->any_bad = true;
            if (t->worst < 1)
                t->worst = 1;
        }
}

/* ---- asking ---- */

int32_t tasks_count(const struct step_tasks *t, enum task_at at)
{
    ASSERT((size_t)at < ARRAY_LEN(t->count));
    return t->count[at];
}

int32_t tasks_worst(const struct step_tasks *t)
{
    return t->worst;
}

bool tasks_any_bad(const struct step_tasks *t)
{
    return t->any_bad;
}

bool tasks_describe(const struct step_tasks *t, enum task_at at, struct str *out)
{
    static const char *const words[] = {"starting", "running", "exited"};
    ASSERT((size_t)at < ARRAY_LEN(words));
    struct idset set = IDSET_INIT;
    for (int32_t i = 0; i < t->n; i++)
        if (t->task[i].at == at)
            idset_add(&set, (uint32_t)i);
    bool any = set.count > 0;
    if (any) {
        numbers_add(t, &set, out);
        str_addf(out, ": %s", words[at]);
    }
    idset_done(&set);
    return any;
}
