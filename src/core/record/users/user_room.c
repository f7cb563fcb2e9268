/* A job may have a comment of 64 KiB and a command line of a MiB, and a user as many jobs as fit
 * into the queue: without a bound of his own one user could fill the controller's memory, and with
 * scripts and environments, which stay with their jobs, its disk.
 *
 * Texts that are alike lie in memory once, and most jobs' are short: what is beyond SHORT_BYTES of
 * each text is counted, for each job. What a job waits for takes more room than its text, and each
 * element of an array that became a job has it for itself: it counts as a text does.
 *
 * What comes to the disk stays there: scripts and environments, and rows, which are the job's, each
 * of its elements', its former runs' and its steps', each with all of its texts. It is counted when
 * it comes: a level that sinks to nothing in a day. It is not stored, so a new controller begins at
 * nothing. Long texts of elements count when the array comes, and are refused then; their rows only
 * when there are such, as most of a large array's may never come.
 *
 * Who has no name is one of as many as somebody likes who may have user namespaces: what all such
 * have together is held to what one user may have, too. */
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_BYTES 256u
/* Of what an array has left: a range in memory, and what it is written as. */
#define PIECE_BYTES 24u
#define ROW_BYTES   512u /* in the store, with its indexes, of a job that says nothing */
#define MIB         (INT64_C(1) << 20)
/* A user's jobs are so many times what is left at most: however many one user has, the next may
 * have nine tenths of what remains. */
#define SHARE_OF_LEFT 9u
#define FEW_OF        100u /* few of a user are one of so many of MaxJobCount at most … */
#define BEYOND_OF     10u  /* … and all few together are one of so many beyond it */

#define NAMELESS UINT64_C(0) /* among the rooms, of all without a name together */

struct user_room {
    uint64_t jobs;  /* records in memory */
    uint64_t named; /* of them, that say their user's name */
    int64_t texts;
    size_t asked;          /* bytes that its steps were asked with */
    int64_t disk, disk_us; /* the level as it was then */
    VEC(uint64_t) over;    /* jobs in the order in which they were over; from over_from on */
    size_t over_from;
};

static struct user_room *room_find(const struct core *c, uint32_t uid)
{
    return map_u64_get(c->users.room, (uint64_t)uid + 1);
}

static struct user_room *room_at(struct core *c, uint64_t key)
{
    struct user_room *u = map_u64_get(c->users.room, key);
    if (!u) {
        u = xcalloc(1, sizeof *u);
        map_u64_put(c->users.room, key, u);
    }
    return u;
}

static struct user_room *room_of(struct core *c, uint32_t uid)
{
    return room_at(c, (uint64_t)uid + 1);
}

/* Does somebody of that number ask who has no name? */
static bool is_nameless(const struct core *c, uint32_t uid)
{
    const struct peer *peer = c->turn.peer;
    return peer && peer->uid == uid && peer_is_nameless(peer);
}

/* What is held to what a user may have; NULL: nothing. */
static const struct user_room *room_held(const struct core *c, uint32_t uid)
{
    return is_nameless(c, uid) ? map_u64_get(c->users.room, NAMELESS) : room_find(c, uid);
}

static void room_add(struct core *c, const struct jobrec *r, int jobs, int64_t texts)
{
    bool named = r->j.user_name != NULL;
    struct user_room *own = room_of(c, r->j.user_id), *all = named ? NULL : room_at(c, NAMELESS);
    own->named += (uint64_t)(named ? jobs : 0);
    for (struct user_room *u = own; u; u = u == own ? all : NULL) {
        u->jobs += (uint64_t)(int64_t)jobs;
        u->texts += texts;
    }
}

static bool is_bound(const struct core *c, int32_t most)
{
    return most && !(c->turn.peer && peer_operates(c, c->turn.peer));
}

/* ---- texts ---- */

