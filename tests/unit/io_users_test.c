/* What is remembered of users, on the controller's host and on nodes, where a number becomes
 * another's and where name services hang. The name service is this file's. */
#include "io_help.h"

#include "io/users.h"
#include "node/step/owner.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define NUMBER 70001u

static struct {
    const char *_Atomic name; /* of NUMBER */
    atomic_bool hangs;
    atomic_int refusals; /* so often there is no descriptor for it */
    atomic_bool all;     /* everybody has that name */
    atomic_int asked;
} service;

/* In place of libc's. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
    while (service.hangs)
        usleep(10000);
    *found = NULL;
    atomic_fetch_add(&service.asked, 1);
    if (atomic_load(&service.refusals) > 0) {
        atomic_fetch_sub(&service.refusals, 1);
        return EMFILE;
    }
    if (uid != NUMBER && !service.all)
        return ENOENT;
    *entry = (struct passwd){.pw_uid = uid, .pw_gid = 70000, .pw_dir = room, .pw_shell = room};
    snprintf(room, size, "/");
    entry->pw_name = room + 2;
    snprintf(entry->pw_name, size - 2, "%s", service.name);
    *found = entry;
    return 0;
}

static void a_number_that_became_anothers_comes_with_nothing_of_the_former(void **state)
{
    struct world *w = *state;
    struct users *u = users_new(w->loop, 1);
    service.name = "alice";
    users_ask(u, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    service.name = "bob";
    usleep(1000);
    /* Who begins now waits; who has begun goes on. */
    assert_string_equal(users_cached(u, NUMBER, 70000)->name, "alice");
    assert_null(users_recent(u, NUMBER, 70000));
    users_ask(u, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_string_equal(users_cached(u, NUMBER, 70000)->name, "bob");
    users_free(u);
    u = users_new(w->loop, USEC_PER_HOUR);
    users_ask(u, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_ptr_equal(users_recent(u, NUMBER, 70000), users_cached(u, NUMBER, 70000));
    users_free(u);
}

/* A lookup that had no descriptor is no answer: a job was refused as a stranger's, or began without
 * the groups of its user. */
static void who_cannot_be_looked_up_for_want_of_room_is_no_stranger(void **state)
{
    struct world *w = *state;
    struct users *u = users_new(w->loop, 1);
    struct owners *o = owners_new(w->loop, 1);
    service.name = "alice";
    atomic_store(&service.refusals, 3);
    users_ask(u, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_non_null(users_cached(u, NUMBER, 70000)->name);
    assert_string_equal(users_cached(u, NUMBER, 70000)->name, "alice");
    atomic_store(&service.refusals, 3);
    owners_ask(o, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_true(owners_cached(o, NUMBER, 70000)->known);
    assert_int_equal(owners_cached(o, NUMBER, 70000)->ngroups, 1);
    owners_free(o);
    users_free(u);
}

/* The same of who runs a job: else it had the groups that its user has left. */
static void owners_of_jobs_are_asked_again(void **state)
{
    struct world *w = *state;
    struct owners *o = owners_new(w->loop, 1);
    service.name = "alice";
    assert_null(owners_recent(o, NUMBER, 70000));
    owners_ask(o, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    service.name = "bob"; /* who looks asks again */
    assert_string_equal(owners_cached(o, NUMBER, 70000)->name, "alice");
    usleep(1000);
    assert_null(owners_recent(o, NUMBER, 70000));
    owners_ask(o, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_string_equal(owners_cached(o, NUMBER, 70000)->name, "bob");
    owners_free(o);
    o = owners_new(w->loop, USEC_PER_HOUR);
    owners_ask(o, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    assert_ptr_equal(owners_recent(o, NUMBER, 70000), owners_cached(o, NUMBER, 70000));
    owners_free(o);
}

static void second_stops(void *ctx)
{
    struct world *w = ctx;
    if (++w->calls == 2)
        loop_stop(w->loop);
}

/* Whom it knows it serves by what it knew, after a while. */
static void name_services_that_hang_do_not_keep_who_is_known(void **state)
{
    struct world *w = *state;
    struct users *u = users_new(w->loop, 1);
    struct owners *o = owners_new(w->loop, 1);
    service.name = "alice";
    users_ask(u, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    owners_ask(o, NUMBER, 70000, world_stop, w);
    loop_run(w->loop);
    usleep(1000);
    service.hangs = true;
    assert_null(users_recent(u, NUMBER, 70000));
    assert_null(owners_recent(o, NUMBER, 70000));
    w->calls = 0;
    users_ask(u, NUMBER, 70000, second_stops, w);
    owners_ask(o, NUMBER, 70000, second_stops, w);
    loop_run(w->loop);
    assert_string_equal(users_recent(u, NUMBER, 70000)->name, "alice"); /* the next does not wait */
    assert_string_equal(owners_recent(o, NUMBER, 70000)->name, "alice");
    service.hangs = false;
    users_free(u); /* with lookups under way */
    owners_free(o);
}

/* Nor does a daemon stay when it is to end. */
static void name_services_that_hang_do_not_keep_a_loop_from_its_end(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct loop *l = loop_new(NULL);
        struct users *u = users_new(l, 1);
        service.hangs = true;
        users_ask(u, NUMBER, 70000, NULL, NULL);
        users_free(u);
        loop_free(l);
        _exit(3); /* that was not waited for */
    }
    int status = -1;
    for (int i = 0; i < 100 && waitpid(child, &status, WNOHANG) == 0; i++)
        usleep(100000);
    if (!WIFEXITED(status))
        kill(child, SIGKILL);
    assert_int_equal(status, 0);
}

static void found_counts(void *ctx)
{
    struct world *w = ctx;
    w->calls++;
}

static void last_stops(void *ctx)
{
    struct world *w = ctx;
    if (--w->calls == 0)
        loop_stop(w->loop);
}

/* There are as many groups as somebody likes who may have user namespaces, and as many users. Who
 * comes after thousands of one user's lookups waits for the few that run. */
static void lookups_take_turns_by_user(void **state)
{
    enum { GROUPS = 3000 };
    struct world *w = *state;
    struct users *u = users_new(w->loop, USEC_PER_HOUR);
    service.name = "alice";
    service.all = service.hangs = true;
    atomic_store(&service.asked, 0);
    w->calls = 0;
    for (gid_t gid = 0; gid < GROUPS; gid++)
        users_ask(u, NUMBER, gid, found_counts, w);
    users_ask(u, NUMBER + 1, 1, world_stop, w);
    service.hangs = false;
    loop_run(w->loop);
    assert_non_null(users_cached(u, NUMBER + 1, 1));
    assert_in_range(w->calls, 0, 64);
    assert_in_range(atomic_load(&service.asked), 1, 64);
    users_free(u); /* with lookups that did not begin */
    service.all = false;
}

/* Of each user 64 entries are kept, and what somebody needs, be it the oldest. */
static void entries_of_a_user_have_an_end(void **state)
{
    enum { GROUPS = 500, LEFT = 64 };
    struct world *w = *state;
    struct users *u = users_new(w->loop, USEC_PER_HOUR);
    size_t there = 0;
    service.name = "alice";
    for (gid_t gid = 0; gid < GROUPS; gid++) {
        if (gid == 3)
            users_keep(u, NUMBER, gid);
        w->calls = 1;
        users_ask(u, NUMBER, gid, last_stops, w);
        loop_run(w->loop);
        assert_non_null(users_cached(u, NUMBER, gid));
    }
    assert_non_null(users_cached(u, NUMBER, 3));
    for (gid_t gid = 0; gid < GROUPS; gid++)
        there += users_cached(u, NUMBER, gid) != NULL;
    assert_in_range(there, 2, LEFT);
    users_let_go(u, NUMBER, 3);
    /* Who waits is told, though all are needed. */
    for (gid_t gid = GROUPS; gid < 2 * GROUPS; gid++)
        users_keep(u, NUMBER, gid);
    w->calls = GROUPS;
    for (gid_t gid = GROUPS; gid < 2 * GROUPS; gid++)
        users_ask(u, NUMBER, gid, last_stops, w);
    loop_run(w->loop);
    for (gid_t gid = GROUPS; gid < 2 * GROUPS; gid++) {
        assert_non_null(users_cached(u, NUMBER, gid));
        users_let_go(u, NUMBER, gid);
    }
    users_free(u);
}

/* Who connects and goes, as one number after the other, before anybody has looked him up, because
 * he was refused or because name services are slow, leaves nothing. */
static void who_goes_before_his_lookup_leaves_nothing(void **state)
{
    enum { NUMBERS = 20000, BYTES = 4 << 20 };
    struct world *w = *state;
    struct users *u = users_new(w->loop, USEC_PER_HOUR);
    service.name = "alice";
    size_t before = mallinfo2().uordblks;
    for (uid_t uid = 1; uid <= NUMBERS; uid++) {
        users_keep(u, uid, uid % 7);
        users_let_go(u, uid, uid % 7);
    }
    assert_in_range(mallinfo2().uordblks, 0, before + (256 << 10));
    service.all = service.hangs = true;
    atomic_store(&service.asked, 0);
    for (uid_t uid = 1; uid <= NUMBERS; uid++) {
        uid_t asks = uid % 2 ? NUMBER : uid; /* one in groups, and others */
        users_keep(u, asks, uid);
        users_ask(u, asks, uid, found_counts, w);
        users_cancel(u, asks, uid, w);
        users_let_go(u, asks, uid);
    }
    assert_in_range(mallinfo2().uordblks, 0, before + BYTES);
    w->calls = 0;
    users_ask(u, NUMBER, 1, found_counts, w); /* which waits or runs */
    users_ask(u, NUMBER + 1, 1, world_stop, w);
    service.hangs = false;
    loop_run(w->loop);
    assert_non_null(users_cached(u, NUMBER + 1, 1));
    assert_in_range(atomic_load(&service.asked), 1, 10);
    assert_in_range(w->calls, 0, 1);
    users_free(u);
    service.all = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_number_that_became_anothers_comes_with_nothing_of_the_former),
        TEST(who_cannot_be_looked_up_for_want_of_room_is_no_stranger),
        TEST(owners_of_jobs_are_asked_again),
        TEST(name_services_that_hang_do_not_keep_who_is_known),
        TEST(lookups_take_turns_by_user),
        TEST(entries_of_a_user_have_an_end),
        TEST(who_goes_before_his_lookup_leaves_nothing),
        TEST(name_services_that_hang_do_not_keep_a_loop_from_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
