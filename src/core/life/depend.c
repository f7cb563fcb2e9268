/* Who waited for a job looks again when something happened to it. Waking waits until the step is
 * done: a chain of jobs that are cancelled because a job they depend on failed is a loop here, not
 * a recursion. There may be as many as jobs: so many look in one step, the others in the next
 * wakes, and until then the job is not forgotten.
 *
 * aftercorr between arrays is decided for each element: when an element ends, its counterpart
 * becomes a record of its own, free to start or failed. The rest of the array waits for the other
 * array as a whole. Where very many ended before, or MaxJobCount has no room for more records, that
 * is left to pairs_run; dependees.c calls nothing of the array final that is left to elements. */
#include "core/life/life.h"
#include "model/job/owner.h"

/* ---- aftercorr ------------------------------------------------------------------------------ */

/* The array whose elements decide for those of the master, one by one. */
static struct arrayrec *counterpart(const struct core *c, const struct dependency *d)
{
    return dep_pairs(d) && d->status == DEP_OPEN ? array_of(c, d->job_id) : NULL;
}

static void element_split(struct core *c, struct jobrec *master, uint32_t task)
{
    if (!job_is_array(master) || !idset_has(&master->pending, task))
        return;
    struct jobrec *element = array_split(c, master, task);
    work_add(c, WORK_JOB);
    eligible_update(c, element);
    job_save(c, element);
}

/* Has happened to the counterpart what its own element waits for? */
static bool decides(const struct dependency *d, const struct jobrec *other)
{
    return other->j.array_task_id != NO_TASK &&
           (!job_live(other) || (d->kind == DEP_AFTER && !job_waits(other)));
}

/* From index `next` on. */
static void pairs_mark(struct core *c, struct jobrec *master, uint32_t next)
{
    struct marks *m = &c->marks;
    size_t i = 0;
    m->pairs_look = true;
    while (master->pairing && i < m->pairs.n && m->pairs.v[i].job_id != master->j.id)
        i++;
    if (!master->pairing) {
        vec_push(&m->pairs, ((struct pairing){master->j.id, next}));
        master->pairing = true;
    } else if (m->pairs.v[i].next > next) {
        m->pairs.v[i].next = next;
    }
}

/* When `done` has started or ended. */
static void aftercorr_wake(struct core *c, struct jobrec *master, const struct jobrec *done)
{
    for (size_t i = 0; i < master->deps.n; i++)
        if (master->deps.v[i].job_id == done->j.array_job_id && decides(&master->deps.v[i], done) &&
            counterpart(c, &master->deps.v[i])) {
            if (user_room_goes_on(c, master->j.user_id))
                element_split(c, master, done->j.array_task_id);
            else if (idset_has(&master->pending, done->j.array_task_id))
                pairs_mark(c, master, done->j.array_task_id);
            return;
        }
}

enum pair { PAIR_OPEN, PAIR_DECIDED, PAIR_NONE };

/* Has the counterpart of that element been there, of any of the conditions? NONE: no condition is
 * of this kind any more. */
static enum pair pair_look(const struct core *c, const struct jobrec *master, uint32_t task)
{
    enum pair pair = PAIR_NONE;
    for (size_t i = 0; i < master->deps.n && pair != PAIR_DECIDED; i++) {
        const struct arrayrec *other = counterpart(c, &master->deps.v[i]);
        const struct jobrec *one = other ? map_u64_get(other->element, task) : NULL;
        if (!other)
            continue;
        bool gone = idset_has(&other->gone_well, task) || idset_has(&other->gone_bad, task);
        pair = gone || (one && decides(&master->deps.v[i], one)) ? PAIR_DECIDED : PAIR_OPEN;
    }
    return pair;
}

void aftercorr_begin(struct core *c, struct jobrec *master)
{
    bool paired = false;
    for (size_t i = 0; i < master->deps.n && job_is_array(master); i++)
        paired |= counterpart(c, &master->deps.v[i]) != NULL;
    if (paired)
        pairs_mark(c, master, 0);
}

enum pairs { PAIRS_DONE, PAIRS_WORK, PAIRS_ROOM };

/* Until it is done, or lacks what it says. */
static enum pairs pairing_go_on(struct core *c, struct pairing *k)
{
    struct jobrec *master = job_find(c, k->job_id);
    uint32_t task = 0;
    while (master && master->j.state == JOB_PENDING && job_is_array(master)) {
        if (!work_left(c))
            return PAIRS_WORK;
        bool more = k->next ? idset_next(&master->pending, k->next - 1, &task)
                            : idset_first(&master->pending, &task);
        enum pair pair = more ? pair_look(c, master, task) : PAIR_NONE;
        if (pair == PAIR_NONE)
            return PAIRS_DONE;
        work_add(c, 8);
        if (pair == PAIR_DECIDED && !user_room_goes_on(c, master->j.user_id))
            return PAIRS_ROOM;
        k->next = task + 1;
        if (pair == PAIR_DECIDED)
            element_split(c, master, task);
    }
    return PAIRS_DONE;
}

/* What is left of the array waits for the other as a whole. */
void pairs_run(struct core *c)
{
    struct marks *m = &c->marks;
    bool work = false;
    for (size_t i = 0; m->pairs_look && i < m->pairs.n && !work;) {
        enum pairs left = pairing_go_on(c, &m->pairs.v[i]);
        struct jobrec *master = job_find(c, m->pairs.v[i].job_id);
        work = left == PAIRS_WORK;
        if (left != PAIRS_DONE) {
            work_add(c, 1);
            i++;
            continue;
        }
        vec_remove(&m->pairs, i);
        if (!master)
            continue;
        master->pairing = false;
        eligible_update(c, master);
    }
    m->pairs_look = work;
}

