#include "unit.h"

#include "base/arena.h"
#include "wire/framed.h"

#include <string.h>

static void say(struct framed *f, uint64_t seq)
{
    struct msg_done body = {.count = 1};
    struct message m = {.kind = MSG_DONE, .seq = seq, .body = &body};
    framed_put(f, &m);
}

/* n bytes of what `from` has to say go to `to`. */
static void carry(struct framed *from, struct framed *to, size_t n)
{
    struct span unsent = framed_unsent(from);
    assert_true(n <= unsent.len);
    memcpy(framed_room(to, n), unsent.data, n);
    framed_came(to, n);
    framed_went(from, n);
}

static uint64_t heard(struct framed *f)
{
    struct frame frame;
    struct message m;
    struct arena *a = arena_new();
    uint64_t seq = 0;
    if (framed_next(f, &frame, NULL) > 0 && wire_decode(&frame, a, &m, NULL))
        seq = m.seq;
    arena_free(a);
    return seq;
}

static void test_frames_come_out_whole_however_the_bytes_came(void **state)
{
    for (size_t piece = 1; piece < 90; piece += 4) {
        struct framed here = {0}, there = {0};
        uint64_t next = 1;
        for (uint64_t seq = 1; seq <= 5; seq++)
            say(&here, seq);
        for (size_t left; (left = framed_unsent(&here).len) > 0;) {
            carry(&here, &there, piece < left ? piece : left);
            for (uint64_t seq; (seq = heard(&there)); next++)
                assert_int_equal(seq, next);
        }
        assert_int_equal(next, 6);
        assert_int_equal(framed_waiting(&there), 0);
        framed_done(&here);
        framed_done(&there);
    }
}

static void test_a_look_takes_nothing(void **state)
{
    struct framed here = {0}, there = {0};
    struct frame frame;
    assert_int_equal(framed_peek(&there, &frame, NULL), 0);
    say(&here, 7);
    carry(&here, &there, framed_unsent(&here).len);
    assert_true(framed_peek(&there, &frame, NULL) > 0);
    assert_int_equal(heard(&there), 7);
    assert_int_equal(framed_peek(&there, &frame, NULL), 0);
    framed_done(&here);
    framed_done(&there);
}

static void test_what_can_be_no_frame_is_said(void **state)
{
    struct framed f = {0};
    struct frame frame;
    struct err err = {0};
    memcpy(framed_room(&f, 16), "\xff\xff\xff\xff\xff\xff\xff\xffhello...", 16);
    framed_came(&f, 16);
    assert_int_equal(framed_next(&f, &frame, &err), -1);
    assert_true(err.code != ERR_NONE && framed_waiting(&f) == 16);
    framed_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_come_out_whole_however_the_bytes_came),
        cmocka_unit_test(test_a_look_takes_nothing),
        cmocka_unit_test(test_what_can_be_no_frame_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
