/* A step with a task on each node that writes its input to the file: under a name of its own first, so that nobody sees half of it. */
#include "cli/step/bcast.h"

#include "cli/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* $1 destination, $2 mode, $3 "force" or "", $4 time of change or "". */
#define WRITER                                                                                               \
    "t=$1.sbcast.$$; if [ -z \"$3\" ] && [ -e \"$1\" ]; then "                                               \
    "echo \"sbcast: error: REQUEST_FILE_BCAST($SLURMD_NODENAME): File exists\" >&2; "                        \
    "echo \"sbcast: error: $1 exists on $SLURMD_NODENAME: use -f to replace it\" >&2; "                      \
    "cat >/dev/null; exit 1; fi; "                                                                           \
    "cat >\"$t\" && chmod \"$2\" \"$t\" && { [ -z \"$4\" ] || touch -d \"@$4\" \"$t\"; } && mv -f \"$t\" "   \
    "\"$1\" || { rm -f \"$t\"; exit 1; }"

int bcast_run(struct allocation *al, struct step_ask *step, const struct bcast_ask *ask)
{
    struct stat st;
    struct str words = STR_INIT;
    int fd = open(ask->from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_error(al->name, "Can't open `%s`: %s", ask->from, strerror(errno));
        return 1;
    }
    if (S_ISDIR(st.st_mode)) {
        program_error(al->name, "Can't copy `%s`: it is a directory", ask->from);
        close(fd);
        return 1;
    }
    if (st.st_size == 0)
        program_error(al->name, "Warning: file `%s` is empty.", ask->from);
    const char *when =
        ask->preserve ? arena_printf(al->a, "%lld.%09ld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec)
                      : "";
    const char *argv[] = {"/bin/sh",
                          "-c",
                          WRITER,
                          al->name,
                          ask->to,
                          arena_printf(al->a, "%o", (unsigned)st.st_mode & 07777),
                          ask->force ? "force" : "",
                          when};
    for (size_t i = 0; i < sizeof argv / sizeof argv[0]; i++)
        str_addn(&words, argv[i], strlen(argv[i]) + 1);
    step->tasks.args = (struct blob){arena_dup(al->a, words.data, words.len), words.len};
    str_done(&words);
    struct step_run_ask run = {.step = step,
                               .nsteps = 1,
                               .in_fd = fd,
                               .in_task = -1,
                               .output = {{STDOUT_FILENO, -1}, {STDERR_FILENO, -1}},
                               .quiet = ask->quiet};
    int status = step_run(al, &run);
    close(fd);
    return status;
}
