/* What others have to wait for is what is done for one user in one go: a round of the loop in which
 * somebody gets no more than ALLOWED_NS, or a commit that costs no more than ALLOWED_CAUSED_NS,
 * holds nobody up, however many there are, and whoever asks for one thing after the other never has
 * more. What goes beyond is a debt, of which a fifth of the time that passes is forgiven. While it
 * is below a slice the user is served at once; then there is a pause until it is paid. So whoever
 * floods gets little more than a fifth of the time, in slices short enough that the others hardly
 * meet one, and all who flood share that fifth. Where nobody asks for little there is nothing to
 * keep free: those who ask for much take turns; who is alone is held up only until the loop has
 * looked round once.
 *
 * A message that is not whole yet is no request: what its bytes cost is owed from the first on, or
 * a user who sends beginnings of messages, one piece after the other, would have all the time there
 * is, in rounds that are short each.
 *
 * Commits and plans are paid by those whose requests made them necessary. Who has a fair share pays
 * what they cost the processor beyond what is allowed: they would have been made without the
 * others. Who has more pays for as long as others had to wait for them, and for all else.
 *
 * What is forgiven is shared, too: each of fifty who keep the loop busy has less than a fifth of
 * it. And a round of the loop is for a few of them only, as the round is what the others wait for.
 *
 * The debt outlives the user's connections: a thousand of them one after the other are as dear as
 * one.
 *
 * Time is what the loop could have used. Where other programs have the processors, among them
 * commands of those who flood, a fifth of the clock's time would be all that the loop has: nobody
 * would owe anything, and rounds would have no bound. */
#include "controller/session/share_inside.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define ALLOWED_NS         (100 * NS)   /* of a round */
#define ALLOWED_CAUSED_NS  (500 * NS)   /* of a commit, or of a plan */
#define SLICE_NS           (4000 * NS)  /* alone */
#define SLICE_TURNS_NS     (2000 * NS)  /* among others who ask for much */
#define SLICE_OTHERS_NS    (500 * NS)   /* with others about who do not */
#define SLICE_OVER_NS      (200 * NS)   /* the same, of who goes on to have much */
#define SLICE_ADDRESS_NS   (5000 * NS)  /* a few handshakes */
#define SLICE_STRANGERS_NS (10000 * NS) /* of all addresses together */
#define PART               5 /* of the time those who ask for much have one part of so many */
#define PART_ADDRESS       (2 * PART)  /* and one address half of what all have */
#define MUCH_US            (50 * 1000) /* … unless there was nothing but little for so long */
#define CROWD_US           (USEC_PER_SEC / 2)
#define CREDIT_MAX_NS      (10000 * NS)
#define ROUND_MUCH_NS      (2000 * NS) /* of a round, for all together who have much */
#define STRANGERS_GONE     1024        /* addresses that are remembered after their connections */

struct shares *shares_new(struct loop *l)
{
    struct shares *all = xcalloc(1, sizeof *all);
    all->loop = l;
    all->by_uid = map_u64_new();
    all->strangers = map_u64_new();
    all->timer = timer_new(l, shares_run, all);
    all->gone.last = &all->gone.first;
    all->strangers_gone.last = &all->strangers_gone.first;
    all->last_waiting = &all->waiting;
    return all;
}

/* Nobody who speaks from there has shown what host it is. Users of a host that has are many, and
 * each of their commands begins there. */
static bool is_stranger(const struct user_share *s)
{
    return (s->key & ADDRESS) && !s->vouched;
}

/* Where it is found, and where it waits to be forgotten. */
static struct map_u64 *map_of(const struct user_share *s)
{
    return is_stranger(s) ? s->all->strangers : s->all->by_uid;
}

static struct gone *gone_of(const struct user_share *s)
{
    return is_stranger(s) ? &s->all->strangers_gone : &s->all->gone;
}

static void gone_remove(struct user_share *s)
{
    if (!s->gone)
        return;
    *s->gone = s->next_gone;
    if (s->next_gone)
        s->next_gone->gone = s->gone;
    else
        gone_of(s)->last = s->gone;
    gone_of(s)->n--;
    s->gone = NULL;
}

static void gone_free(struct user_share *s)
{
    gone_remove(s);
    map_u64_del(map_of(s), s->key);
    free(s);
}

void shares_free(struct shares *all)
{
    if (!all)
        return;
    while (all->gone.first)
        gone_free(all->gone.first);
    while (all->strangers_gone.first)
        gone_free(all->strangers_gone.first);
    CHECK(map_u64_count(all->by_uid) == 0 && map_u64_count(all->strangers) == 0);
    map_u64_free(all->by_uid);
    map_u64_free(all->strangers);
    timer_free(all->timer);
    free(all);
}

