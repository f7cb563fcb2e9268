/* A step with a task on each node that writes its input to the file: under a name of its own first,
 * so that nobody sees half of it. */
#include "cli/step/bcast.h"

#include "cli/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* $1 destination, $2 mode, $3 "force" or "", $4 time of change or "", $5 bytes that come at least.
 * Its exit codes are Slurm's: EEXIST, ENOENT, EACCES.
 * A command that is killed ends the input as one that is done does: what is not whole does not get
 * the name. However the shell ends its own file is gone; after SIGKILL the next copy to this name
 * takes it away. The name tells the node, for others may write to the same file system, and also to
 * the same folder: so it cannot be foreseen, is made and not found (set -C), is nobody else's to
 * read until it is whole, and is written, counted and given its mode by descriptor 3. It never goes
 * into a folder of the name that was asked for (mv -T): who may write beside it could have put one
 * there, or a link to one of his, meanwhile. It stays in the folder where it began (cd), whatever
 * that is called when it is whole. */
#define WRITER                                                                                     \
    "umask 077; CDPATH=; name=./${1##*/}; b=$name.sbcast.$SLURMD_NODENAME; "                       \
    "t=$b.$$.$(od -An -N8 -tx8 /dev/urandom | tr -d ' '); f=/proc/self/fd/3; "                     \
    "no() { echo \"sbcast: error: REQUEST_FILE_BCAST($SLURMD_NODENAME): $2\" >&2; "                \
    "echo \"sbcast: error: $3\" >&2; cat >/dev/null; exit \"$1\"; }; "                             \
    "if [ -d \"$1\" ] && [ \"$3\" ]; then "                                                        \
    "no 21 'Is a directory' \"$1 on $SLURMD_NODENAME is a folder: name the file in it\"; "         \
    "elif [ -e \"$1\" ] && [ ! -f \"$1\" ] && [ \"$3\" ]; then "                                   \
    "no 17 'File exists' \"$1 on $SLURMD_NODENAME is no file: it is not replaced\"; "              \
    "elif [ -z \"$3\" ] && { [ -e \"$1\" ] || [ -L \"$1\" ]; }; then "                             \
    "no 17 'File exists' \"$1 exists on $SLURMD_NODENAME: use -f to replace it\"; fi; "            \
    "d=.; case $1 in */*) d=${1%/*}/ ;; esac; w=; e=13; "                                          \
    "[ -d \"$d\" ] || { w='No such file or directory'; e=2; }; "                                   \
    "[ \"$w\" ] || { [ -w \"$d\" ] && cd -- \"$d\"; } || w='Permission denied'; [ -z \"$w\" ] || " \
    "no \"$e\" \"$w\" \"the folder $d on $SLURMD_NODENAME must be there, and writable\"; "         \
    "for o in \"$b\".*; do p=${o#\"$b\".}; "                                                       \
    "[ ! -e \"$o\" ] || kill -0 \"${p%%.*}\" 2>/dev/null || rm -f \"$o\"; done; "                  \
    "trap 'rm -f \"$t\"' EXIT; trap 'exit 1' HUP INT TERM; set -C; "                               \
    "{ cat >&3 || exit 1; n=$(wc -c <$f); [ \"$n\" -ge \"$5\" ] || { "                             \
    "echo \"sbcast: error: $1 on $SLURMD_NODENAME: $n of $5 bytes came; it is not there\" "        \
    ">&2; exit 1; }; "                                                                             \
    "{ [ -z \"$4\" ] || touch -d \"@$4\" $f; } && chmod \"$2\" $f && mv -fT \"$t\" \"$name\" "     \
    "|| exit 1; } 3>\"$t\" || exit 1"

int bcast_run(struct allocation *al, struct step_ask *step, const struct bcast_ask *ask)
{
    struct stat st;
    struct str words = STR_INIT;
    int fd = open(ask->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_error(al->name, "Can't open `%s`: %s", ask->from, strerror(errno));
        return 255;
    }
    if (S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode)) {
        program_error(al->name, "Can't mmap file `%s`, No such device.", ask->from);
        program_error(al->name, "it is a %s; a file can be copied",
                      S_ISDIR(st.st_mode) ? "directory" : "pipe");
        close(fd);
        return 255;
    }
    if (!S_ISREG(st.st_mode)) { /* a device has no length and often no end: as in Slurm, no bytes */
        close(fd);
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (st.st_size == 0)
        program_error(al->name, "Warning: file `%s` is empty.", ask->from);
    /* A file that somebody else adds to has no end. */
    const int64_t size = S_ISREG(st.st_mode) ? st.st_size : 0;
    const char *when =
        ask->preserve
            ? arena_printf(al->a, "%lld.%09ld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec)
            : "";
    const char *argv[] = {"/bin/sh",
                          "-c",
                          WRITER,
                          al->name,
                          ask->to,
                          arena_printf(al->a, "%o", (unsigned)st.st_mode & 07777),
                          ask->force ? "force" : "",
                          when,
                          arena_printf(al->a, "%lld", (long long)size)};
    for (size_t i = 0; i < sizeof argv / sizeof argv[0]; i++)
        str_addn(&words, argv[i], strlen(argv[i]) + 1);
    step->tasks.args = (struct blob){arena_dup(al->a, words.data, words.len), words.len};
    str_done(&words);
    struct step_run_ask run = {.step = step,
                               .nsteps = 1,
                               .in_fd = fd,
                               .in_bytes = &size,
                               .in_task = -1,
                               .output = {{STDOUT_FILENO, -1}, {STDERR_FILENO, -1}},
                               .quiet = ask->quiet,
                               .refused_as = ask->refused_as,
                               .refused_status = ask->refused_status,
                               .tasks_tell = true,
                               .quit_on_interrupt = true};
    int status = step_run(al, &run);
    close(fd);
    return status;
}
