/* The node daemon put together: the agent and what carries out its effects. Private to node/. */
#ifndef REMUDA_NODE_DAEMON_DAEMON_H
#define REMUDA_NODE_DAEMON_DAEMON_H

#include "agent/agent.h"
#include "base/arena.h"
#include "base/vec.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/net/link.h"
#include "io/process/daemon.h"
#include "io/process/spawn.h"
#include "node/cgroup/base.h"
#include "node/daemon/herd.h"
#include "node/daemon/launch.h"
#include "node/daemon/output_ask.h"
#include "node/daemon/programs.h"
#include "node/daemon/series_feed.h"
#include "node/hardware/gpu_watch.h"
#include "node/hardware/machine.h"
#include "node/step/owner.h"

struct node_options {
    const char *state_dir, *name;
    bool is_virtual, foreground, verbose, print_config, watch_gpus, find;
};

/* A note or the end of a program, waiting for its turn. */
struct node_input {
    enum agent_event_kind kind;
    struct note note;
    bool ok;
    char *text;
};

struct node_daemon {
    struct node_options options;
    struct arena *arena; /* texts that live as long as the daemon */
    struct pid_file pid_file;
    struct loop *loop;
    struct log *log;
    struct agent *agent;           /* what happens, and only there */
    struct agent_effects fx;       /* of the event at hand */
    uint64_t turns;                /* how many events there were */
    struct arena *turn;            /* emptied after each event */
    VEC(struct node_input) inputs; /* that came while it was stepping */
    bool stepping;
    struct waiting_job *starting; /* carry.c: jobs whose owners are looked up */
    struct link *link;            /* to the controller */
    struct herd_link *herd;       /* shepherds: who runs, who speaks */
    struct owners *owners;
    struct programs *programs;
    struct output_asker *outputs;
    struct gpu_watch *gpus; /* the helper; NULL = no GPUs are watched */
    struct series_feed *series;
    struct timer *wake;
    struct machine machine; /* what was found at the start */
    struct spawn *find;     /* that looks for the devices anew; NULL = none */
    bool find_again;        /* when it has ended */
    /* Places of which an operator knew that nothing is there when he wanted the node as it is, as
     * devices are written; NULL = none. */
    const char *find_accepts;
    bool find_quiet; /* nobody asked for it */
    struct timer *find_timer;
    /* a GPU was found at each of these places, as model/grammar/gres.h writes devices; NULL =
     * none. */
    const char *expected;
    /* Devices of an earlier daemon whose steps go on, while no GPU was found since; NULL = none. */
    const char *numbers, *numbers_files; /* and their files, as in machine.h */
    const char *given_up;        /* likewise: nothing is there, and an operator said RESUME */
    unsigned find_tries;         /* of find_timer */
    struct gpu_letting *letting; /* processes that had the GPUs open, and end; NULL = none do */
    bool keeps_gone;             /* a device is in the list only because a step still has it */
    struct launch_site site;
    struct cgroup_bases groups;
    const char *known_groups; /* of earlier starts too */
    const char *isolation;    /* what jobs are held to here, in words */
    const char *life;         /* names the boot and the directory; NULL = not known */
    bool life_is_new;         /* the directory had no name yet */
};

/* daemon/options.c: the command line. --print-config: what this machine is, as a line of the
 * configuration; the exit status. */
bool node_options_read(int argc, char **argv, struct node_options *o, struct err *ret_err);
/* `slurmd -C`: this machine as a line of the configuration. Returns the exit code. */
int node_config_print(const struct node_options *o);
/* STATE/gres.conf; NULL = there is no state directory. */
const char *node_gres_conf(const struct node_options *o, struct arena *a);

/* daemon/site.c: the record of this node as it reports itself, with texts of the daemon's. */
struct node node_self(const struct node_daemon *d);
/* Makes the control groups and fills d->site. */
void node_site_fill(struct node_daemon *d, const char *node_dir);

/* The devices among it, which may have changed. */
void node_site_devices(struct node_daemon *d);

/* find.c: which devices there are, anew; nothing if they are released, or the node is virtual.
 * accepts: what was missed already, and those of these numbers ("2,3", or NULL), are not missed any
 * more if they are not there. */
void node_devices_find(struct node_daemon *d, bool accepts, const char *gone);
/* The same if nobody has any more what is kept in the list for its user alone. */
void node_devices_find_gone(struct node_daemon *d);
/* Has it done each minute while something stands against using them, every fifth for what was given
 * up. */
void node_devices_watch(struct node_daemon *d);
/* The process that looks: `remudad node --find`, with the known devices as its input. */
int node_devices_find_main(const struct node_options *o);
/* Into known and known_files: what an earlier daemon of the node gave numbers to, if steps of it go
 * on. Before the devices are found. */
void node_devices_known(struct node_daemon *d, const char *node_dir, struct machine_ask *ask);
/* Once they were found: says what is missed, keeps them for the next daemon. */
void node_devices_begin(struct node_daemon *d);

/* gpu_numbers.c: the GPU of that number; NULL = none. */
const struct device *gpu_of_number(const struct device_list *list, int32_t index);
/* Why the daemon cannot go by what was found: the number of a GPU that a step has would be another
 * one's. In the arena; NULL: it can. */
const char *gpu_number_lost(const struct node_daemon *d, const struct machine *found,
                            struct arena *a);

/* gpu_release.c: lets go of the GPUs if an administrator wants that, takes them up again if he does
 * not any more. At the start, and on SIGUSR1; ctx is the daemon. */
void node_gpus_release(void *ctx);
/* Nobody's end is waited for any more. */
void node_gpus_release_end(struct node_daemon *d);
/* Says in NODE/protocol "PID PROTOCOL": this process takes SIGUSR1 for a word about its GPUs. */
void node_gpus_releasable(const struct node_daemon *d);

/* Steps the agent with one event, which gets its times here, carries out the effects, and whatever
 * came of them. May be called while it is at work: the event waits. */
void node_event(struct node_daemon *d, const struct agent_event *ev);
/* A shepherd said something: an event of the agent, and what follows. */
void node_note(struct node_daemon *d, const struct note *n);
/* One effect of the agent, outside. */
void node_carry_out(struct node_daemon *d, const struct agent_effect *e);

#endif