/* Of those who left, the ones who are owed and owe nothing any more; and strangers who are too
 * many, as what these owe all together is remembered. */
static void gone_sweep(struct shares *all, struct gone *gone, size_t most)
{
    int64_t now = loop_served_us(all->loop);
    while (gone->first && (gone->n > most ||
                           (gone->first->asked_us < now - ABOUT_US && gone->first->free_us < now)))
        gone_free(gone->first);
}

static struct user_share *join(struct shares *all, uint64_t key, int64_t slice_ns)
{
    struct user_share *s = map_u64_get(all->by_uid, key);
    if (!s && (key & ADDRESS))
        s = map_u64_get(all->strangers, key);
    if (!s) {
        gone_sweep(all, &all->gone, SIZE_MAX);
        gone_sweep(all, &all->strangers_gone, STRANGERS_GONE);
        s = xcalloc(1, sizeof *s);
        *s = (struct user_share){.all = all,
                                 .key = key,
                                 .slice_ns = slice_ns,
                                 .over_us = -ABOUT_US,
                                 .credit_us = -ABOUT_US,
                                 .asked_us = -ABOUT_US};
        s->last = &s->first;
        map_u64_put(map_of(s), key, s);
    }
    gone_remove(s);
    s->connections++;
    return s;
}

struct user_share *share_join(struct shares *all, uid_t uid)
{
    return join(all, uid, SLICE_OTHERS_NS);
}

struct user_share *share_join_address(struct shares *all, const char *address)
{
    return join(all, hash_quick(address, strlen(address)) | ADDRESS, SLICE_ADDRESS_NS);
}

static uint64_t host_key(const char *host, uint64_t as)
{
    return (hash_quick(host, strlen(host)) & (BOUND - 1)) | as;
}

static struct user_share *join_host(struct shares *all, const char *host, uint64_t as)
{
    return join(all, host_key(host, as), SLICE_OTHERS_NS);
}

struct user_share *share_join_host(struct shares *all, const char *host)
{
    return join_host(all, host, HOST);
}

struct user_share *share_join_node(struct shares *all, const char *host)
{
    return join_host(all, host, NODE);
}

struct user_share *share_join_guests(struct shares *all, const char *host)
{
    return join_host(all, host, GUESTS);
}

struct user_share *share_join_bound_guests(struct shares *all, const char *host)
{
    return join_host(all, host, GUESTS | BOUND);
}

uint64_t share_guests_mark(const char *host)
{
    return host_key(host, GUESTS);
}

bool share_is_guests(const struct user_share *s)
{
    return (s->key & GUESTS) && !(s->key & (ADDRESS | HOST));
}

void share_leave(struct user_share *s)
{
    ASSERT(s->connections > 0);
    if (--s->connections > 0)
        return;
    if (s->listed)
        share_unlist(s);
    struct gone *gone = gone_of(s);
    s->next_gone = NULL;
    s->gone = gone->last;
    *gone->last = s;
    gone->last = &s->next_gone;
    gone->n++;
}

size_t share_connections(const struct shares *all, uid_t uid)
{
    const struct user_share *s = map_u64_get(all->by_uid, uid);
    return s ? s->connections : 0;
}

/* ---- time ---- */

bool recents_others(const struct recents *r, uint64_t key, int64_t now_us)
{
    for (int i = 0; i < 2; i++)
        if (r->v[i].any && r->v[i].key != key && r->v[i].at_us > now_us - ABOUT_US)
            return true;
    return false;
}

void recents_note(struct recents *r, uint64_t key, int64_t now_us)
{
    if (!r->v[0].any || r->v[0].key != key)
        r->v[1] = r->v[0];
    r->v[0].any = true;
    r->v[0].key = key;
    r->v[0].at_us = now_us;
}

static bool others_about(const struct user_share *s, int64_t now_us)
{
    return recents_others(&s->all->users, s->key, now_us);
}

static void note_asked(struct user_share *s, int64_t now_us)
{
    s->asked_us = now_us;
    if (!(s->key & ADDRESS)) /* of an address, who speaks from there counts */
        recents_note(&s->all->users, s->key, now_us);
}

/* Has more than a fair share: had too much a moment ago, and goes on to have much at once. */
static bool is_over(const struct user_share *s, int64_t now_us)
{
    return s->over_us > now_us - OVER_US && s->much_us > now_us - MUCH_US;
}

static int64_t part(const struct user_share *s)
{
    return is_stranger(s) ? PART_ADDRESS : PART;
}

