#include "node/shepherd/setup.h"

#include "base/alloc.h"
#include "io/process/keyring.h"
#include "node/cgroup/group.h"
#include "node/shepherd/as_owner.h"
#include "node/step/descriptors.h"
#include "node/step/login_shell.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- saying what is wrong ---- */

void remark(struct setup *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_add(&s->remarks, "slurmstepd: error: ");
    str_addv(&s->remarks, format, args);
    str_addc(&s->remarks, '\n');
    va_end(args);
}

void remarks_write(struct setup *s)
{
    if (!s->has_output || s->remarks.len == 0)
        return;
    ssize_t n = write(STDERR_FILENO, s->remarks.data, s->remarks.len);
    (void)n; /* nobody is left to tell */
    str_clear(&s->remarks);
}

_Static_assert(NOTE_DETAIL_BYTES < PIPE_BUF, "words of several tasks must not mix");

/* A file's name has what its owner likes in it: a line of his must not become a word of its own,
 * as of SETUP_UNFIT, for which the node would be drained. */
static void shepherd_hears(int failure_fd, enum setup_word word, const char *text)
{
    struct str line = STR_INIT;
    str_addf(&line, "%c%.*s", word, (int)NOTE_DETAIL_BYTES - 1, text);
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] == '\n')
            line.data[i] = ' ';
    str_addc(&line, '\n');
    ssize_t n = write(failure_fd, line.data, line.len);
    (void)n; /* of a failure the exit code still tells */
    str_done(&line);
}

void output_opened(const struct setup *s)
{
    shepherd_hears(s->failure_fd, SETUP_OPENED, "");
}

void setup_odd(int failure_fd, const char *text)
{
    shepherd_hears(failure_fd, SETUP_ODD, text);
}

static _Noreturn void give_up(struct setup *s, enum setup_word word, const char *why)
{
    remark(s, "%s", why);
    remarks_write(s);
    shepherd_hears(s->failure_fd, word, why);
    _exit(SHEPHERD_SETUP_EXIT);
}

_Noreturn void setup_fail(struct setup *s, const char *format, ...)
{
    struct str line = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&line, format, args);
    va_end(args);
    give_up(s, SETUP_FAILED, str_text(&line));
}

void groups_check(struct setup *s, int groups_why)
{
    char line[NOTE_DETAIL_BYTES];
    bool full = groups_why == STEP_CGROUP_FULL; /* by what runs: the node is well */
    if (!groups_why)
        return;
    snprintf(line, sizeof line, "cannot enter the step's control groups on %s: %s", s->plan->node,
             full ? "there are as many processes as may be" : strerror(groups_why));
    give_up(s, full ? SETUP_FULL : SETUP_UNFIT, line);
}

/* ---- limits and identity ---- */

static const struct {
    const char *name;
    int resource;
} limit_names[] = {
    {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
    {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
    {"STACK", RLIMIT_STACK},
};

/* One "NAME=value": the soft limit as it was where the job was submitted. The hard limit stays the
 * node daemon's: the value is the submitter's word, and it is for the site to say how much its
 * users may have. */
static void limit_set(struct span name, struct span value)
{
    for (size_t i = 0; i < ARRAY_LEN(limit_names); i++) {
        struct rlimit r;
        char text[24];
        if (!span_is_nocase(name, limit_names[i].name) ||
            getrlimit((__rlimit_resource_t)limit_names[i].resource, &r) != 0)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)value.len, value.data);
        rlim_t soft =
            strcmp(text, "unlimited") == 0 ? RLIM_INFINITY : (rlim_t)strtoull(text, NULL, 10);
        struct rlimit wanted = {soft > r.rlim_max ? r.rlim_max : soft, r.rlim_max};
        setrlimit((__rlimit_resource_t)limit_names[i].resource, &wanted);
    }
}

void limits_set(const char *text)
{
    struct span rest = span_of(text), piece, name;
    while (span_next(&rest, ',', &piece))
        if (span_next(&piece, '=', &name))
            limit_set(name, piece);
}

/* Folded numbers: "0-3,8". */
void affinity_set(const char *cpus)
{
    struct span rest = span_of(cpus), piece;
    cpu_set_t *set = CPU_ALLOC(CPU_SETSIZE * 8);
    size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);
    CPU_ZERO_S(size, set);
    while (span_next(&rest, ',', &piece)) {
        char text[32], *dash;
        snprintf(text, sizeof text, "%.*s", (int)piece.len, piece.data);
        long first = strtol(text, &dash, 10),
             last = *dash == '-' ? strtol(dash + 1, NULL, 10) : first;
        for (long c = first; c <= last && c < CPU_SETSIZE * 8; c++)
            CPU_SET_S((size_t)c, size, set);
    }
    if (CPU_COUNT_S(size, set) > 0)
        sched_setaffinity(0, size, set);
    CPU_FREE(set);
}

