/* A job runs with its owner's number, and a number may become somebody else's: a user is deleted,
 * the next one gets what is free. What the former one left in the queue, in his table for scrontab,
 * or will have requeued, must not run with the rights of the next, who never asked for it.
 *
 * A job keeps the name that its number had when it was submitted; the shell says now and then what
 * name services say (EV_OWNERS). Where that is another name the job is held as by an administrator:
 * only people know whether a user was renamed. Where there is no name, the job waits until there is
 * one, by itself: name services that do not answer may look like that. Nothing is said against a
 * job whose owner had no name, nor before name services were asked.
 *
 * Each job that waits comes by here whenever it might become eligible (eligible_update). */
#include "core/record/users/owner.h"
#include "core/record/record.h"
#include "model/job/owner.h"

#include <stdlib.h>

struct named {
    const char *name; /* interned; NULL = nobody's any more */
    bool said;        /* that jobs are held for it, in the log */
};

static struct named *named_find(const struct core *c, uint32_t uid)
{
    return map_u64_get(c->users.named, (uint64_t)uid + 1);
}

static void named_free(struct core *c, struct named *n)
{
    intern_drop(c->pool, n->name);
    free(n);
}

static bool told(struct core *c, const struct owner_name *one)
{
    struct named *n = named_find(c, one->uid);
    if (n && text_is(n->name, one->name))
        return false;
    if (!n) {
        n = xcalloc(1, sizeof *n);
        map_u64_put(c->users.named, (uint64_t)one->uid + 1, n);
    }
    text_set(c, &n->name, one->name);
    n->said = false;
    return true;
}

bool owners_told(struct core *c, const struct owner_name *v, size_t n)
{
    bool changed = false;
    for (size_t i = 0; i < n; i++)
        changed |= told(c, &v[i]);
    return changed;
}

void owner_came(struct core *c, uint32_t uid, const char *name)
{
    const struct named *n = named_find(c, uid);
    if (n && name && (!n->name || !owner_same(n->name, name)))
        named_free(c, map_u64_del(c->users.named, (uint64_t)uid + 1));
}

static void held_say(struct core *c, struct jobrec *r, struct named *n)
{
    struct str text = STR_INIT;
    unsigned long long id = r->j.id;
    str_addf(&text,
             "uid %u was %s when this was submitted, and is %s now: if %s was renamed, `scontrol "
             "release %llu` lets it run; else `scancel %llu`",
             r->j.user_id, r->j.user_name, n->name, r->j.user_name, id, id);
    text_set(c, &r->j.reason_detail, str_text(&text));
    text_set(c, &r->j.system_comment, str_text(&text));
    str_done(&text);
    if (!n->said)
        fx_log(c, LEVEL_WARNING,
               "uid %u was %s and is %s now: job %llu is held, and whatever else of %s waits; "
               "`scontrol release` lets it run if that user was renamed",
               r->j.user_id, r->j.user_name, n->name, id, r->j.user_name);
    n->said = true;
}

void owner_look(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_PENDING);
    struct named *n = named_find(c, r->j.user_id);
    if (!n || job_owner_named(&r->j, n->name) || (r->j.spec.hold && r->j.admin_hold))
        return;
    r->j.admin_hold = true;
    hold_write(c, r, true);
    r->j.reason = REASON_HELD_ADMIN;
    held_say(c, r, n);
    job_save(c, r);
}

bool owner_gone(const struct core *c, const struct jobrec *r)
{
    const struct named *n = named_find(c, r->j.user_id);
    return n && !n->name && r->j.user_name;
}

void owner_accept(struct core *c, struct jobrec *r)
{
    const struct named *n = named_find(c, r->j.user_id);
    if (n && !job_owner_named(&r->j, n->name))
        text_set(c, &r->j.renamed, n->name);
}

void names_now_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->users.named, &w))
        named_free(c, w.value);
    map_u64_free(c->users.named);
}
