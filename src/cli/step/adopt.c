/* remuda adopt: what sshd asks, through pam_exec, whether somebody may come in by ssh. Who has a
 * job on this node may, and what he does there is the job's: it is held to its cores, memory and
 * devices, is in its accounting, and ends with it.
 *
 * The session is put into a step of the job, queued as the user by srun --async, so that the
 * controller, the node and the books treat it as any other. Its one task, the keeper, is this
 * program again (--keep): it connects to us, which tells its process as the kernel knows it, and
 * stays, once we have ended, until nobody else is left in its control groups. We put sshd's
 * process of the session, which is our parent, into these groups; what that starts is born there.
 *
 * Nothing that the user could say is believed: the keeper's process and user come from the kernel,
 * and its groups have to be of a job. He could at most name another process of a job of his. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/submit/host.h"
#include "io/process/groups.h"
#include "model/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME            "remuda adopt"
#define ADDRESS_BYTES   16 /* of a random name, which nobody guesses in the seconds it is used */
#define KEEPER_WAIT_MS  15000
#define LOOK_SECONDS    1
#define EMPTY_LOOKS     3  /* in a row: the session is over */
#define ARRIVAL_SECONDS 60 /* and one whose asker hangs is given up */
#define PROCESSES_MAX   65536

enum action { ACTION_UNSET, ACTION_ALLOW, ACTION_DENY, ACTION_NEWEST };

struct adopt_line {
    const char *state_dir, *keep;
    int32_t no_jobs, unknown, failure;
};

/* ---- the line ------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum action action;
} action_words[] = {{"allow", ACTION_ALLOW},
                    {"ignore", ACTION_ALLOW},
                    {"deny", ACTION_DENY},
                    {"newest", ACTION_NEWEST}};

/* Words of the actions up to row->max. */
static SETTER(set_action)
{
    (void)env;
    (void)a;
    for (size_t i = 0; i < ARRAY_LEN(action_words); i++)
        if (text_is_nocase(value, action_words[i].word) && action_words[i].action <= row->max) {
            *(int32_t *)((char *)to + row->at) = action_words[i].action;
            return true;
        }
    return err_set(ret_err, ERR_VALUE, "--%s is %s; not \"%s\"", row->name, row->metavar, value);
}

#define ADOPT_ACTION(name_, metavar_, doc_, member_, max_)                                         \
    OPT_VALUE(name_, 0, metavar_, doc_, set_action, offsetof(struct adopt_line, member_),          \
              .max = (max_))