bool identity_become(const struct step_plan *p, const int *keep, size_t nkeep)
{
    ASSERT(p->groups.len % sizeof(gid_t) == 0);
    size_t n = p->groups.len / sizeof(gid_t);
    gid_t *groups = xcalloc(n + 1, sizeof *groups);
    if (n > 0)
        memcpy(groups, p->groups.data, n * sizeof *groups);
    descriptors_close_but(STDERR_FILENO + 1, keep, nkeep);
    /* The kernel forbids tracing after a change of identity by itself, unless fs.suid_dumpable says
     * otherwise. */
    if (p->switch_user && !plan_owner_is(p)) {
        free(groups);
        errno = EINVAL;
        return false;
    }
    bool ok = !p->switch_user || (setgroups(n, groups) == 0 &&
                                  setresgid((gid_t)p->gid, (gid_t)p->gid, (gid_t)p->gid) == 0 &&
                                  setresuid((uid_t)p->uid, (uid_t)p->uid, (uid_t)p->uid) == 0 &&
                                  prctl(PR_SET_DUMPABLE, 0) == 0);
    int saved = errno;
    if (ok && p->switch_user)
        keyring_have_own();
    free(groups);
    errno = saved;
    return ok;
}

/* ---- files
 * -------------------------------------------------------------------------------- */

static void parents_make(const char *path)
{
    char *copy = xstrdup(path);
    for (char *at = copy + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(copy, 0777);
        *at = '/';
    }
    free(copy);
}

int output_open(const char *path, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | flags, 0666);
    if (fd < 0 && errno == ENOENT) {
        parents_make(path);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | flags, 0666);
    }
    return fd;
}

/* Where relative paths start. */
void work_dir_enter(struct setup *s, const char *dir)
{
    dir = dir ? dir : "/";
    if (chdir(dir) == 0)
        return;
    struct str why = STR_INIT, odd = STR_INIT;
    str_addf(&why, "couldn't chdir to `%s': %s", dir, strerror(errno));
    s->astray = str_take(&why);
    remark(s, "%s: going to /tmp instead", s->astray);
    if (chdir("/tmp") != 0)
        setup_fail(s, "cannot use the work directory %s, nor /tmp: %s", dir, strerror(errno));
    str_addf(&odd, "%s on %s: it ran in /tmp there", s->astray, s->plan->node);
    setup_odd(s->failure_fd, str_text(&odd));
    str_done(&odd);
}

void file_place_check(struct setup *s, const char *what, const char *path)
{
    if (s->astray && path && path[0] != '/')
        setup_fail(s, "%s on %s, where the %s file %s was to be", s->astray, s->plan->node, what,
                   path);
}

void move_to(int fd, int to)
{
    if (fd == to)
        return;
    dup2(fd, to);
    close(fd);
}

/* Their parents handle no signal but SIGCHLD, which execve puts back. */
void signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void owner_become(struct setup *s, const char *rlimits, const int *keep, size_t n)
{
    const struct step_plan *p = s->plan;
    int all[8] = {s->failure_fd};
    CHECK(n < ARRAY_LEN(all));
    if (n > 0)
        memcpy(all + 1, keep, n * sizeof *keep);
    if (!identity_become(p, all, n + 1))
        setup_fail(s, "cannot become user %lld: %s", (long long)p->uid, strerror(errno));
    limits_set(rlimits);
}

void program_execute(const char *path, char *const argv[], char *const env[])
{
    struct shortage shortage = {0};
    do
        execve(path, argv, env);
    while (shortage_passes(&shortage));
}

/* ---- environment ---- */

bool env_has(char *const *env, size_t n, const char *assignment)
{
    size_t len = strcspn(assignment, "=");
    for (size_t i = 0; i < n; i++)
        if (strncmp(env[i], assignment, len) == 0 && env[i][len] == '=')
            return true;
    return false;
}

void env_add(struct env *e, const char *name, const char *value)
{
    struct str text = STR_INIT;
    str_addf(&text, "%s=%s", name, value);
    e->v[e->n++] = str_take(&text);
}

void path_add(struct env *e, const char *bin_dir, const char *path)
{
    struct str text = STR_INIT;
    if (bin_dir)
        str_addf(&text, "%s:", bin_dir);
    str_add(&text, path);
    env_add(e, "PATH", str_text(&text));
    str_done(&text);
}

void login_path_set(struct env *e, const char *node_dir)
{
    struct str path = STR_INIT;
    str_addf(&path, "%s/" LOGIN_PATH_FILE, node_dir);
    if (!env_has(e->v, e->n, "BASH_ENV=") && access(str_text(&path), R_OK) == 0)
        env_add(e, "BASH_ENV", str_text(&path));
    str_done(&path);
}

void env_drop(struct env *e, const char *assignment)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->v[i], assignment, strlen(assignment)) != 0)
            e->v[kept++] = e->v[i];
    e->n = kept;
}

/* A TMPDIR that is not there is made; one that cannot be is replaced, as Slurm does. */
void tmpdir_ensure(struct setup *s, struct env *e)
{
    const char *dir = NULL;
    struct stat st;
    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->v[i], "TMPDIR=", 7) == 0)
            dir = e->v[i] + 7;
    if (!dir || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)) || mkdir(dir, 0700) == 0)
        return;
    remark(s, "Unable to create TMPDIR [%s]: %s", dir, strerror(errno));
    remark(s, "Setting TMPDIR to /tmp");
    env_drop(e, "TMPDIR=");
    env_add(e, "TMPDIR", "/tmp");
}
