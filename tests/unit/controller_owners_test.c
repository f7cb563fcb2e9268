/* Who has which number, asked of name services that err, are slow, hang, or have lost their
 * directory. The name service is this file's, and so are the core and its turns. */
#include "io_help.h"

#include "controller/controller.h"
#include "controller/site/owners.h"
#include "controller/turn.h"

#include <errno.h>
#include <pwd.h>
#include <stdatomic.h>

#define FIRST 70001u
#define USERS 4

static struct {
    const char *name[USERS];
    int rc[USERS]; /* what is answered where there is no name */
    atomic_int asked;
    atomic_bool hangs;
} service;

static struct {
    struct world *w;
    size_t users, events, until; /* so many events end the loop */
    char name[USERS][16];        /* "" = not told, "-" = nobody */
    size_t waits;                /* so often was it said that starts wait */
    int64_t wait_us;             /* and for how long, last */
} core;

/* In place of libc's. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
    atomic_fetch_add(&service.asked, 1);
    while (service.hangs)
        usleep(10000);
    *found = NULL;
    if (uid < FIRST || uid >= FIRST + USERS || !service.name[uid - FIRST])
        return uid < FIRST || uid >= FIRST + USERS ? ENOENT : service.rc[uid - FIRST];
    *entry = (struct passwd){.pw_uid = uid, .pw_gid = uid, .pw_dir = room, .pw_shell = room};
    snprintf(room, size, "/");
    entry->pw_name = room + 2;
    snprintf(entry->pw_name, size - 2, "%s", service.name[uid - FIRST]);
    *found = entry;
    return 0;
}

/* In place of the core's and the turns'. */
const uint32_t *core_owners(const struct core *c, struct arena *a, size_t *ret_n)
{
    (void)c;
    uint32_t *uid = arena_alloc(a, USERS * sizeof *uid);
    for (uint32_t i = 0; i < USERS; i++)
        uid[i] = FIRST + i;
    *ret_n = core.users;
    return uid;
}

void turns_step(struct turns *t, const struct event *ev)
{
    (void)t;
    assert_int_equal(ev->kind, EV_OWNERS);
    assert_true(ev->nowners > 0);
    for (size_t i = 0; i < ev->nowners; i++)
        snprintf(core.name[ev->owners[i].uid - FIRST], sizeof core.name[0], "%s",
                 ev->owners[i].name ? ev->owners[i].name : "-");
    if (++core.events == core.until)
        loop_stop(core.w->loop);
}

void turns_start_later(struct turns *t, int64_t by_us)
{
    (void)t;
    core.waits++;
    core.wait_us = by_us;
}

static struct controller site_of(struct world *w, size_t users, size_t until)
{
    memset(&service, 0, sizeof service);
    memset(&core, 0, sizeof core);
    core.w = w;
    core.users = users;
    core.until = until;
    return (struct controller){.loop = w->loop,
                               .log = log_open("/dev/null", LOG_IS_DEBUG, NULL),
                               .users = users_new(w->loop, USEC_PER_HOUR)};
}

static void site_end(struct controller *c)
{
    owner_watch_free(c->owners);
    users_free(c->users);
    log_close(c->log);
}

static void names_are_told_and_errors_are_not(void **state)
{
    struct controller c = site_of(*state, 4, 2);
    service.name[0] = "ada";
    service.name[1] = "bea";
    service.rc[2] = EIO;
    service.rc[3] = ENOENT;
    c.owners = owner_watch_new(&c);
    loop_run(c.loop);
    assert_string_equal(core.name[0], "ada");
    assert_string_equal(core.name[1], "bea");
    assert_string_equal(core.name[2], "");
    assert_string_equal(core.name[3], "-");
    site_end(&c);
}

static void stop_soon(struct controller *c, struct world *w, int64_t us)
{
    struct timer *t = timer_new(c->loop, world_stop, w);
    timer_set(t, us);
    loop_run(c->loop);
    timer_free(t);
}

static void most_users_are_not_gone_at_once(void **state)
{
    struct controller c = site_of(*state, 4, 0);
    service.name[0] = "ada";
    c.owners = owner_watch_new(&c);
    while (!core.events)
        stop_soon(&c, *state, 10000);
    stop_soon(&c, *state, 10000);
    assert_string_equal(core.name[0], "ada");
    for (size_t i = 1; i < USERS; i++)
        assert_string_equal(core.name[i], "");
    site_end(&c);
}

/* The only one may be gone. */
static void one_user_may_be_gone(void **state)
{
    struct controller c = site_of(*state, 1, 1);
    c.owners = owner_watch_new(&c);
    loop_run(c.loop);
    assert_string_equal(core.name[0], "-");
    site_end(&c);
}

/* Who is found to have another name when somebody connects is told at once, and the other way
 * round: what is remembered for who connects is asked again. */
static void who_has_another_name_is_looked_at_at_once(void **state)
{
    struct world *w = *state;
    struct controller c = site_of(w, 1, 1);
    service.name[0] = "ada";
    users_ask(c.users, FIRST, FIRST, world_stop, w);
    loop_run(c.loop);
    c.owners = owner_watch_new(&c);
    loop_run(c.loop);
    service.name[0] = "eve";
    core.until = 2;
    users_flush(c.users);
    loop_run(c.loop);
    assert_string_equal(core.name[0], "eve");
    assert_string_equal(users_cached(c.users, FIRST, FIRST)->name, "eve");
    site_end(&c);
    c = site_of(w, 1, 1);
    service.name[0] = "ada";
    users_ask(c.users, FIRST, FIRST, world_stop, w);
    loop_run(c.loop);
    service.name[0] = "eve";
    c.owners = owner_watch_new(&c);
    loop_run(c.loop);
    while (!text_is(users_cached(c.users, FIRST, FIRST)->name, "eve"))
        stop_soon(&c, w, 10000);
    site_end(&c);
}

static void name_services_that_hang_have_one_thread(void **state)
{
    struct controller c = site_of(*state, 4, 0);
    service.hangs = true;
    c.owners = owner_watch_new(&c);
    stop_soon(&c, *state, 50000);
    assert_true(service.asked <= 1);
    assert_int_equal(core.events, 0);
    site_end(&c); /* with a lookup under way */
    service.hangs = false;
}

/* A number may have been given away while no controller was there. */
static void starts_wait_for_the_first_round_alone(void **state)
{
    struct controller c = site_of(*state, 2, 2);
    service.name[0] = "ada";
    service.rc[1] = ENOENT;
    c.owners = owner_watch_new(&c);
    assert_int_equal(core.waits, 1);
    assert_true(core.wait_us > 0);
    loop_run(c.loop);
    assert_string_equal(core.name[1], "-");
    stop_soon(&c, *state, USEC_PER_SEC / 10);
    assert_int_equal(core.waits, 2);
    assert_int_equal(core.wait_us, 0);
    site_end(&c);
    c = site_of(*state, 0, 1); /* nobody is asked about */
    c.owners = owner_watch_new(&c);
    assert_int_equal(core.wait_us, 0);
    site_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_told_and_errors_are_not),
        TEST(most_users_are_not_gone_at_once),
        TEST(one_user_may_be_gone),
        TEST(who_has_another_name_is_looked_at_at_once),
        TEST(name_services_that_hang_have_one_thread),
        TEST(starts_wait_for_the_first_round_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