/* Bytes of its texts, of each those up to SHORT_BYTES, or those beyond. */
static uint32_t texts_sum(const struct job_spec *spec, bool beyond)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (f->type != FIELD_TEXT)
            continue;
        const char *text = *(const char *const *)field_ptr(f, (void *)(uintptr_t)spec);
        size_t len = text ? strlen(text) : 0;
        size_t up_to = len < SHORT_BYTES ? len : SHORT_BYTES;
        sum += (uint32_t)(beyond ? len - up_to : up_to);
    }
    return sum;
}

uint32_t texts_long(const struct job_spec *spec)
{
    return texts_sum(spec, true);
}

uint32_t pending_bytes(const struct idset *pending)
{
    size_t bytes = pending->n * PIECE_BYTES;
    return bytes > SHORT_BYTES ? (uint32_t)bytes : 0;
}

uint32_t row_short(const struct job_spec *spec)
{
    return ROW_BYTES + texts_sum(spec, false);
}

bool user_room_texts_fit(const struct core *c, uint32_t uid, int64_t more, struct str *why)
{
    const struct user_room *u = room_held(c, uid);
    int64_t have = u ? u->texts : 0, most = c->settings.max_user_texts * MIB;
    if (more <= 0 || !is_bound(c, c->settings.max_user_texts) || have + more <= most)
        return true;
    str_addf(why,
             "your jobs' long texts (comments, command lines, lists) and long dependencies have "
             "%lld MiB in the controller's memory; MaxUserTexts allows %d: shorten them, or wait "
             "until some of your jobs are over",
             (long long)(have / MIB), c->settings.max_user_texts);
    return false;
}

void user_room_count(struct core *c, struct jobrec *r)
{
    ASSERT(job_find(c, r->j.id) == r);
    room_add(c, r, !r->in_room, 0);
    r->in_room = true;
    bool element = r->j.array_job_id && r->j.array_job_id != r->j.id;
    uint32_t now = element ? 0 : texts_long(&r->j.spec) + pending_bytes(&r->pending);
    if (now == r->long_texts)
        return;
    room_add(c, r, 0, (int64_t)now - r->long_texts);
    r->long_texts = now;
}

void user_room_uncount(struct core *c, struct jobrec *r)
{
    if (r->in_room)
        room_add(c, r, -1, 0);
    r->in_room = false;
    ASSERT(!r->long_texts || room_of(c, r->j.user_id)->texts >= r->long_texts);
    if (r->long_texts)
        room_add(c, r, 0, -(int64_t)r->long_texts);
    r->long_texts = 0;
}

int64_t conditions_bytes(const struct dependency_list *list)
{
    size_t bytes = list->n * sizeof list->v[0];
    return bytes > SHORT_BYTES ? (int64_t)bytes : 0;
}

void user_room_conditions(struct core *c, const struct jobrec *r, int sign)
{
    ASSERT(sign == 1 || sign == -1);
    int64_t bytes = conditions_bytes(&r->deps);
    if (bytes)
        room_add(c, r, 0, sign * bytes);
}

/* ---- steps ---- */

bool user_room_asked_fits(const struct core *c, uint32_t payer, size_t more, struct str *why)
{
    const struct user_room *u = room_find(c, payer);
    size_t have = u ? u->asked : 0;
    if (have + more <= LIMIT_ASKED_BYTES_PER_USER || !is_bound(c, 1))
        return true;
    str_addf(why,
             "your steps that run or wait have %zu MiB of command lines, options and programs in "
             "the controller's memory, and this one has %zu KiB: a user may have %u MiB there. "
             "Wait until some of them are over, or ask for steps with shorter lists",
             have / (size_t)MIB, (more + 1023) / 1024, LIMIT_ASKED_BYTES_PER_USER >> 20);
    return false;
}

void user_room_asked(struct core *c, uint32_t payer, size_t bytes, int sign)
{
    ASSERT(sign == 1 || sign == -1);
    if (!bytes)
        return;
    struct user_room *u = room_of(c, payer);
    ASSERT(sign > 0 || u->asked >= bytes);
    u->asked = sign > 0 ? u->asked + bytes : u->asked - bytes;
}