/* ---- what happens wakes them ---------------------------------------------------------------- */

static bool names(const struct jobrec *r, uint64_t key)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (r->deps.v[i].job_id == key)
            return true;
    return false;
}

/* One of those that wait for the key. False: it does not wait for it any more. */
static bool one_look(struct core *c, uint64_t key, uint64_t id, const struct jobrec *done)
{
    struct jobrec *r = id ? job_find(c, id) : NULL;
    if (r && r->j.state == JOB_PENDING && job_is_array(r))
        aftercorr_wake(c, r, done);
    if (r && r->j.state == JOB_PENDING)
        eligible_update(c, r);
    return r && names(r, key);
}

/* Who comes to the list meanwhile has looked already. Returns true when all others have. */
static bool list_go_on(struct core *c, const struct jobrec *done)
{
    struct waking *k = &c->marks.waking;
    while (k->at < k->end && work_left(c)) {
        struct id_list *list = map_u64_get(c->jobs.dependents, k->key);
        uint64_t id = list->id.v[k->at++];
        work_add(c, WORK_JOB);
        if (!one_look(c, k->key, id, done))
            id_list_remove_at(list, k->at - 1);
    }
    return k->at == k->end;
}

static bool list_wake(struct core *c, uint64_t key, const struct jobrec *done)
{
    struct waking *k = &c->marks.waking;
    struct id_list *list = map_u64_get(c->jobs.dependents, key);
    if (!list)
        return true;
    if (!k->key) {
        k->key = key;
        k->at = list->from;
        k->end = list->id.n;
    }
    if (!list_go_on(c, done))
        return false;
    k->key = 0;
    dependents_pack(c, key, list);
    return true;
}

/* The earliest of them that is of the owner of `done`; NULL: none. */
static struct jobrec *first_of_owner(const struct core *c, const struct id_list *same,
                                     const struct jobrec *done)
{
    struct jobrec *first = NULL;
    for (size_t i = same->from; i < same->id.n; i++) {
        bool earlier = same->id.v[i] && (!first || same->id.v[i] < first->j.id);
        struct jobrec *r = earlier ? job_find(c, same->id.v[i]) : NULL;
        if (r && jobs_are_of_one(&r->j, &done->j))
            first = r;
    }
    return first;
}

/* Only the earliest that lives can be free now, with the components beside it. */
void singletons_look(struct core *c, const struct jobrec *done)
{
    const struct namesakes *names = namesakes_of(c, done);
    const struct id_list *same = names && names->known ? &names->list : NULL;
    struct jobrec *r = same ? first_of_owner(c, same, done) : NULL;
    jobrec_vec jobs = {0};
    work_add(c, same ? same->id.n : 0);
    if (r)
        components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i]->deps.n && jobs.v[i]->j.state == JOB_PENDING)
            eligible_update(c, jobs.v[i]);
    vec_done(&jobs);
}

/* For each owner that there is: a number may have had several. */
static void owners_look(struct core *c, const struct id_list *same)
{
    jobrec_vec owners = {0};
    for (size_t i = 0; i < same->id.n; i++) {
        struct jobrec *r = same->id.v[i] ? job_find(c, same->id.v[i]) : NULL;
        bool known = !r;
        for (size_t k = 0; k < owners.n && !known; k++)
            known = jobs_are_of_one(&owners.v[k]->j, &r->j);
        if (!known)
            vec_push(&owners, r);
    }
    for (size_t i = 0; i < owners.n; i++)
        singletons_look(c, owners.v[i]);
    vec_done(&owners);
}

/* Whose list is known by now look, who came first before others; nobody is left of a name where all
 * went meanwhile. */
void singletons_run(struct core *c)
{
    size_t looked = 0;
    while (looked < c->marks.looking.n && work_left(c)) {
        struct namesakes *same = c->marks.looking.v[looked];
        if (!namesakes_go_on(c, same))
            break;
        looked++;
        id_list_pack(&same->list);
        if (same->list.id.n)
            owners_look(c, &same->list);
        else
            singleton_forget(c, same);
    }
    vec_remove_first(&c->marks.looking, looked);
}

/* True when all who wait for it have looked. */
static bool wake_go_on(struct core *c, const struct jobrec *done)
{
    const uint64_t keys[] = {done->j.id, done->j.array_job_id};
    struct waking *k = &c->marks.waking;
    for (k->job_id = done->j.id; k->lists < 2; k->lists++) {
        uint64_t key = keys[k->lists];
        if (key && !(k->lists && key == keys[0]) && !list_wake(c, key, done))
            return false;
    }
    if (job_state_over((enum job_state)done->j.state))
        singletons_look(c, done);
    return true;
}

void dependents_run(struct core *c)
{
    struct waking *k = &c->marks.waking;
    while (k->next < c->marks.woken.n && work_left(c)) {
        const struct jobrec *done = job_find(c, c->marks.woken.v[k->next]);
        work_add(c, WORK_JOB);
        if (!done || wake_go_on(c, done))
            *k = (struct waking){.next = k->next + 1};
    }
    if (k->next == c->marks.woken.n) {
        vec_clear(&c->marks.woken);
        *k = (struct waking){0};
    }
}

bool dependents_look_still(const struct core *c, const struct jobrec *r)
{
    const struct waking *k = &c->marks.waking;
    bool found = k->key && (k->key == r->j.id || k->key == r->j.array_job_id);
    for (size_t i = k->next; i < c->marks.woken.n && !found; i++)
        found = c->marks.woken.v[i] == r->j.id;
    return found;
}
