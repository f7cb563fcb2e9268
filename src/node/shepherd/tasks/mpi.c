/* MPI programs that were started side by side without a launcher of their library do not find each
 * other; people are told so. */
#include "base/alloc.h"
#include "node/shepherd/apart.h"
#include "node/shepherd/tasks/set.h"

#include <stdio.h>
#include <string.h>

#define MAPS_WAIT_MS 100

static int64_t maps_mpi(const void *ctx)
{
    const pid_t *pid = ctx;
    char path[48], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)*pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, "/libmpi.so") || strstr(line, "/libmpich.so") ||
                strstr(line, "/libmpi_mpich");
    if (f)
        fclose(f);
    return found;
}

/* Has something told the library how the ranks find each other? */
static bool has_launcher(const struct task_set *t)
{
    static const char *const signs[] = {
        "PMI_RANK=", "PMI_FD=", "PMIX_RANK=", "PMIX_NAMESPACE=", "OMPI_COMM_WORLD_SIZE="};
    struct span rest = {t->what.env.data, t->what.env.len};
    for (const char *at; text_next(&rest, &at);)
        for (size_t i = 0; i < ARRAY_LEN(signs); i++)
            if (text_starts(at, signs[i]))
                return true;
    return false;
}

void task_set_singletons_check(struct task_set *t)
{
    if (t->singletons_checked || !t->launched)
        return;
    t->singletons_checked = true;
    if (t->plan->world < 2 || t->meet || has_launcher(t))
        return;
    int64_t maps = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].id == 0 && !t->task[i].ended && t->task[i].pid > 0 &&
            ask_apart(maps_mpi, &t->task[i].pid, MAPS_WAIT_MS, &maps) == APART_ANSWERED && maps) {
            struct str line = STR_INIT;
            str_addf(&line,
                     "srun: warning: this is a program of MPI, and srun started %lld of them that "
                     "do not know of each other: each is rank 0 of 1. Start it with srun "
                     "--mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI), or with mpirun in the "
                     "allocation: salloc -n%lld mpirun PROGRAM",
                     (long long)t->plan->world, (long long)t->plan->world);
            task_set_notice(t, str_text(&line));
            str_done(&line);
        }
}