/* ---- the disk ---- */

/* Sinks by whole seconds; *ret_us: until when it has. */
static int64_t level(const struct core *c, const struct user_room *u, int64_t *ret_us)
{
    int64_t passed = (c->turn.now_us - u->disk_us) / USEC_PER_SEC,
            second = c->settings.max_user_scripts * MIB / (USEC_PER_DAY / USEC_PER_SEC);
    *ret_us = c->turn.now_us;
    if (passed >= USEC_PER_DAY / USEC_PER_SEC || !u->disk)
        return 0;
    if (passed < 0)
        return u->disk; /* the clock was set */
    *ret_us = u->disk_us + passed * USEC_PER_SEC;
    return u->disk > passed * second ? u->disk - passed * second : 0;
}

bool user_room_disk_fits(const struct core *c, uint32_t uid, uint64_t bytes, struct str *why)
{
    const struct user_room *u = room_held(c, uid);
    int64_t until_us, have = u ? level(c, u, &until_us) : 0,
                      most = c->settings.max_user_scripts * MIB;
    if (!bytes || !is_bound(c, c->settings.max_user_scripts) ||
        (bytes <= (uint64_t)most && have + (int64_t)bytes <= most))
        return true;
    str_addf(why,
             "your jobs of the last 24 hours brought %lld MiB of scripts, environments and rows "
             "of the accounting, and this would be %llu more; MaxUserScripts allows %d a day: keep "
             "data in "
             "files, submit with --export=NONE, or one array instead of many jobs",
             (long long)(have / MIB), (unsigned long long)(bytes / (uint64_t)MIB),
             c->settings.max_user_scripts);
    return false;
}

static void disk_add(const struct core *c, struct user_room *u, uint64_t bytes)
{
    int64_t until_us, have = level(c, u, &until_us);
    u->disk = time_add(have, bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX);
    u->disk_us = until_us;
}

void user_room_disk(struct core *c, uint32_t uid, uint64_t bytes)
{
    if (!bytes || !c->settings.max_user_scripts)
        return;
    disk_add(c, room_of(c, uid), bytes);
    if (is_nameless(c, uid))
        disk_add(c, room_at(c, NAMELESS), bytes);
}

void user_room_row(struct core *c, uint32_t uid, const struct job_spec *spec)
{
    if (c->settings.max_user_scripts)
        user_room_disk(c, uid, row_short(spec));
}

bool user_room_fits(const struct core *c, const struct msg_submit *m, struct str *why)
{
    ASSERT(c->turn.peer);
    const struct job_spec *specs = m->specs.v;
    uint32_t uid = c->turn.peer->uid;
    int64_t texts = 0;
    for (size_t i = 0; i < m->specs.n; i++)
        texts += texts_long(&specs[i]);
    return m->test_only || user_room_texts_fit(c, uid, texts, why);
}

/* ---- the queue ---- */

bool user_room_jobs_fit(const struct core *c, uint32_t uid, size_t more, struct str *why)
{
    const struct user_room *u = room_held(c, uid);
    uint64_t all = map_u64_count(c->jobs.by_id), most = (uint64_t)c->settings.max_job_count,
             left = all < most ? most - all : 0, own = u ? u->jobs : 0;
    if (!more)
        return true;
    if (more > left) {
        str_addf(why, "the queue is full: MaxJobCount is %d", c->settings.max_job_count);
        return false;
    }
    if (!is_bound(c, c->settings.max_job_count) || own + more <= SHARE_OF_LEFT * (left - more + 1))
        return true;
    str_addf(why,
             "you have %llu jobs in the controller's memory, and MaxJobCount (%d) leaves room for "
             "%llu: one user may have %u times what is left for all others. Wait until some of "
             "yours are over (MinJobAge), cancel some, or submit one array instead of many jobs",
             (unsigned long long)own, c->settings.max_job_count, (unsigned long long)left,
             SHARE_OF_LEFT);
    return false;
}

