#include "cli/program/command_signals.h"

#include "base/alloc.h"
#include "cli/program/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int dealt_with[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1, SIGUSR2,
                                 SIGALRM, SIGURG,  SIGWINCH, SIGCONT, SIGTSTP, SIGCHLD};

static void set_make(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(dealt_with); i++)
        sigaddset(set, dealt_with[i]);
}

int command_signals_open(void)
{
    sigset_t set;
    set_make(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) { /* who is never told of its child's end, nor of Ctrl-C, would not end */
        program_error(program_invocation_short_name, "cannot hear signals: %s", strerror(errno));
        exit(EXIT_FAILURE);
    }
    return fd;
}

struct command_signal command_signal_next(int fd)
{
    struct signalfd_siginfo info;
    struct command_signal got = {0};
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return got;
    got.signo = (int)info.ssi_signo;
    if (info.ssi_code == SI_QUEUE)
        got.word = signal_word_read(info.ssi_ptr, &got.job_id);
    return got;
}

void command_signals_restore(void)
{
    sigset_t set;
    set_make(&set);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
