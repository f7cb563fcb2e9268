/* Who holds a device: processes that have its file open, from /proc, and which of them
 * stand against giving it to somebody else. */
#ifndef REMUDA_NODE_HARDWARE_GPU_HOLDERS_H
#define REMUDA_NODE_HARDWARE_GPU_HOLDERS_H

#include "node/cgroup/device_filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gpu_holders; /* opaque */

struct gpu_holder {
    pid_t pid;
    uid_t uid;        /* also of one that is closed to others; whose it is, see below */
    int64_t start_us; /* wall clock, within two seconds; 0 = not known */
    /* It is a job's of ours, by its shepherd, else by its control group or its environment: which
     * (0: not known which). */
    int64_t job_id;
    bool of_job;
    bool below_shepherd; /* of that step whoever's it is: containers number users anew */
    bool only_says;      /* no shepherd is above it, nor a group about it */
    bool sees_all;       /* it is below a shepherd, and nothing of this node's hides GPUs from it */
    char step[64];       /* the directory of its step, "7.1.batch"; "" = not known */
    char name[32];       /* as the kernel calls it; letters of ASCII */
};

/* What was read of processes, so that it is read once; and whose environments do not come
 * back. Of one thread. */
struct gpu_holders *gpu_holders_new(void);
void gpu_holders_free(struct gpu_holders *m); /* NULL is fine */
/* The directory of this node's steps: what is below others' shepherds is outside of its jobs. */
void gpu_holders_steps_at(struct gpu_holders *m, const char *dir);
/* All but that is read anew, as numbers of processes are used again. */
void gpu_holders_forget(struct gpu_holders *m);
/* The same, and a round begins: environments have three seconds in each, all together. */
void gpu_holders_round(struct gpu_holders *m);

/* False if there is no such process (any more). Comes back soon whatever its owner does; a process
 * below no shepherd whose environment does not come in time says nothing, nor do others of its
 * user's for ten seconds, nor those of a user whose took more than a second of a round: then it is
 * a job's only by its control group. */
bool gpu_holder_find(struct gpu_holders *m, pid_t pid, struct gpu_holder *ret);
/* Whose it is: the directory is root's in /proc where its owner closed its memory to others, and a
 * number in a user namespace is the user's who made that; and how many threads it has (0: not
 * known). False if there is no such process. */
bool gpu_holder_user(pid_t pid, uid_t *ret, unsigned *ret_threads);

/* Has fn(ctx) called on a thread, as a process of this user's may keep whoever asks it for as long
 * as it likes, and waits until then. True: it has come back. False: it has not, or is not called,
 * since something of his did not come back within the last ten seconds; then ctx, from xmalloc, is
 * no more the caller's. */
bool gpu_holders_ask(struct gpu_holders *m, uid_t uid, int64_t until_ms, void (*fn)(void *ctx),
                     void *ctx);

/* What the device was used for last. */
struct gpu_held_use {
    uint64_t job_id; /* 0 = not known */
    uid_t uid;
    int64_t from_us; /* 0 = not known */
};

/* What is known of a process and a device. */
enum gpu_holding {
    GPU_COMPUTES,
    GPU_OPEN, /* it has its file open */
    /* The same, and no step could have opened that file but those that have the device. */
    GPU_OPEN_APART,
};

/* Does the process stand against giving the device to somebody else? What computes on it does, but
 * for services of the system (of root, where the job was somebody else's) and processes that were
 * there before the job had the device; where it is not known who had it, a job's processes do, and
 * others if the daemon serves many users. A process that only has its file open does if it is of
 * the job that had it: libraries open the files of all devices that they can see; and of any job,
 * whoever's, where steps are kept apart: then it was sent the open file. One that only says that
 * it is of another job, or has left its groups, does as its user's. */
bool gpu_holder_counts(const struct gpu_holder *h, const struct gpu_held_use *use,
                       enum gpu_holding how, bool many_users);

/* Is it of one of these steps ("7.1.0@1000+7.1.batch+8.1.*", with their users where these are
 * known), which go on? Another user's process is not, whatever it says, unless it is below the
 * step's shepherd. Of a job's process that does not tell its step, or its job, or tells the number
 * of its job alone, which its user may have set to any, and where nothing tells whether it is a
 * job's, that is taken to be so: what stays is found at the latest when the job ends. */
bool gpu_holder_goes_on(const struct gpu_holder *h, const struct gpu_held_use *use,
                        const char *steps);

#define GPU_FILES_MAX 512u

struct gpu_holders_ask {
    const struct device_number *files;
    size_t n; /* of `files`; GPU_FILES_MAX at most */
    const uid_t *users;
    size_t nusers;       /* of `users` */
    int64_t wait_ms;     /* no longer than this, all of them together */
    const uid_t *others; /* too, as far as there is time: what is not seen of them is not told */
    size_t nothers;      /* of `others` */
};

/* Was all looked through that may hold a device, of a user's? */
enum gpu_holders_cut {
    GPU_HOLDERS_ALL,
    GPU_HOLDERS_CUT_USER,   /* there was not time enough for what he has open */
    GPU_HOLDERS_CUT_SYSTEM, /* nor for what root has, or for the processes that there are */
};

/* Calls fn for each process but this one, of these users, those others or root, that has some of
 * these device files open, and each such file. What is nobody's of them is not looked at, for that
 * may be very much. What of these users' may be more than there is time for: ret_cut, `nusers` of
 * them, says of whom. A user may be there more than once. */
void gpu_holders_each(
    struct gpu_holders *m, const struct gpu_holders_ask *ask, enum gpu_holders_cut *ret_cut,
    void (*fn)(void *ctx, const struct gpu_holder *h, const struct device_number *file), void *ctx);

#endif