/* Few of one user's, and of all not many beyond it. */
static bool is_few(const struct core *c, uint64_t own, size_t more)
{
    uint64_t all = map_u64_count(c->jobs.by_id), most = (uint64_t)c->settings.max_job_count;
    return own + more <= most / FEW_OF && all + more <= most + most / BEYOND_OF;
}

/* Nobody is kept from an element by what others have: whose jobs are few may have some of their
 * own, and operators anybody's. */
bool user_room_elements_fit(const struct core *c, uint32_t uid, size_t more, struct str *why)
{
    const struct user_room *u = room_held(c, uid);
    struct str full = STR_INIT;
    bool fits = is_few(c, u ? u->jobs : 0, more) || !is_bound(c, c->settings.max_job_count) ||
                user_room_jobs_fit(c, uid, more, &full);
    str_done(&full);
    if (!fits)
        str_addf(why,
                 "%zu elements would become jobs of their own, and MaxJobCount (%d) has no room "
                 "for so many more of one user's: name fewer, or the whole array",
                 more, c->settings.max_job_count);
    return fits;
}

bool user_room_goes_on(const struct core *c, uint32_t uid)
{
    const struct user_room *u = room_find(c, uid);
    return map_u64_count(c->jobs.by_id) < (uint64_t)c->settings.max_job_count ||
           is_few(c, u ? u->jobs : 0, 1);
}

/* ---- what is over ---- */

/* Those that are forgotten, mostly because their time had come, leave the front. */
static void over_trim(const struct core *c, struct user_room *u)
{
    while (u->over_from < u->over.n && !job_find(c, u->over.v[u->over_from]))
        u->over_from++;
    if (u->over_from <= u->over.n / 2)
        return;
    memmove(u->over.v, u->over.v + u->over_from, (u->over.n - u->over_from) * sizeof u->over.v[0]);
    u->over.n -= u->over_from;
    u->over_from = 0;
}

void user_room_over(struct core *c, const struct jobrec *r)
{
    ASSERT(!job_live(r));
    struct user_room *u = room_of(c, r->j.user_id);
    over_trim(c, u);
    vec_push(&u->over, r->j.id);
}

struct jobrec *user_room_oldest(struct core *c, uint32_t uid)
{
    struct user_room *u = room_find(c, uid);
    struct jobrec *r = NULL;
    while (u && !r && u->over_from < u->over.n) {
        r = job_find(c, u->over.v[u->over_from++]);
        r = r && !job_live(r) ? r : NULL;
    }
    return r;
}

/* ---- life ---- */

const uint32_t *core_owners(const struct core *c, struct arena *a, size_t *ret_n)
{
    struct map_walk w = {0};
    uint32_t *uid = arena_alloc(a, (map_u64_count(c->users.room) + 1) * sizeof *uid);
    *ret_n = 0;
    while (map_u64_next(c->users.room, &w))
        if (((const struct user_room *)w.value)->named)
            uid[(*ret_n)++] = (uint32_t)(w.key - 1);
    return uid;
}

void user_rooms_check(const struct core *c, size_t asked)
{
    struct map_walk w = {0};
    int64_t counted = 0, there = 0;
    uint64_t jobs = 0;
    size_t kept = 0;
    while (map_u64_next(c->users.room, &w)) {
        if (w.key == NAMELESS)
            continue;
        counted += ((const struct user_room *)w.value)->texts;
        jobs += ((const struct user_room *)w.value)->jobs;
        kept += ((const struct user_room *)w.value)->asked;
    }
    w = (struct map_walk){0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        there += r->long_texts + conditions_bytes(&r->deps);
    }
    CHECK(counted == there && jobs == map_u64_count(c->jobs.by_id) && kept == asked);
}

void user_rooms_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->users.room, &w)) {
        struct user_room *u = w.value;
        vec_done(&u->over);
        free(u);
    }
    map_u64_free(c->users.room);
}
