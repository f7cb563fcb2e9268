#include "base/alloc.h"
#include "cli/step/bcast.h"
#include "cli/step/srun_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the program goes: as asked, in the directory asked, or into the work directory under a name
 * of the job's. */
static const char *bcast_path(const struct launch *l)
{
    const char *asked = l->line.comp[0].launch.bcast;
    const char *name = arena_printf(l->line.a, "slurm_bcast_%llu_%ld",
                                    (unsigned long long)l->step[0].create.job_id, (long)getpid());
    size_t len = strlen(asked);
    if (len && asked[len - 1] != '/')
        return asked;
    return len ? arena_printf(l->line.a, "%s%s", asked, name)
               : arena_printf(l->line.a, "%s/%s", l->line.comp[0].spec.work_dir, name);
}

static const char *program_path(const struct launch *l, const char *word)
{
    struct span rest = span_of(getenv("PATH")), dir;
    while (!strchr(word, '/') && span_next(&rest, ':', &dir)) {
        const char *path =
            arena_printf(l->line.a, "%.*s/%s", (int)dir.len, dir.len ? dir.data : ".", word);
        if (dir.len && access(path, X_OK) == 0)
            return path;
    }
    return word;
}

/* Copies the program to each node of the step and runs that copy. */
bool srun_bcast(struct launch *l)
{
    const struct step_ask *s = &l->step[0];
    const struct job *j = &l->al.job[0];
    int from, to;
    if (!l->line.comp[0].launch.bcast || !srun_program_words(l, 0, &from, &to))
        return true;
    const char *path = bcast_path(l);
    struct bcast_ask ask = {
        .from = program_path(l, l->line.argv[from]), .to = path, .force = true, .quiet = true};
    struct job_spec spec = {.name = "sbcast", .req = {.ntasks_per_node = 1}};
    spec.req.min_nodes = spec.req.max_nodes = spec.req.ntasks =
        j->alloc_nodes > 0 ? j->alloc_nodes : 1;
    struct step_ask copy = {
        .create = {.job_id = s->create.job_id, .overlap = true, .spec = {&spec, 1}},
        .tasks = {.env = s->tasks.env,
                  .work_dir = s->tasks.work_dir,
                  .umask_plus1 = s->tasks.umask_plus1}};
    if (bcast_run(&l->al, &copy, &ask) != 0)
        return false;
    for (size_t i = 0; i < l->run.nsteps; i++) {
        struct step_ask *own = &l->step[i];
        size_t first = own->tasks.args.len ? strlen(own->tasks.args.data) + 1 : 0;
        struct str words = STR_INIT;
        str_addn(&words, path, strlen(path) + 1);
        str_addn(&words, (const char *)own->tasks.args.data + first, own->tasks.args.len - first);
        own->tasks.args = (struct blob){arena_dup(l->line.a, words.data, words.len), words.len};
        str_done(&words);
    }
    return true;
}
