/* What was left: a step that was killed takes nothing away, and a container that has a name stays
 * when its step ends. The next container of the same user on that machine finds it. A place that
 * a task runs in, or that is being made, is locked (place.c); one with a name stays as long as its
 * job, in that run of it, is not over, which the controller knows. */
#include "cli/container/container.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "model/job/job.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

struct living {
    struct container *c;
    VEC(const char *) job; /* "12-1764444000.0" */
    bool asked, known;
};

static void job_see(void *ctx, const void *record)
{
    struct living *l = ctx;
    const struct job *j = record;
    vec_push(&l->job, arena_printf(l->c->a, "%llu-%lld.%u", (unsigned long long)j->id,
                                   (long long)(j->start_us / USEC_PER_SEC), (unsigned)j->restarts));
}

static void living_ask(struct living *l)
{
    struct err e = {0};
    struct msg_done done = {0};
    struct msg_query q = {.what = QUERY_JOBS,
                          .uids = arena_printf(l->c->a, "%u", (unsigned)geteuid()),
                          .fields = "id,start_us,restarts,state"};
    struct client *client = cluster_reach(state_dir_find(NULL, l->c->a), &e);
    l->asked = true;
    l->known = client && client_query(client, &q, &job_fields, l->c->a, job_see, l, &done, &e);
    if (client)
        client_close(client);
}

/* True also where it cannot be learned. */
static bool job_lives(struct living *l, struct span job)
{
    if (span_is(job, l->c->job))
        return true;
    if (!l->asked)
        living_ask(l);
    for (size_t i = 0; i < l->job.n; i++)
        if (span_is(job, l->job.v[i]))
            return true;
    return !l->known;
}

static void place_look(struct living *l, const char *place)
{
    struct container *c = l->c;
    const char *name = strstr(place, ".name.");
    if (place[0] == '.' || text_is(place, c->place) ||
        (name && job_lives(l, (struct span){place, (size_t)(name - place)})))
        return;
    int make = container_lock_try(c, place, "make");
    int use = make >= 0 ? container_lock_try(c, place, "use") : -1;
    if (use >= 0) {
        container_place_remove(c, place);
        close(use);
    }
    if (make >= 0)
        close(make);
}

/* One task of a machine looks; whoever begins meanwhile need not. What is there is read before it
 * is asked which jobs live, as a place that is made later may be one of a job that began later. */
void container_leftovers_remove(struct container *c)
{
    struct living l = {.c = c};
    VEC(const char *) place = {0};
    int lock = container_lock_try(c, ".", ".look");
    DIR *d = lock >= 0 ? opendir(c->top) : NULL;
    const struct dirent *entry;
    while (d && (entry = readdir(d)))
        vec_push(&place, arena_strdup(c->a, entry->d_name));
    for (size_t i = 0; i < place.n; i++)
        place_look(&l, place.v[i]);
    if (d)
        closedir(d);
    if (lock >= 0)
        close(lock);
    vec_done(&place);
    vec_done(&l.job);
}
