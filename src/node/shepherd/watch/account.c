#include "node/shepherd/watch/account.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void account_open(struct proc_account *a, size_t ntasks)
{
    ASSERT(ntasks > 0);
    *a = (struct proc_account){.use = xcalloc(ntasks, sizeof *a->use), .n = ntasks};
}

void account_close(struct proc_account *a)
{
    free(a->use);
    free(a->child);
    memset(a, 0, sizeof *a);
}

/* ---- samples ---- */

void account_begin(struct proc_account *a)
{
    for (size_t i = 0; i < a->n; i++) {
        a->use[i].live = (struct use_sums){0};
        a->use[i].live_rss = a->use[i].live_vm = 0;
    }
}

void account_add(struct proc_account *a, size_t task, const struct proc_usage *u)
{
    ASSERT(task < a->n);
    struct task_use *t = &a->use[task];
    t->live.cpu_us += u->cpu_user_us + u->cpu_system_us;
    t->live.pages += u->major_faults;
    t->live.read_bytes += u->read_bytes;
    t->live.write_bytes += u->write_bytes;
    t->live_rss += u->rss_bytes;
    t->live_vm += u->vm_bytes;
}

static void most_take(struct task_use *t)
{
    t->most.cpu_us = larger(t->most.cpu_us, t->gone.cpu_us + t->live.cpu_us);
    t->most.pages = larger(t->most.pages, t->gone.pages + t->live.pages);
    t->most.read_bytes = larger(t->most.read_bytes, t->gone.read_bytes + t->live.read_bytes);
    t->most.write_bytes = larger(t->most.write_bytes, t->gone.write_bytes + t->live.write_bytes);
}

void account_end(struct proc_account *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct task_use *t = &a->use[i];
        most_take(t);
        t->max_rss = larger(t->max_rss, t->live_rss);
        t->max_vm = larger(t->max_vm, t->live_vm);
    }
}

static int by_pid(const void *va, const void *vb)
{
    const struct account_child *a = va, *b = vb;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

size_t account_task_of(const struct proc_account *a, pid_t child)
{
    if (a->nchildren == 0)
        return 0;
    const struct account_child key = {child, 0},
                               *found = bsearch(&key, a->child, a->nchildren, sizeof key, by_pid);
    return found ? found->task : 0;
}

void account_remember(struct proc_account *a, const struct account_child *child, size_t n)
{
    ASSERT(n == 0 || child);
    free(a->child);
    a->child = xcalloc(n + 1, sizeof *a->child);
    if (n)
        memcpy(a->child, child, n * sizeof *child);
    qsort(a->child, n, sizeof *a->child, by_pid);
    a->nchildren = n;
}

/* ---- ends ---- */

static int64_t time_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

void account_ended(struct proc_account *a, size_t task, const struct rusage *r,
                   const struct proc_usage *io)
{
    ASSERT(task < a->n);
    struct task_use *t = &a->use[task];
    t->gone.cpu_us += time_us(r->ru_utime) + time_us(r->ru_stime);
    t->gone.pages += r->ru_majflt;
    t->gone.read_bytes += larger(io ? io->read_bytes : 0, (int64_t)r->ru_inblock * 512);
    t->gone.write_bytes += larger(io ? io->write_bytes : 0, (int64_t)r->ru_oublock * 512);
    t->max_rss = larger(t->max_rss, (int64_t)r->ru_maxrss * 1024);
    t->live = (struct use_sums){0}; /* until the next sample: what ended was in it */
    most_take(t);
}

/* ---- telling ---- */

enum figure { RSS, VM, PAGES, CPU, READ, WRITTEN };

static int64_t figure_of(const struct task_use *t, enum figure f)
{
    switch (f) {
    case RSS: return t->max_rss;
    case VM: return larger(t->max_vm, t->max_rss); /* no sample may have met it */
    case PAGES: return t->most.pages;
    case CPU: return t->most.cpu_us;
    case READ: return t->most.read_bytes;
    case WRITTEN: return t->most.write_bytes;
    }
    return 0;
}

/* The first of the tasks that have most of it, or least. */
static size_t extreme(const struct proc_account *a, enum figure f, bool least)
{
    size_t best = 0;
    for (size_t i = 1; i < a->n; i++) {
        int64_t more = figure_of(&a->use[i], f) - figure_of(&a->use[best], f);
        if (least ? more < 0 : more > 0)
            best = i;
    }
    return best;
}

static int64_t sum_of(const struct proc_account *a, enum figure f)
{
    int64_t sum = 0;
    for (size_t i = 0; i < a->n; i++)
        sum += figure_of(&a->use[i], f);
    return sum;
}

void account_note(const struct proc_account *a, int32_t (*id)(const void *ctx, size_t i),
                  const void *ctx, struct note *n)
{
    ASSERT(a->n > 0);
    size_t rss = extreme(a, RSS, false), vm = extreme(a, VM, false),
           pages = extreme(a, PAGES, false);
    size_t cpu = extreme(a, CPU, true), reader = extreme(a, READ, false),
           writer = extreme(a, WRITTEN, false);
    int64_t tasks = (int64_t)a->n;
    n->tasks = tasks;
    n->max_rss_bytes = a->use[rss].max_rss;
    n->rss_task = id(ctx, rss);
    n->ave_rss_bytes = sum_of(a, RSS) / tasks;
    n->max_vm_bytes = figure_of(&a->use[vm], VM);
    n->vm_task = id(ctx, vm);
    n->ave_vm_bytes = sum_of(a, VM) / tasks;
    n->max_pages = a->use[pages].most.pages;
    n->pages_task = id(ctx, pages);
    n->ave_pages = sum_of(a, PAGES) / tasks;
    n->read_bytes = sum_of(a, READ);
    n->read_max_bytes = a->use[reader].most.read_bytes;
    n->read_task = id(ctx, reader);
    n->write_bytes = sum_of(a, WRITTEN);
    n->write_max_bytes = a->use[writer].most.write_bytes;
    n->write_task = id(ctx, writer);
    n->min_cpu_us = a->use[cpu].most.cpu_us;
    n->cpu_task = id(ctx, cpu);
    n->ave_cpu_us = sum_of(a, CPU) / tasks;
}
