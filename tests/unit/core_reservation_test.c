/* Reservations, as the controller keeps them. */
#include "core_help.h"

#define DAY (24 * USEC_PER_HOUR)

static const struct reservation *resv(void)
{
    return the(QUERY_RESERVATIONS, "r");
}

static enum refusal asked(bool create, struct reservation r, const char *fields)
{
    am_root();
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){
            .name = "r", .create = create, .fields = fields, .values = {&r, 1}});
    return refusal();
}

static void change(bool create, struct reservation r, const char *fields)
{
    assert_int_equal(asked(create, r, fields), REFUSE_NONE);
}

/* In the second night clocks skip the hour in which it begins. Whatever is changed of it on that
 * day, but its start, the days after have the time that was asked for; a start that is set is its
 * time from then on. */
static void a_change_of_a_night_that_is_skipped_keeps_the_time(void **unused)
{
    static const struct {
        const char *fields;
        int64_t third; /* begins, after the first */
    } rows[] = {{"comment", 2 * DAY - USEC_PER_HOUR},
                {"duration_us", 2 * DAY - USEC_PER_HOUR},
                {"users", 2 * DAY - USEC_PER_HOUR},
                {"start_us,duration_us", 2 * DAY}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        world_open(CONF, 4);
        int64_t first = w.now + 4 * USEC_PER_HOUR; /* at 02:13 */
        w.config.zone =
            arena_printf(w.a, "0:0 %lld:3600", (long long)((first + DAY) / USEC_PER_SEC - 600));
        step((struct event){.kind = EV_CONFIG, .config = &w.config});
        struct reservation r = {.users = "bob",
                                .nodes = "n1",
                                .start_us = first,
                                .duration_us = 30 * MIN,
                                .flags = RESV_DAILY};
        change(true, r, "users,nodes,start_us,duration_us,flags");
        pass(5 * USEC_PER_HOUR);
        assert_int_equal(resv()->start_us, first + DAY);
        r = (struct reservation){.users = "alice",
                                 .comment = "longer",
                                 .start_us = first + DAY,
                                 .duration_us = 40 * MIN};
        change(false, r, rows[i].fields);
        assert_int_equal(resv()->start_us, first + DAY);
        pass(DAY);
        assert_int_equal(resv()->start_us, first + rows[i].third);
        world_close();
    }
}

/* Commands say so themselves; a frame that somebody wrote was taken, and the reservation lost when
 * the controller started again. */
static void it_recurs_in_one_way(void **unused)
{
    world_open(CONF, 4);
    struct reservation r = {.users = "bob",
                            .nodes = "n1",
                            .start_us = w.now + USEC_PER_HOUR,
                            .duration_us = 30 * MIN,
                            .flags = RESV_HOURLY | RESV_DAILY};
    assert_int_equal(asked(true, r, "users,nodes,start_us,duration_us,flags"), REFUSE_RESERVATION);
    r.flags = RESV_DAILY;
    change(true, r, "users,nodes,start_us,duration_us,flags");
    r.flags = RESV_DAILY | RESV_WEEKLY;
    assert_int_equal(asked(false, r, "flags"), REFUSE_RESERVATION);
    assert_int_equal(resv()->flags & RESV_RECURRING, RESV_DAILY);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_recurs_in_one_way),
        cmocka_unit_test(a_change_of_a_night_that_is_skipped_keeps_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
