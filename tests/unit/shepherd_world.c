#include "scratch.h"

#include "shepherd_world.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"
#include "node/step/notes_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 10000

static const char *in_dir(struct herd_world *w, const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    return path;
}

void world_begin(struct herd_world *w)
{
    memset(w, 0, sizeof *w);
    scratch_make(w->dir, sizeof w->dir, "shepherd");
    chmod(w->dir, 0755);
    assert_int_equal(mkdir(in_dir(w, "steps"), 0755), 0);
    snprintf(w->out, sizeof w->out, "%s/out", w->dir);
    w->steps = open(in_dir(w, "steps"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->listening = notes_listen(w->steps);
    assert_true(w->listening >= 0);
    world_serve(w);
}

/* REMUDA_SHEPHERD names it, else it is where it was built, beside tests/. */
static const char *shepherd_program(void)
{
    static char path[4200];
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    if (getenv("REMUDA_SHEPHERD"))
        return getenv("REMUDA_SHEPHERD");
    path[n > 0 ? n : 0] = '\0';
    *strrchr(path, '/') = '\0';
    strcat(path, "/../../src/node/remuda-shepherd");
    return path;
}

void world_serve(struct herd_world *w)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    w->parent = fork();
    if (w->parent == 0) {
        dup2(pair[1], 3);
        execl(shepherd_program(), "remuda-shepherd", w->dir, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    w->plans = pair[0];
}

void world_stop_serving(struct herd_world *w)
{
    int status;
    close(w->plans);
    assert_int_equal(waitpid(w->parent, &status, 0), w->parent);
    assert_int_equal(status, 0);
}

static void alive_kill(void *ctx, const struct note *n)
{
    struct step_command c = {.op = COMMAND_TERMINATE};
    (void)ctx;
    /* It may have ended by itself since it was seen. */
    if (n->kind == NOTE_STARTED && sigqueue((pid_t)n->pid, COMMAND_SIGNAL, command_value(&c)) != 0)
        assert_int_equal(errno, ESRCH);
}

/* A test that failed may have left steps. */
static void steps_end(struct herd_world *w)
{
    DIR *dir = opendir(in_dir(w, "steps"));
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.' && step_dir_alive(w->steps, e->d_name))
            step_dir_notes(w->steps, e->d_name, alive_kill, w);
    if (dir)
        closedir(dir);
}

void world_end(struct herd_world *w)
{
    steps_end(w);
    world_stop_serving(w);
    for (size_t i = 0; i < w->nnotes; i++)
        close(w->notes[i]);
    close(w->listening);
    close(w->steps);
    free(w->cgroups);
    assert_int_equal(scratch_remove(w->dir), 0);
}

struct step_plan world_plan(struct herd_world *w, int64_t id, const char *script)
{
    static char text[4096], name[64];
    static const char env[] = "PATH=/usr/bin:/bin\0SLURM_JOB_ID=1";
    snprintf(text, sizeof text, "#!/bin/bash\n%s\n", script);
    struct str dir = STR_INIT;
    step_dir_name((uint64_t)id, 1, -1, &dir);
    snprintf(name, sizeof name, "%s", str_text(&dir));
    str_done(&dir);
    return (struct step_plan){
        .job_id = id,
        .attempt = 1,
        .step_id = -1,
        .dir_name = name,
        .node = "n1",
        .uid = getuid(),
        .gid = getgid(),
        .work_dir = w->dir,
        .std_out = w->out,
        .cgroups = w->cgroups,
        .script = {text, strlen(text)},
        .env = {env, sizeof env},
    };
}

void world_send(struct herd_world *w, const struct step_plan *p)
{
    struct str out = STR_INIT;
    step_plan_encode(p, &out);
    for (size_t at = 0; at < out.len;) {
        ssize_t n = write(w->plans, out.data + at, out.len - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    str_done(&out);
}

static bool note_take(struct herd_world *w, struct note *ret)
{
    char *end = memchr(w->pending, '\n', w->npending);
    if (!end)
        return false;
    assert_true(note_parse((struct span){w->pending, (size_t)(end - w->pending)}, ret));
    w->npending -= (size_t)(end + 1 - w->pending);
    memmove(w->pending, end + 1, w->npending);
    return true;
}

/* What came by one connection; one that ended is forgotten. */
static void notes_read(struct herd_world *w, size_t i)
{
    struct notes_sender who;
    ssize_t n =
        notes_receive(w->notes[i], w->pending + w->npending, sizeof w->pending - w->npending, &who);
    if (n == 0) {
        close(w->notes[i]);
        w->notes[i] = w->notes[--w->nnotes];
        return;
    }
    assert_true(n > 0);
    assert_int_equal(who.uid, geteuid());
    w->npending += (size_t)n;
}

static bool note_next(struct herd_world *w, int ms, struct note *ret)
{
    while (!note_take(w, ret)) {
        struct pollfd ready[ARRAY_LEN(w->notes) + 1] = {{.fd = w->listening, .events = POLLIN}};
        size_t n = w->nnotes;
        for (size_t i = 0; i < n; i++)
            ready[i + 1] = (struct pollfd){.fd = w->notes[i], .events = POLLIN};
        if (poll(ready, n + 1, ms) <= 0)
            return false;
        if (ready[0].revents) {
            assert_true(w->nnotes < ARRAY_LEN(w->notes));
            w->notes[w->nnotes++] = notes_accept(w->listening);
        }
        for (size_t i = n; i > 0; i--)
            if (ready[i].revents)
                notes_read(w, i - 1);
    }
    return true;
}

struct note world_note(struct herd_world *w)
{
    struct note n;
    if (!note_next(w, WAIT_MS, &n))
        fail_msg("no note came");
    return n;
}

struct note world_wait(struct herd_world *w, enum note_kind kind)
{
    struct note n;
    do
        n = world_note(w);
    while (n.kind != kind);
    return n;
}

bool world_quiet(struct herd_world *w, int ms)
{
    struct note n;
    return !note_next(w, ms, &n);
}

void world_command(struct herd_world *w, pid_t shepherd, const struct step_command *c)
{
    (void)w;
    union sigval v = command_value(c);
    assert_int_equal(sigqueue(shepherd, COMMAND_SIGNAL, v), 0);
}

const char *world_file(const char *path)
{
    static char *text;
    struct str s = STR_INIT;
    small_file_read(AT_FDCWD, path, 1 << 20, &s);
    free(text);
    text = str_take(&s);
    return text;
}

const char *world_output(struct herd_world *w)
{
    return world_file(w->out);
}