static const struct option_row rows[] = {
    ADOPT_ACTION("action-adopt-failure", "allow|deny",
                 "a session that cannot be put into the job; default deny", failure, ACTION_DENY),
    ADOPT_ACTION("action-no-jobs", "deny|ignore", "who has no job on this node; default deny",
                 no_jobs, ACTION_DENY),
    ADOPT_ACTION("action-unknown", "newest|allow|deny",
                 "who has several jobs here: into the one that started last (the default), into "
                 "none, or not in",
                 unknown, ACTION_NEWEST),
    OPT_VALUE("keep", 0, "address", "the step's task: stays while the session lasts", set_any_text,
              offsetof(struct adopt_line, keep), .hidden = true),
    OWN_STATE(struct adopt_line),
    OWN_HELP,
};
OPTION_TABLE(adopt_options, rows, .usage = "remuda adopt [OPTIONS]",
             .about = "  For /etc/pam.d/sshd:  account required pam_exec.so stdout "
                      "/usr/local/bin/remuda adopt\n"
                      "  Lets users in by ssh who have a job on this node, and puts their session "
                      "into it. See docs/ssh.md.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* ---- the keeper: the task of the session's step --------------------------------------------- */

static socklen_t address_make(const char *name, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, "remuda-adopt-%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

struct census {
    pid_t before[PROCESSES_MAX]; /* who was there when the keeper came: the step's own */
    size_t nbefore, others;
    bool first;
    bool ends; /* the others are told to end */
};

static bool was_before(const struct census *c, pid_t pid)
{
    for (size_t i = 0; i < c->nbefore; i++)
        if (c->before[i] == pid)
            return true;
    return false;
}

/* Of sshd's, which is root's, nothing is known here: it ends when the shell has. */
static void other_see(struct census *c, pid_t pid)
{
    c->others++;
    if (c->ends) {
        kill(pid, SIGHUP);
        kill(pid, SIGTERM);
        kill(pid, SIGCONT);
    }
}

/* Of one group is enough: a session is in all of them or in none. */
static bool group_count(void *ctx, const char *dir)
{
    struct census *c = ctx;
    struct str path = STR_INIT;
    long pid;
    str_addf(&path, "%s/cgroup.procs", dir);
    FILE *from = fopen(str_text(&path), "re");
    c->others = 0;
    while (from && fscanf(from, "%ld", &pid) == 1)
        if (c->first && c->nbefore < PROCESSES_MAX)
            c->before[c->nbefore++] = (pid_t)pid;
        else if (!was_before(c, (pid_t)pid))
            other_see(c, (pid_t)pid);
    if (from)
        fclose(from);
    str_done(&path);
    return false;
}

static volatile sig_atomic_t told_to_end;

static void end_told(int signal)
{
    (void)signal;
    told_to_end = 1;
}

/* What the job is sent (scancel -s, --signal=) is for its tasks, and not for who looks at them. */
static void signals_pass(void)
{
    for (int i = 1; i < SIGSYS; i++)
        if (i != SIGCHLD && i != SIGCONT)
            signal(i, SIG_IGN); /* SIGKILL and SIGSTOP do not care */
    signal(SIGTERM, end_told);
}

/* The job ends: the session has as long as any task, KillWait, until SIGKILL comes. One may be over
 * before anybody looked: who asks writes nothing, and ends when it is in the groups or will not be.
 */
static void session_wait(struct census *c, int asker)
{
    struct pollfd asks = {.fd = asker, .events = POLLIN};
    struct err err = {0};
    unsigned empty = 0, seconds = 0;
    bool came = false;
    while (empty < EMPTY_LOOKS && (came || seconds < ARRIVAL_SECONDS)) {
        sleep(LOOK_SECONDS); /* a signal ends that */
        seconds += LOOK_SECONDS;
        c->ends = told_to_end;
        bool ended = poll(&asks, 1, 0) == 1; /* asked before we look */
        if (!groups_of_process(getpid(), group_count, c, &err))
            return;
        if (c->ends && !c->others)
            return;
        came = came || c->others || ended;
        empty = came && !c->others ? empty + 1 : 0;
    }
}

static int keep(const char *name)
{
    struct sockaddr_un to;
    socklen_t len = address_make(name, &to);
    struct census *c = calloc(1, sizeof *c);
    struct err err = {0};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 1;
    if (c && fd >= 0) {
        signals_pass();
        c->first = true;
        groups_of_process(getpid(), group_count, c, &err);
        c->first = false;
        if (connect(fd, (struct sockaddr *)&to, len) == 0) {
            session_wait(c, fd);
            status = 0;
        }
    }
    if (fd >= 0)
        close(fd);
    free(c);
    return status;
}

/* ---- whose job ------------------------------------------------------------------------------ */

struct adopt_search {
    struct client *c;
    const struct passwd *user;
    struct arena *a;
    const char *hostname;
    struct hostlist here; /* names of this host's nodes */
    struct job job;       /* that started last, of njobs */
    const char *node;     /* of its nodes one that is here */
    size_t njobs;
};

static void node_see(void *ctx, const void *record)
{
    struct adopt_search *s = ctx;
    const struct node *n = record;
    if (node_is_here(n, s->hostname))
        hostlist_add(&s->here, n->name);
}

static const char *node_of(struct adopt_search *s, const char *nodes)
{
    struct hostlist list = HOSTLIST_INIT;
    const char *found = NULL;
    if (hostlist_parse(&list, nodes, NULL))
        for (size_t i = 0; !found && i < s->here.n; i++)
            if (hostlist_has(&list, s->here.name[i]))
                found = arena_strdup(s->a, s->here.name[i]);
    hostlist_done(&list);
    return found;
}

static void job_see(void *ctx, const void *record)
{
    struct adopt_search *s = ctx;
    const struct job *j = record;
    const char *node = text_empty(j->nodes) ? NULL : node_of(s, j->nodes);
    if (!node || j->user_id != s->user->pw_uid)
        return;
    if (!s->njobs++ || j->start_us > s->job.start_us) {
        s->job = *j;
        s->node = node;
    }
}

static bool jobs_find(struct adopt_search *s, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query nodes = {.what = QUERY_NODES, .fields = "name,hostname,is_virtual"};
    if (!client_query(s->c, &nodes, &node_fields, s->a, node_see, s, &done, ret_err))
        return false;
    struct msg_query jobs = {.what = QUERY_JOBS,
                             .uids = arena_printf(s->a, "%u", (unsigned)s->user->pw_uid),
                             .states = "RUNNING",
                             .fields = "id,user_id,nodes,start_us,state"};
    return client_query(s->c, &jobs, &job_fields, s->a, job_see, s, &done, ret_err);
}

/* ---- into it -------------------------------------------------------------------------------- */

static bool become(const struct passwd *u)
{
    return initgroups(u->pw_name, u->pw_gid) == 0 &&
           setresgid(u->pw_gid, u->pw_gid, u->pw_gid) == 0 &&
           setresuid(u->pw_uid, u->pw_uid, u->pw_uid) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* In the child: srun --async, as the user, with an environment that is ours. It is in sshd's
 * control groups: were it executed anew, other processes of his could take it over and be in no
 * job (io/process/become.h). */
static void __attribute__((noreturn))
step_ask(const struct adopt_search *s, const char *state_dir, const char *name, struct arena *a)
{
    const char *self = arena_printf(a, "%s/remuda", program_dir(a));
    char *argv[] = {"srun",
                    "--async",
                    "--quiet",
                    "--overlap",
                    "--nodes=1",
                    "--ntasks=1",
                    "--input=none",
                    "--output=none",
                    "--error=none",
                    "--job-name=ssh",
                    "--chdir=/",
                    arena_printf(a, "--jobid=%llu", (unsigned long long)s->job.id),
                    arena_printf(a, "--nodelist=%s", s->node),
                    (char *)self,
                    "adopt",
                    arena_printf(a, "--keep=%s", name),
                    NULL};
    const char *const env[][2] = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                  {"HOME", s->user->pw_dir},
                                  {"USER", s->user->pw_name},
                                  {"REMUDA_STATE", state_dir}};
    int null = open("/dev/null", O_RDWR);
    bool ok = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
              close_range(STDERR_FILENO + 1, ~0u, 0) == 0 && clearenv() == 0;
    for (size_t i = 0; ok && i < ARRAY_LEN(env); i++)
        ok = setenv(env[i][0], env[i][1], 1) == 0;
    _exit(ok && chdir("/") == 0 && become(s->user) ? cmd_srun((int)ARRAY_LEN(argv) - 1, argv)
                                                   : 127);
}

static int listen_at(const char *name)
{
    struct sockaddr_un at;
    socklen_t len = address_make(name, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 4) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The keeper's process, as the kernel tells it; others that connect are passed over. -1: it did not
 * come. The connection stays open: it is closed by our end. */
static pid_t keeper_wait(int listener, uid_t uid)
{
    int64_t until = now_ms() + KEEPER_WAIT_MS, left;
    while ((left = until - now_ms()) > 0) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        struct ucred who;
        socklen_t len = sizeof who;
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == uid)
            return who.pid;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static bool name_make(char name[2 * ADDRESS_BYTES + 1])
{
    unsigned char bytes[ADDRESS_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(name + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool step_begin(const struct adopt_search *s, const char *state_dir, const char *name,
                       struct err *ret_err)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        step_ask(s, state_dir, name, s->a);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot start srun: %s", strerror(errno));
    return status == 0 || err_set(ret_err, ERR_UNAVAILABLE, "no step could be made in job %llu",
                                  (unsigned long long)s->job.id);
}

static bool adopt(const struct adopt_search *s, pid_t session, const char *state_dir,
                  struct err *ret_err)
{
    char name[2 * ADDRESS_BYTES + 1];
    int listener = name_make(name) ? listen_at(name) : -1;
    if (listener < 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot listen: %s", strerror(errno));
    pid_t keeper =
        step_begin(s, state_dir, name, ret_err) ? keeper_wait(listener, s->user->pw_uid) : 0;
    close(listener);
    if (keeper < 0)
        err_set(ret_err, ERR_UNAVAILABLE, "the step of the session did not start within %d s",
                KEEPER_WAIT_MS / 1000);
    if (keeper <= 0)
        return false;
    if (getppid() != session)
        return err_set(ret_err, ERR_UNAVAILABLE, "who asked is gone");
    return groups_enter(session, keeper, s->user->pw_uid, ret_err);
}

/* ---- what sshd is told ---------------------------------------------------------------------- */

static int decide(bool allowed)
{
    return allowed ? 0 : 1;
}

static int told(const struct adopt_line *o, struct adopt_search *s, pid_t session,
                const char *state_dir)
{
    struct err err = {0};
    const char *host = submit_hostname(s->a);
    if (!jobs_find(s, &err) || (s->njobs == 1 || (s->njobs && o->unknown == ACTION_NEWEST)
                                    ? !adopt(s, session, state_dir, &err)
                                    : false)) {
        printf("%s: %s: %s\n", host,
               o->failure == ACTION_ALLOW ? "this session is in no job" : "access denied",
               err.text);
        return decide(o->failure == ACTION_ALLOW);
    }
    if (!s->njobs) {
        if (o->no_jobs != ACTION_ALLOW)
            printf("%s: access denied: you have no job that runs on this node\n", host);
        return decide(o->no_jobs == ACTION_ALLOW);
    }
    if (s->njobs > 1 && o->unknown == ACTION_DENY)
        printf("%s: access denied: you have %zu jobs on this node\n", host, s->njobs);
    return decide(s->njobs == 1 || o->unknown != ACTION_DENY);
}

static void defaults_set(struct adopt_line *o)
{
    o->no_jobs = o->no_jobs ? o->no_jobs : ACTION_DENY;
    o->failure = o->failure ? o->failure : ACTION_DENY;
    o->unknown = o->unknown ? o->unknown : ACTION_NEWEST;
}

/* What pam_exec says of who asks. */
struct adopt_asker {
    const char *type, *user; /* NULL: nobody */
};

static int ask(struct adopt_line *o, const struct adopt_asker *who, struct arena *a)
{
    const pid_t session = getppid();
    struct adopt_search s = {.a = a, .hostname = submit_hostname(a), .here = HOSTLIST_INIT};
    struct err err = {0};
    if (!who->type || !who->user || geteuid() != 0) {
        err_set(&err, ERR_USAGE,
                geteuid() ? "for root: sshd asks, through pam_exec"
                          : "PAM_TYPE and PAM_USER say who asks: this is for pam_exec");
        return own_line_failed(NAME, &err);
    }
    if (!text_is(who->type, "account") || session <= 1)
        return 0;
    defaults_set(o);
    errno = 0;
    s.user = getpwnam(who->user);
    if (!s.user && has_no_room(errno))
        err_set(&err, ERR_UNAVAILABLE, "cannot read who the users are: %s", strerror(errno));
    else if (!s.user || s.user->pw_uid == 0) /* of who may be root, or is nobody, PAM decides */
        return s.user ? 0 : 1;
    const char *dir = state_dir_find(o->state_dir, a);
    s.c = s.user ? cluster_reach(dir, &err) : NULL;
    if (!s.c) {
        printf("%s: %s\n", s.hostname, err.text);
        return decide(o->failure == ACTION_ALLOW);
    }
    int status = told(o, &s, session, dir);
    client_close(s.c);
    hostlist_done(&s.here);
    return status;
}

int cmd_adopt(int argc, char **argv)
{
    struct adopt_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &adopt_options, .to = &o, .a = a};
    const char *type = getenv("PAM_TYPE"), *user = getenv("PAM_USER");
    const struct adopt_asker who = {type ? arena_strdup(a, type) : NULL,
                                    user ? arena_strdup(a, user) : NULL};
    int status;
    /* A user may have had a say in the rest (~/.pam_environment), and name a cluster of his. */
    clearenv();
    if (own_line_read(NAME, &line, argc, argv, &status))
        status = o.keep ? keep(o.keep) : ask(&o, &who, a);
    arena_free(a);
    return status;
}
