/* Steps of one job know of each other by the file "memory" in their directories: "BYTES EXACT",
 * EXACT 1 when the bytes count what is shared in parts. A sum with inexact parts may be too high;
 * each shepherd that sees a sum over the limit measures its own part exactly, so after one more
 * sample of each, or after several where its processes are large, the sum is true. What was found
 * counts until it is found anew: two that take several would never know it in the same one. */
#include "node/shepherd/watch/memory_watch.h"

#include "base/alloc.h"
#include "node/shepherd/apart.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1 << 20)
/* Finding out what a process has takes a twentieth of a second for each GiB at most, and four times
 * that where others are busy on the same processor. */
#define MIB_A_MS       5
#define SHARE_LEAST_MS 1000 /* and that may be another's for a while */
#define SHARE_WAIT_MS  5000
/* Of one sample; where its first may take longer by itself, that and something to tell that it was
 * late. The step's other business waits so long. */
#define SHARES_WAIT_MS 10000
#define FIRST_MOST_MS  60000
#define FIRST_MORE_MS  500
#define SUM_LEAST_MS   5000
#define SUM_EACH_MS    5
/* Whatever they seem to have, by memory that they map in common; but what an idle processor takes
 * for it they have. */
#define SUM_MOST_MS   120000
#define MIB_A_MS_IDLE 20
#define DOUBTS_MOST   2 /* who begins processes all the time is not let go on for ever */

struct memory_part {
    long long bytes;
    int exact;
};

/* Of processes whose share is not known yet: who is asked, and for how long. */
struct shares_ask {
    struct memory_share *who;
    int *each_ms;
    int64_t *share;
    size_t n;
    int64_t may_ms; /* for the whole sum */
};

static int64_t share_of(const void *ctx, size_t i)
{
    const struct memory_share *who = ctx;
    return proc_share_bytes(who[i].pid);
}

/* 0 if it is gone. */
static int64_t seeming_bytes(pid_t pid)
{
    struct proc_usage u;
    return proc_usage(pid, &u) ? u.rss_bytes : 0;
}

static void shares_forget(struct memory_shares *s)
{
    vec_done(&s->of);
    s->asked_ms = s->sum = s->sum_rss = 0;
    s->newest = s->doubts = 0;
}

static uint64_t newest_of(const struct memory_processes *of)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < of->n; i++)
        newest = of->starts[i] > newest ? of->starts[i] : newest;
    return newest;
}

