/* What runs on a host that leaves its cluster: `remudad end-steps STATE_DIR NODE`. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "io/files.h"
#include "node/node.h"
#include "node/step/command.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KILL_WAIT_MS 30000 /* as the default of KillWait: the cluster's own is not known here */
#define END_WAIT_MS  45000
#define LOOK_MS      50

/* Sends the command where `c` is given; the steps whose shepherds are there, as JOB.STEP, … */
static size_t steps_alive(int fd, const char *path, const struct step_command *c, struct str *names)
{
    struct arena *a = arena_new();
    const char **name;
    size_t n = 0, alive = 0;
    if (!dir_list(path, a, &name, &n, NULL))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t job_id;
        uint32_t attempt;
        int64_t step_id;
        if (!step_dir_name_parse(name[i], &job_id, &attempt, &step_id) ||
            !step_dir_alive(fd, name[i]))
            continue;
        if (c)
            step_dir_signal(fd, name[i], command_value(c));
        str_addf(names, "%s%llu", alive++ ? ", " : "", (unsigned long long)job_id);
    }
    arena_free(a);
    return alive;
}

static bool steps_end(const char *state_dir, const char *node)
{
    struct str path = STR_INIT, names = STR_INIT;
    const struct step_command end = {.op = COMMAND_TERMINATE,
                                     .why = WHY_NODE_FAILURE,
                                     .kill_wait_ms = KILL_WAIT_MS,
                                     .of_job = true};
    str_addf(&path, "%s/nodes/%s/steps", state_dir, node);
    int fd = open(str_text(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t left = fd >= 0 ? steps_alive(fd, str_text(&path), &end, &names) : 0;
    for (int ms = 0; left > 0 && ms < END_WAIT_MS; ms += LOOK_MS) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
        str_clear(&names);
        left = steps_alive(fd, str_text(&path), NULL, &names);
    }
    if (fd >= 0)
        close(fd);
    if (left > 0)
        fprintf(stderr,
                "remuda leave: error: what runs here of jobs %s does not end: end it by hand, and "
                "do this again\n",
                str_text(&names));
    str_done(&path);
    str_done(&names);
    return left == 0;
}

int end_steps_main(int argc, char **argv)
{
    return argc == 3 && steps_end(argv[1], argv[2]) ? 0 : 1;
}
