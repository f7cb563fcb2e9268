/* A process of a product (run.py): says when it starts and ends, counts each signal it gets, and
 * ends by itself when told to, or shortly after SIGTERM. usage: counter NAME, with D (folder), N
 * (which run of the job) in the environment. Lines in D/log: "start NAME N", "sig NAME N TERM",
 * "end NAME N". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS   50
#define LINGER_MS 400    /* a second SIGTERM would come within this */
#define LIFE_MS   180000 /* nothing stays for ever */
#define EATS      (256u << 20)

static int log_fd;
static const char *who, *run, *folder;
static volatile sig_atomic_t terminated;
static const struct {
    int signo;
    const char *name;
} counted[] = {{SIGTERM, "TERM"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"},
               {SIGINT, "INT"},   {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"}};

static void line(const char *what, const char *more)
{
    char text[200];
    int n = snprintf(text, sizeof text, "%s %s %s%s%s\n", what, who, run, *more ? " " : "", more);
    if (write(log_fd, text, (size_t)n) != n)
        _exit(98);
}

static void heard(int signo)
{
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (counted[i].signo == signo)
            line("sig", counted[i].name);
    terminated |= signo == SIGTERM;
}

static int there(const char *what, const char *tail)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.%s%s", folder, what, run, tail);
    return access(path, F_OK) == 0;
}

/* What this process is to do itself: D/do.N.NAME, a shell command. */
static void errand(void)
{
    static int done;
    char tail[200], command[900], code[40];
    snprintf(tail, sizeof tail, ".%s", who);
    if (done || !there("do", tail))
        return;
    done = 1;
    snprintf(command, sizeof command, "exec sh '%s/do.%s%s'", folder, run, tail);
    int status = system(command);
    snprintf(code, sizeof code, "%d", status);
    line("did", code);
}

static void ends_early(void)
{
    char tail[200];
    snprintf(tail, sizeof tail, ".%s", who);
    if (there("fail", tail)) {
        line("end", "fail");
        exit(5);
    }
    static char *eaten;
    if (there("eat", tail) && !eaten && (eaten = malloc(EATS))) {
        line("eats", "");
        memset(eaten, 1, EATS);
    }
}

static int terminal(char **command)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    char text[4096];
    int fd, status = 0;
    ssize_t n;
    pid_t pid = forkpty(&fd, NULL, NULL, NULL);
    if (pid == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    while (pid > 0 && (n = read(fd, text, sizeof text)) > 0)
        if (write(STDOUT_FILENO, text, (size_t)n) != n)
            return 98;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 96;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "terminal") == 0)
        return terminal(argv + 2);
    struct timespec tick = {0, TICK_MS * 1000000L};
    struct sigaction act = {.sa_handler = heard, .sa_flags = SA_RESTART};
    char path[600], name[100];
    const char *rank = getenv("SLURM_PROCID");
    if (getenv("OMPI_COMM_WORLD_RANK"))
        rank = getenv("OMPI_COMM_WORLD_RANK");
    else if (getenv("PMI_RANK"))
        rank = getenv("PMI_RANK");
    folder = getenv("D");
    run = getenv("N");
    if (argc != 2 || !folder || !run)
        return 97;
    snprintf(name, sizeof name, "%s%s", argv[1], strcmp(argv[1], "task") == 0 && rank ? rank : "");
    who = name;
    snprintf(path, sizeof path, "%s/log", folder);
    log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        sigaction(counted[i].signo, &act, NULL);
    line("start", "");
    for (int ms = 0; ms < LIFE_MS && !terminated; ms += TICK_MS) {
        errand();
        ends_early();
        if (strcmp(who, "helper") != 0 && there("go", "")) {
            line("end", "");
            printf("%s done %s\n", who, run);
            return 0;
        }
        nanosleep(&tick, NULL);
    }
    for (int ms = 0; terminated && ms < LINGER_MS; ms += TICK_MS) {
        struct timespec left = tick;
        while (nanosleep(&left, &left) != 0)
            ;
    }
    line("end", "term");
    return terminated ? 0 : 99;
}