/* When it is its turn. */
int64_t share_due(const struct user_share *s)
{
    return is_stranger(s) && s->all->strangers_free_us > s->free_us ? s->all->strangers_free_us
                                                                    : s->free_us;
}

/* However many have much, one round of the loop is for a few of them: what the others wait for is
 * the round. Who is to wait for the next one waits a microsecond. */
static bool next_round(const struct user_share *s, int64_t now_us)
{
    const struct shares *all = s->all;
    return all->round == loop_rounds(all->loop).n && all->round_ns >= ROUND_MUCH_NS &&
           s->much_us > now_us - MUCH_US;
}

bool share_may(const struct user_share *s)
{
    int64_t now = loop_served_us(s->all->loop);
    return share_due(s) <= now && !next_round(s, now);
}

bool share_others(const struct user_share *s)
{
    return others_about(s, loop_served_us(s->all->loop));
}

int64_t share_pause(const struct user_share *s)
{
    int64_t now = loop_served_us(s->all->loop);
    return share_due(s) > now ? share_due(s) - now : next_round(s, now);
}

/* How many had much a moment ago: they share what is forgiven. Each of fifty who keep the loop busy
 * has less than a fifth of it, and would owe nothing. */
static int64_t crowd(struct shares *all, int64_t now_us)
{
    int64_t ago = now_us - all->crowd_us;
    if (ago >= CROWD_US) {
        all->crowd_before = ago < 2 * CROWD_US ? all->crowd : 0;
        all->crowd = 0;
        all->crowd_us = now_us;
    }
    int64_t most = all->crowd > all->crowd_before ? all->crowd : all->crowd_before;
    return most ? most : 1;
}

static void crowd_note(struct user_share *s)
{
    struct shares *all = s->all;
    all->crowd += s->crowd_us != all->crowd_us;
    s->crowd_us = all->crowd_us;
}

static void forgive(struct user_share *s, int64_t now_us)
{
    int64_t among = is_stranger(s) ? 1 : crowd(s->all, now_us);
    s->debt_ns -= (now_us - s->counted_us) * NS / part(s) / among;
    s->debt_ns = s->debt_ns > 0 ? s->debt_ns : 0;
    s->counted_us = now_us;
}

/* Who is about, besides: how many ask for much, and whether anybody asks for little. To an address
 * other addresses are those who ask for much, and whoever is known is not to be held up. */
static int64_t others_over(const struct user_share *s, int64_t now_us, bool *ret_light)
{
    struct map_walk at = {0};
    int64_t n = 0;
    *ret_light = is_stranger(s);
    while (map_u64_next(map_of(s), &at)) {
        const struct user_share *other = at.value;
        if (other == s || share_is_host(other) || ((other->key & ADDRESS) && !is_stranger(s)) ||
            (!other->first && other->asked_us <= now_us - ABOUT_US))
            continue;
        if (is_over(other, now_us))
            n++;
        else
            *ret_light = true;
    }
    return n;
}

void share_pause_for(struct user_share *s, int64_t now_us, int64_t us)
{
    int64_t until = now_us + (us < PAUSE_MAX_US ? us : PAUSE_MAX_US);
    s->free_us = until > s->free_us ? until : s->free_us;
}

/* Who has had no more than a share for a while may have something at once before being one of those
 * who share their part: else a user's command now and then waits for a part of theirs, the longer
 * the more they are. All such credit together is no more than that part, too. */
static bool on_credit(struct user_share *s, int64_t now_us)
{
    struct map_walk at = {0};
    int64_t about = 1;
    if (is_stranger(s) || s->over_us > now_us - ABOUT_US)
        return false;
    while (map_u64_next(s->all->by_uid, &at)) {
        const struct user_share *other = at.value;
        about += !share_is_host(other) && (other->first || other->asked_us > now_us - ABOUT_US);
    }
    int64_t most = ABOUT_US * NS / PART / about;
    most = most < CREDIT_MAX_NS ? most : CREDIT_MAX_NS;
    int64_t rested = now_us - s->credit_us < ABOUT_US ? now_us - s->credit_us : ABOUT_US;
    s->credit_ns += rested * NS / PART / about;
    s->credit_ns = s->credit_ns < most ? s->credit_ns : most;
    s->credit_us = now_us;
    if (s->credit_ns < s->debt_ns)
        return false;
    s->credit_ns -= s->debt_ns;
    s->debt_ns = 0;
    return true;
}

