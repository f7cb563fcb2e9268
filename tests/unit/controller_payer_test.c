/* Whose share a session counts in, and who pays for what it asked for when it is gone. Name
 * services, connections and hosts are stand-ins. */
#include "loop_stand_in.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "controller/session/inside.h"
#include "controller/turn.h"
#include "model/limits.h"

#include <string.h>

#define NAMED  1000
#define MADE   70000 /* and what follows it: name services do not know them */
#define BEGINS 90000 /* they were not asked yet */

static struct host hosts[] = {
    {.id = "a1", .name = "far", .kind = HOST_TRUSTED},
    {.id = "b2", .name = "new", .kind = HOST_TRUSTED},
    {.id = "c3", .name = "head", .kind = HOST_TRUSTED}, /* as the controller's own */
    {.id = "d4", .name = "door", .kind = HOST_LOGIN},
};
static struct controller controller = {.host = "head"};
static struct sessions all;
static struct remote remote;

/* ---- stand-ins ---- */

const struct user *users_cached(struct users *u, uid_t uid, gid_t gid)
{
    static struct user named = {.name = "ann"}, made_up;
    (void)u, (void)gid;
    return uid == NAMED ? &named : uid >= BEGINS && uid != GUEST_UID ? NULL : &made_up;
}

void users_let_go(struct users *u, uid_t uid, gid_t gid)
{
    (void)u, (void)uid, (void)gid;
}

const struct user_group *user_group(const struct user *user, gid_t gid)
{
    (void)user, (void)gid;
    return NULL;
}

const char *conn_tls_peer(const struct conn *c)
{
    return (const char *)c; /* the id of its host */
}

const struct host *core_host(const struct core *c, const char *id)
{
    (void)c;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        if (text_is(hosts[i].id, id))
            return &hosts[i];
    return NULL;
}

/* ---- the world ---- */

static int setup(void **state)
{
    (void)state;
    stand_in_begin();
    all = (struct sessions){
        .c = &controller, .by_id = map_u64_new(), .shares = shares_new(NULL), .arena = arena_new()};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    map_u64_free(all.by_id);
    shares_free(all.shares);
    arena_free(all.arena);
    return 0;
}

/* One of that user on the host of that id; NULL: on the controller's own. */
static struct session session_of(uid_t uid, const char *host)
{
    struct session s = {.owner = &all,
                        .conn = (struct conn *)host,
                        .remote = host ? &remote : NULL,
                        .who = {.known = true, .uid = uid}};
    session_count_host(&s);
    session_count(&s);
    session_guest(&s);
    return s;
}

/* The mark of the share in which it is counted while it is there. */
static uint64_t counted(uid_t uid, const char *host)
{
    struct session s = session_of(uid, host);
    uint64_t mark = share_mark(s.share);
    session_uncount(&s);
    return mark;
}

/* Who pays for its request when it is gone. */
static uint64_t gone_pays(uid_t uid, const char *host)
{
    struct session s = session_of(uid, host);
    struct peer peer = session_peer(&s);
    session_uncount(&s);
    return session_payer(&all, 0, &peer);
}

/* How many connections made-up users, each with one, have there until one is refused, and what it
 * is told. */
static size_t crowd(const char *host, const char **ret_why)
{
    static struct session held[LIMIT_CONNECTIONS];
    size_t n = 0;
    for (*ret_why = NULL; !*ret_why && n < ARRAY_LEN(held); n++) {
        held[n] = session_of(MADE + (uid_t)n, host);
        map_u64_put(all.by_id, n + 1, &held[n]);
        *ret_why = session_host_surplus(&held[n], all.arena);
        if (!*ret_why)
            *ret_why = session_share_surplus(&held[n], all.arena);
    }
    for (size_t i = 0; i < n; i++) {
        session_uncount(&held[i]);
        map_u64_del(all.by_id, i + 1);
    }
    return n - 1;
}

/* ---- tests ---- */

static void who_has_left_pays_where_he_was_counted(void **state)
{
    (void)state;
    const char *trusted[] = {NULL, "a1", "b2", "c3"};
    for (size_t i = 0; i < ARRAY_LEN(trusted); i++) {
        const uid_t uids[] = {NAMED, MADE, MADE + 1};
        for (size_t k = 0; k < ARRAY_LEN(uids); k++) {
            assert_int_equal(gone_pays(uids[k], trusted[i]), counted(uids[k], trusted[i]));
            assert_int_equal(counted(uids[k], trusted[i]) > UINT32_MAX, uids[k] != NAMED);
        }
    }
    assert_int_not_equal(counted(MADE, "a1"), counted(MADE, NULL));
}

/* Those of an untrusted host may make nothing necessary; its name, which it chose, is nobody's. */
static void guests_of_a_host_that_is_not_believed_pay_for_nobody_else(void **state)
{
    (void)state;
    hosts[3].name = "far";
    assert_int_equal(gone_pays(MADE, "d4"), GUEST_UID);
    assert_int_not_equal(gone_pays(MADE, "d4"), gone_pays(MADE, "a1"));
    hosts[3].name = "door";
    assert_int_equal(gone_pays(NAMED, "d4"), NAMED);
}

static void who_begins_is_counted_with_no_host(void **state)
{
    (void)state;
    assert_int_equal(counted(BEGINS, "b2"), share_guests_mark(GUESTS_NEW));
    assert_int_not_equal(counted(BEGINS, "b2"), counted(MADE, "b2"));
}

/* A host that is trusted has no limit of its own: those whom its users make up are one user. */
static void made_up_users_of_a_trusted_host_have_what_one_user_has(void **state)
{
    (void)state;
    const char *why;
    assert_int_equal(crowd("a1", &why), LIMIT_CONNECTIONS_PER_USER);
    assert_non_null(strstr(why, "users whom the name services do not know"));
    assert_int_equal(crowd(NULL, &why), LIMIT_CONNECTIONS_PER_USER);
}

static void made_up_users_of_a_login_host_have_what_it_has(void **state)
{
    (void)state;
    const char *why;
    size_t n = crowd("d4", &why);
    assert_in_range(n, 1300, LIMIT_CONNECTIONS / 2);
    assert_non_null(strstr(why, "host door has 1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_has_left_pays_where_he_was_counted),
        TEST(guests_of_a_host_that_is_not_believed_pay_for_nobody_else),
        TEST(who_begins_is_counted_with_no_host),
        TEST(made_up_users_of_a_trusted_host_have_what_one_user_has),
        TEST(made_up_users_of_a_login_host_have_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