static int by_pid(const void *one, const void *other)
{
    const struct memory_share *a = one, *b = other;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static int64_t lesser(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static void share_keep(struct memory_shares *known, const struct memory_share *who, int64_t bytes)
{
    bytes = bytes > 0 ? bytes : 0;
    vec_push(&known->of, ((struct memory_share){who->pid, who->start, bytes, who->rss}));
}

/* What was found in a sample before counts as far as it is still there. Of one that has grown since
 * nothing is known any more: what it has got may be its own. False: it is to be asked. */
static bool share_recall(const struct memory_shares *had, struct memory_shares *known,
                         const struct memory_share *who)
{
    const struct memory_share *was =
        had->of.n ? bsearch(who, had->of.v, had->of.n, sizeof *who, by_pid) : NULL;
    if (!was || was->start != who->start || who->rss > was->rss + was->rss / 8 + 16 * MIB)
        return false;
    const struct memory_share least = {who->pid, who->start, 0, lesser(was->rss, who->rss)};
    share_keep(known, &least, lesser(was->bytes, who->rss));
    return true;
}

/* Those of which it is not known. */
static void shares_sort(const struct memory_processes *of, struct memory_shares *known,
                        struct shares_ask *ask)
{
    int64_t sum_idle_ms = SUM_LEAST_MS;
    ask->may_ms = SUM_LEAST_MS;
    for (size_t i = 0; i < of->n; i++) {
        struct proc_usage u = {0};
        struct memory_share who = {of->pids[i], of->starts[i], 0, 0};
        if (!proc_usage(who.pid, &u))
            continue;
        who.rss = u.rss_bytes;
        int64_t its_ms = u.rss_bytes / MIB / MIB_A_MS;
        ask->may_ms += SUM_EACH_MS + its_ms;
        sum_idle_ms += SUM_EACH_MS + u.rss_bytes / MIB / MIB_A_MS_IDLE;
        if (share_recall(of->shares, known, &who))
            continue;
        ask->each_ms[ask->n] = (int)lesser(its_ms + SHARE_LEAST_MS, its_ms / 4 + SHARE_WAIT_MS);
        ask->who[ask->n++] = who;
    }
    ask->may_ms = lesser(ask->may_ms, sum_idle_ms > SUM_MOST_MS ? sum_idle_ms : SUM_MOST_MS);
}

/* Of whom the kernel does not tell, and who takes longer than a process of that size may, has what
 * it seems to have, and so have, where all of them take longer than they may together, those that
 * are left: a process can have the answer held back. False: there was no time for all in this
 * sample, or nobody could ask. */
static bool shares_find(struct memory_shares *known, const struct shares_ask *ask)
{
    int64_t may_ms = ask->may_ms - known->asked_ms;
    /* Whose answer is cut short is asked from the beginning in the next: the first has its time. */
    int64_t first_ms = ask->n ? lesser(ask->each_ms[0] + FIRST_MORE_MS, FIRST_MOST_MS) : 0;
    int64_t most_ms = first_ms > SHARES_WAIT_MS ? first_ms : SHARES_WAIT_MS;
    int wait_ms = (int)(may_ms < 0 ? 0 : lesser(may_ms, most_ms));
    int left_ms = wait_ms;
    size_t i = 0;
    while (i < ask->n && left_ms > 0) {
        size_t from = i;
        enum apart how =
            ask_apart_each(share_of, ask->who, ask->n, ask->each_ms, &left_ms, &i, ask->share);
        for (; from < i; from++) {
            int64_t told = ask->share[from],
                    seems = told < 0 ? seeming_bytes(ask->who[from].pid) : 0;
            share_keep(known, &ask->who[from], told < 0 ? seems : told);
        }
        if (how == APART_NOBODY)
            return false;
        if (how == APART_LATE && left_ms > 0) {
            share_keep(known, &ask->who[i], ask->who[i].rss);
            i++;
        }
    }
    known->asked_ms += wait_ms - left_ms;
    for (; i < ask->n && known->asked_ms >= ask->may_ms; i++)
        share_keep(known, &ask->who[i], ask->who[i].rss);
    return i == ask->n;
}

/* Over it only together with processes that began while the rest was found out: what they share
 * with one that forked them counted as all its own, and counts once more. */
static bool is_doubtful(const struct memory_shares *known, int64_t sum, int64_t room)
{
    int64_t young = 0;
    for (size_t i = 0; i < known->of.n; i++)
        young += known->of.v[i].start > known->newest ? known->of.v[i].bytes : 0;
    return known->doubts < DOUBTS_MOST && sum > room && sum - young <= room;
}

/* More than `room` would be too much. False: it was not found out yet, through no fault of theirs.
 * What was is kept for the next sample. */
static bool shares_sum(const struct memory_processes *of, int64_t room, long long *ret_sum)
{
    struct memory_shares known = *of->shares;
    memset(&known.of, 0, sizeof known.of);
    known.newest = known.newest ? known.newest : newest_of(of);
    struct shares_ask ask = {xcalloc(of->n + 1, sizeof *ask.who),
                             xcalloc(of->n + 1, sizeof *ask.each_ms),
                             xcalloc(of->n + 1, sizeof *ask.share), 0, 0};
    shares_sort(of, &known, &ask);
    bool all = shares_find(&known, &ask);
    *ret_sum = 0;
    for (size_t i = 0; i < known.of.n; i++)
        *ret_sum += known.of.v[i].bytes;
    if (known.of.n)
        qsort(known.of.v, known.of.n, sizeof known.of.v[0], by_pid);
    shares_forget(of->shares);
    if (all && is_doubtful(&known, *ret_sum, room)) {
        unsigned doubts = known.doubts + 1;
        shares_forget(&known);
        known.doubts = doubts;
        all = false;
    } else if (all) {
        shares_forget(&known);
        known.sum = *ret_sum;
        known.sum_rss = of->rss_bytes;
    }
    *of->shares = known;
    free(ask.who);
    free(ask.each_ms);
    free(ask.share);
    return all;
}

static void part_leave(const struct step_plan *p, int steps_fd, struct memory_part mine)
{
    char path[320], text[48];
    snprintf(path, sizeof path, "%s/memory", p->dir_name);
    snprintf(text, sizeof text, "%lld %d\n", mine.bytes, mine.exact);
    small_file_write(steps_fd, path, text, strlen(text), 0600);
}

static bool part_read(int steps_fd, const char *name, struct memory_part *ret)
{
    char path[320];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "%.255s/memory", name);
    bool ok = step_dir_alive(steps_fd, name) && small_file_read(steps_fd, path, 64, &text);
    /* It is being written: nothing is known, least of all that it is small. */
    if (ok && sscanf(str_text(&text), "%lld %d", &ret->bytes, &ret->exact) != 2)
        *ret = (struct memory_part){0, 0};
    str_done(&text);
    return ok;
}

struct others {
    int64_t sum;
    bool all_exact, any_larger;
};

/* The other steps of the job on this node. */
static struct others others_sum(const struct step_plan *p, int steps_fd, int64_t mine)
{
    struct others o = {0, true, false};
    const char *dot = strrchr(p->dir_name, '.');
    size_t len = dot ? (size_t)(dot + 1 - p->dir_name) : 0;
    struct dirent *e;
    struct memory_part part;
    int fd = openat(steps_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    while (d && len && (e = readdir(d))) {
        if (strncmp(e->d_name, p->dir_name, len) != 0 || strcmp(e->d_name, p->dir_name) == 0 ||
            !part_read(steps_fd, e->d_name, &part))
            continue;
        o.sum += part.bytes;
        o.all_exact &= part.exact != 0;
        o.any_larger |=
            part.bytes > mine || (part.bytes == mine && strcmp(e->d_name, p->dir_name) < 0);
    }
    if (d)
        closedir(d);
    return o;
}

/* What others are told: while it is found out anew, what was found last, as long as the step has
 * about what it had then. */
static struct memory_part part_of(struct memory_part mine, const struct memory_shares *known)
{
    int64_t less = known->sum_rss - mine.bytes, some = known->sum / 8;
    if (mine.exact || !known->sum || less > some || less < -some)
        return mine;
    return (struct memory_part){less > 0 ? known->sum - less : known->sum, 1};
}

bool memory_watch(struct memory_watch *w, const struct step_plan *p, int steps_fd,
                  const struct memory_processes *of)
{
    ASSERT(of->pids || of->n == 0);
    struct memory_part mine = {of->rss_bytes, 0};
    struct others others = {0, true, false};
    if (p->job_mem_bytes > 0)
        others = others_sum(p, steps_fd, mine.bytes);
    bool step_over = p->mem_limit_bytes > 0 && mine.bytes > p->mem_limit_bytes;
    bool job_over = p->job_mem_bytes > 0 && mine.bytes + others.sum > p->job_mem_bytes;
    int64_t room = step_over ? p->mem_limit_bytes : INT64_MAX;
    if (job_over)
        room = lesser(room, p->job_mem_bytes - others.sum);
    if (step_over || job_over)
        mine.exact = shares_sum(of, room, &mine.bytes);
    else
        shares_forget(of->shares);
    if (!mine.exact)
        mine.bytes = of->rss_bytes;
    if (p->job_mem_bytes > 0)
        part_leave(p, steps_fd, part_of(mine, of->shares));
    if ((step_over || job_over) && !mine.exact)
        return false;
    if (step_over && mine.bytes > p->mem_limit_bytes) {
        *w = (struct memory_watch){mine.bytes, p->mem_limit_bytes, false};
        return true;
    }
    if (!job_over)
        return false;
    others = others_sum(p, steps_fd, mine.bytes);
    if (!others.all_exact || others.any_larger || mine.bytes + others.sum <= p->job_mem_bytes)
        return false;
    /* It is about to be free: no other has to end for it. */
    part_leave(p, steps_fd, (struct memory_part){0, 1});
    *w = (struct memory_watch){mine.bytes + others.sum, p->job_mem_bytes, true};
    return true;
}
