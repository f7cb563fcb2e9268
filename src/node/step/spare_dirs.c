#include "node/step/spare_dirs.h"
#include "base/alloc.h"

#include "model/job/job.h"
#include "node/step/dir.h"

#include <stdio.h>
#include <string.h>

enum spare_kind spare_kind_of(int64_t step_id)
{
    return step_id == STEP_BATCH ? SPARE_OF_SCRIPT : SPARE_OF_TASKS;
}

static void name_make(uint64_t number, char name[SPARE_DIRS_NAME_BYTES])
{
    snprintf(name, SPARE_DIRS_NAME_BYTES, ".s%llu", (unsigned long long)number);
}

void spare_dirs_put(struct spare_dirs *s, int steps_fd, const char *name, enum spare_kind kind)
{
    ASSERT(kind < SPARE_KINDS && !strchr(name, '/'));
    char spare[SPARE_DIRS_NAME_BYTES];
    name_make(s->last + 1, spare);
    if (s->kind[kind].n == SPARE_DIRS_MAX || !step_dir_retire(steps_fd, name, spare))
        step_dir_remove(steps_fd, name);
    else
        s->kind[kind].number[s->kind[kind].n++] = ++s->last;
}

bool spare_dirs_take(struct spare_dirs *s, enum spare_kind kind, char name[SPARE_DIRS_NAME_BYTES])
{
    ASSERT(kind < SPARE_KINDS);
    if (s->kind[kind].n == 0)
        return false;
    name_make(s->kind[kind].number[--s->kind[kind].n], name);
    return true;
}

void spare_dirs_done(struct spare_dirs *s, int steps_fd)
{
    char name[SPARE_DIRS_NAME_BYTES];
    for (int kind = 0; kind < SPARE_KINDS; kind++)
        while (spare_dirs_take(s, (enum spare_kind)kind, name))
            step_dir_remove(steps_fd, name);
}