/* Others are about, and the debt is more than a slice. */
static void pause_fairly(struct user_share *s, int64_t now_us)
{
    bool light;
    if (on_credit(s, now_us)) {
        share_pause_for(s, now_us, 1); /* until the loop has looked round */
        return;
    }
    int64_t over = others_over(s, now_us, &light);
    if (light) {
        share_pause_for(s, now_us, s->debt_ns / NS * part(s) * (over + 1));
    } else if (s->debt_ns >= SLICE_TURNS_NS) {
        share_pause_for(s, now_us, s->debt_ns / NS * over);
        s->debt_ns = 0;
    }
    /* Who pauses asks for nothing, which is no sign of being content with little. */
    s->over_us = s->free_us > now_us ? s->free_us : now_us;
    s->much_us = s->much_us == now_us ? s->over_us : s->much_us;
}

static void round_note(struct user_share *s, int64_t ns, int64_t now_us)
{
    struct shares *all = s->all;
    uint64_t round = loop_rounds(all->loop).n;
    if (all->round != round)
        all->round_ns = 0;
    all->round = round;
    all->round_ns += s->much_us > now_us - MUCH_US ? ns : 0;
}

int64_t share_beyond(struct user_share *s, int64_t ns)
{
    uint64_t round = loop_rounds(s->all->loop).n;
    int64_t before = s->round == round ? s->round_ns : 0, after = before + ns;
    s->round = round;
    s->round_ns = after;
    if (after <= ALLOWED_NS)
        return 0;
    return before < ALLOWED_NS ? after - ALLOWED_NS : ns;
}

/* Who floods has a part of the time, however it is cut: what somebody waits for who comes at any
 * moment is half of a slice, times that part. A slice goes by in pieces that cannot be cut (a
 * reading of a socket, a part of a listing), and a pause is a millisecond at least: shorter ones
 * would be half a pause each. */
static int64_t slice(const struct user_share *s, int64_t now_us)
{
    return !(s->key & ADDRESS) && is_over(s, now_us) ? SLICE_OVER_NS : s->slice_ns;
}

/* It cost so much, of which so much was too much for one go; `full`: who has more than a fair share
 * pays so much. */
static void owe(struct user_share *s, int64_t cost_ns, int64_t much_ns, int64_t full_ns,
                int64_t now_us)
{
    forgive(s, now_us);
    s->much_us = much_ns > 0 ? now_us : s->much_us;
    if (much_ns > 0 && !is_stranger(s))
        crowd_note(s);
    if (others_about(s, now_us)) {
        s->debt_ns += is_over(s, now_us) ? full_ns : much_ns;
        if (s->debt_ns >= slice(s, now_us))
            pause_fairly(s, now_us);
        return;
    }
    s->alone_ns += cost_ns;
    if (s->alone_ns < SLICE_NS)
        return;
    s->alone_ns = 0;
    share_pause_for(s, now_us, 1);
}

/* However many addresses there are, and any number costs whoever has them nothing: all together
 * have what one user who floods has. */
static void strangers_owe(struct user_share *s, int64_t ns, int64_t now_us)
{
    struct shares *all = s->all;
    all->strangers_ns -= (now_us - all->strangers_us) * NS / PART;
    all->strangers_ns = (all->strangers_ns > 0 ? all->strangers_ns : 0) + ns;
    all->strangers_us = now_us;
    if (all->strangers_ns < SLICE_STRANGERS_NS || !others_about(s, now_us))
        return;
    int64_t us = all->strangers_ns / NS * PART;
    all->strangers_free_us = now_us + (us < PAUSE_MAX_US ? us : PAUSE_MAX_US);
}

void share_spent(struct user_share *s, int64_t ns)
{
    ASSERT(ns >= 0);
    int64_t now = loop_served_us(s->all->loop);
    note_asked(s, now);
    owe(s, ns, share_beyond(s, ns), ns, now);
    round_note(s, ns, now);
    if (is_stranger(s))
        strangers_owe(s, ns, now);
}

void share_spent_on_half(struct user_share *s, int64_t ns)
{
    ASSERT(ns >= 0);
    int64_t now = loop_served_us(s->all->loop);
    note_asked(s, now);
    owe(s, ns, ns, ns, now);
    round_note(s, ns, now);
}

void shares_caused(struct shares *all, uint64_t by, int64_t cost_ns, int64_t took_us)
{
    struct user_share *s = map_u64_get(all->by_uid, by);
    int64_t much = cost_ns > ALLOWED_CAUSED_NS ? cost_ns - ALLOWED_CAUSED_NS : 0;
    if (s)
        owe(s, cost_ns, much, took_us * NS, loop_served_us(all->loop));
}
