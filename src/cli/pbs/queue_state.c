/* qenable, qdisable, qstart, qstop: a queue takes jobs, and starts them, or not. */
#include "cli/pbs/queue_state.h"

#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "model/refusal.h"

#include <stdio.h>

int pbs_change_said(const char *command, const char *name, const struct msg_done *done)
{
    if (!done->refusal)
        return 0;
    bool denied = done->refusal == REFUSE_ACCESS_DENIED;
    fprintf(stderr, "%s: %s %s\n", command,
            denied                     ? "Unauthorized Request "
            : text_empty(done->detail) ? refusal_text((enum refusal)done->refusal)
                                       : done->detail,
            name);
    return denied ? PBS_DENIED : 1;
}

static enum part_state state_of(bool takes, bool starts)
{
    return takes && starts ? PART_UP : takes ? PART_DOWN : starts ? PART_DRAIN : PART_INACTIVE;
}

static bool with(enum pbs_switch to, bool is)
{
    return to == PBS_AS_IT_IS ? is : to == PBS_ON;
}

int pbs_queue_set(const char *command, struct client *c, const struct pbs_seen *s, const char *name,
                  enum pbs_switch enabled, enum pbs_switch started)
{
    const struct partition *p = pbs_queue_named(s, name);
    struct partition changed = {0};
    struct message answer;
    struct err e = {0};
    if (!p) {
        fprintf(stderr, "%s: Unknown queue %s\n", command, name);
        return PBS_UNKNOWN_QUEUE;
    }
    changed.name = p->name;
    changed.state = state_of(with(enabled, pbs_queue_takes(p)), with(started, pbs_queue_starts(p)));
    struct msg_update_partition m = {
        .name = p->name, .fields = "state", .values.v = &changed, .values.n = 1};
    if (!client_call(c, MSG_UPDATE_PARTITION, &m, 0, s->a, &answer, &e)) {
        fprintf(stderr, "%s: %s\n", command, e.text);
        return PBS_NO_CONTROLLER;
    }
    return pbs_change_said(command, name, answer.body);
}

/* ---- the commands ---- */

struct switching {
    VEC(const char *) queue;
    bool all;
};

static bool queue_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct switching *w = to;
    vec_push(&w->queue, arena_strdup(a, word));
    return true;
}

static const struct option_row rows[] = {
    {.name = "a", .doc = "all queues", .set = set_flag, .at = offsetof(struct switching, all)},
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
};
#define TABLE(name)                                                                                \
    OPTION_TABLE(name##_options, rows, .usage = #name " [OPTIONS] queue …", .words = WORDS_MIXED,  \
                 .word = queue_take, .one_dash = true)
TABLE(qenable);
TABLE(qdisable);
TABLE(qstart);
TABLE(qstop);

static int queues_set(const char *name, struct switching *w, struct arena *a,
                      enum pbs_switch enabled, enum pbs_switch started)
{
    struct pbs_seen seen = {.a = a};
    struct err e = {0};
    struct client *c = pbs_connect(name, state_dir_find(NULL, a));
    int status = c ? 0 : PBS_NO_CONTROLLER;
    if (c && !pbs_queues_read(c, &seen, &e)) {
        fprintf(stderr, "%s: %s\n", name, e.text);
        status = 1;
    }
    for (size_t i = 0; w->all && i < seen.queue.n; i++)
        vec_push(&w->queue, seen.queue.v[i]->name);
    for (size_t i = 0; !status && i < w->queue.n; i++)
        status = pbs_queue_set(name, c, &seen, w->queue.v[i], enabled, started);
    pbs_seen_done(&seen);
    if (c)
        client_close(c);
    return status;
}

static int run(const char *name, const struct option_table *t, int argc, char **argv,
               enum pbs_switch enabled, enum pbs_switch started)
{
    struct switching w = {0};
    struct arena *a = arena_new();
    int status;
    if (pbs_line_read(name, t, &w, a, argc, argv, &status)) {
        if (!w.queue.n && !w.all) {
            fprintf(stderr, "usage: %s\n", t->usage);
            status = PBS_USAGE;
        } else {
            status = queues_set(name, &w, a, enabled, started);
        }
    }
    vec_done(&w.queue);
    arena_free(a);
    return status;
}

int cmd_qenable(int argc, char **argv)
{
    return run("qenable", &qenable_options, argc, argv, PBS_ON, PBS_AS_IT_IS);
}

int cmd_qdisable(int argc, char **argv)
{
    return run("qdisable", &qdisable_options, argc, argv, PBS_OFF, PBS_AS_IT_IS);
}

int cmd_qstart(int argc, char **argv)
{
    return run("qstart", &qstart_options, argc, argv, PBS_AS_IT_IS, PBS_ON);
}

int cmd_qstop(int argc, char **argv)
{
    return run("qstop", &qstop_options, argc, argv, PBS_AS_IT_IS, PBS_OFF);
}
