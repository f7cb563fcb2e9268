#include "io/process/last_words.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 512

/* A handler has nothing else to look at. Written once, before there are threads. */
static struct {
    const char *who;
    bool is_command;
    char log_path[PATH_MAX];
} last;

/* In a handler there is no snprintf: what was broken may be its memory. */
static void add(char text[WORDS_MAX], size_t *len, const char *more)
{
    while (*more && *len < WORDS_MAX - 1)
        text[(*len)++] = *more++;
}

static const char *name_of(int signo)
{
    switch (signo) {
    case SIGABRT: return "SIGABRT";
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    default: return "SIGFPE";
    }
}

static void words_write(int fd, const char *text, size_t len)
{
    ssize_t n = fd >= 0 ? write(fd, text, len) : 0;
    (void)n; /* there is nobody left to tell */
}

/* What did not hold, if it is die() who ends the process. */
static const char *told(int signo, const siginfo_t *info)
{
    bool ours = signo == SIGABRT && info->si_code == SI_QUEUE && info->si_pid == getpid();
    return ours ? info->si_value.sival_ptr : NULL;
}

/* Of a library that calls abort(): why is what the system answered it last, where that was a
 * shortage. NULL: something else. */
static const char *shortage_of(int signo, int error)
{
    if (signo != SIGABRT)
        return NULL;
    switch (error) {
    case EMFILE: return "it had no descriptor left (EMFILE)";
    case ENFILE: return "the machine had no descriptor left (ENFILE)";
    case ENOMEM: return "it got no memory (ENOMEM)";
    default: return NULL;
    }
}

static void sentence(char text[WORDS_MAX], size_t *len, int signo, const char *why, int error)
{
    const char *shortage = why ? NULL : shortage_of(signo, error);
    add(text, len, last.is_command ? "" : "error: ");
    add(text, len, last.who);
    add(text, len, last.is_command ? ": error: " : " ");
    if (!last.is_command || why != memory_ran_out) {
        add(text, len, "is ended by ");
        add(text, len, name_of(signo));
        add(text, len, why ? ": " : "");
    }
    add(text, len, why && why != memory_ran_out ? "it is not so that " : "");
    add(text, len, why ? why : "");
    add(text, len, shortage ? ": a library ended it; as the system said last, " : "");
    add(text, len, shortage ? shortage : "");
    add(text, len, "\n");
}

/* The signal's handler is gone by now (SA_RESETHAND): sent again, it ends the process. The time is
 * that of the line before: to look up a time zone is not safe here. Of die() it is as if it called
 * us, and no call of libc was interrupted: exit() may follow. */
static void say(int signo, siginfo_t *info, void *context)
{
    char text[WORDS_MAX];
    size_t len = 0;
    int error = info->si_code == SI_TKILL ? errno : 0; /* of this thread's own abort() */
    const char *why = told(signo, info);
    (void)context;
    sentence(text, &len, signo, why, error);
    words_write(STDERR_FILENO, text, len);
    if (last.log_path[0])
        words_write(open(last.log_path, O_WRONLY | O_APPEND | O_CLOEXEC), text, len);
    if (last.is_command && why == memory_ran_out)
        exit(EXIT_FAILURE);
    raise(signo);
}

static void prepare(const char *who, bool is_command, const char *log_path)
{
    static const int signals[] = {
        SIGABRT,
#ifndef __SANITIZE_ADDRESS__ /* which has more to say of the others */
        SIGSEGV, SIGBUS, SIGILL, SIGFPE,
#endif
    };
    struct sigaction act = {.sa_sigaction = say, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    last.who = who;
    last.is_command = is_command;
    snprintf(last.log_path, sizeof last.log_path, "%s", log_path ? log_path : "");
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], &act, NULL);
}

void last_words_prepare(const char *who, const char *log_path)
{
    prepare(who, false, log_path);
}

void last_words_prepare_command(const char *name)
{
    prepare(name, true, NULL);
}
