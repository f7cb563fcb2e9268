/* Answers to queries, small in memory and large through a file, come back whole, in order, in whole
 * frames. */
#include "io_help.h"

#include <dirent.h>

#include "controller/answer.h"
#include "wire/frame.h"

struct reading {
    struct arena *arena;
    uint64_t rows, next_id, count;
    int dones;
    int32_t refusal;
};

static void row_read(void *ctx, const void *record)
{
    struct reading *r = ctx;
    const struct job *j = record;
    assert_int_equal(j->id, r->next_id++);
    r->rows++;
}

static void frame_read(struct reading *r, const struct frame *f)
{
    struct message m;
    if (wire_is_rows(f)) {
        assert_true(rows_decode(f, &job_fields, r->arena, row_read, r, NULL));
        return;
    }
    assert_true(wire_decode(f, r->arena, &m, NULL));
    assert_int_equal(m.seq, 9);
    const struct msg_done *done = m.body;
    r->dones++;
    r->refusal = done->refusal;
    r->count = done->count;
}

static struct reading answer_read(struct answer *a, size_t max)
{
    struct reading r = {.arena = arena_new(), .next_id = 1};
    const char *data;
    size_t len;
    struct err err = {0};
    while (answer_next(a, max, &data, &len, &err)) {
        assert_true(len > 0);
        for (size_t at = 0; at < len;) {
            struct frame f;
            ssize_t n = frame_take(data + at, len - at, &f, NULL);
            assert_true(n > 0); /* only whole frames */
            frame_read(&r, &f);
            at += (size_t)n;
        }
        arena_reset(r.arena);
    }
    assert_int_equal(err.code, ERR_NONE);
    arena_free(r.arena);
    return r;
}

static struct answer *answer_make(const char *dir, uint64_t rows)
{
    struct answer *a = answer_new(dir, 9, &job_fields, "id,user_name,array_pending");
    char *text = xmalloc(1001);
    memset(text, 'x', 1000);
    text[1000] = '\0';
    for (uint64_t i = 1; i <= rows; i++) {
        struct job j = {.id = i, .user_name = "ann", .array_pending = text};
        answer_row(a, &j);
    }
    free(text);
    answer_end(a, REFUSE_NONE, NULL);
    assert_int_equal(answer_rows(a), rows);
    return a;
}

static void rows_come_back(const char *dir, uint64_t rows, size_t max)
{
    struct answer *a = answer_make(dir, rows);
    struct reading r = answer_read(a, max);
    assert_int_equal(r.rows, rows);
    assert_int_equal(r.count, rows);
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.refusal, REFUSE_NONE);
    answer_free(a);
}

static void small_answers_stay_in_memory(void **state)
{
    rows_come_back(((struct world *)*state)->dir, 0, 100000);
    rows_come_back(((struct world *)*state)->dir, 1, 1);
    rows_come_back(((struct world *)*state)->dir, 1000, 100000);
}

static void large_answers_go_through_a_file(void **state)
{
    rows_come_back(((struct world *)*state)->dir, 20000, 256 << 10);
    rows_come_back(((struct world *)*state)->dir, 20000, 1);
}

static void without_a_file_they_stay_in_memory_within_bounds(void **state)
{
    (void)state;
    rows_come_back("/nowhere", 20000, 256 << 10);
    struct answer *a = answer_new("/nowhere", 9, &job_fields, "array_pending");
    char *text = xmalloc(1000001);
    memset(text, 'x', 1000000);
    text[1000000] = '\0';
    for (int i = 0; i < 100; i++)
        answer_row(a, &(struct job){.array_pending = text});
    free(text);
    answer_end(a, REFUSE_NONE, NULL);
    struct reading r = {.arena = arena_new()};
    const char *data;
    size_t len;
    while (answer_next(a, 1, &data, &len, NULL)) {
        struct frame f;
        assert_true(frame_take(data, len, &f, NULL) > 0);
        if (!wire_is_rows(&f))
            frame_read(&r, &f);
    }
    assert_int_equal(r.refusal, REFUSE_BUSY);
    assert_int_equal(r.dones, 1);
    arena_free(r.arena);
    answer_free(a);
}

static void a_refusal_has_no_rows(void **state)
{
    struct answer *a = answer_new(((struct world *)*state)->dir, 9, &job_fields, NULL);
    answer_end(a, REFUSE_INVALID_JOB_ID, "there is no job 5");
    struct reading r = answer_read(a, 1000);
    assert_int_equal(r.rows, 0);
    assert_int_equal(r.refusal, REFUSE_INVALID_JOB_ID);
    answer_free(a);
}

static const struct peer ann = {.uid = 1, .user = "ann"}, bob = {.uid = 2, .user = "bob"};

static struct answer *of_user(struct answer_rooms *rooms, const char *dir, const struct peer *peer,
                              int mib)
{
    struct answer *a = answer_new(dir, 9, &job_fields, "array_pending");
    char *text = xmalloc((1u << 20) + 1);
    memset(text, 'x', 1u << 20);
    text[1u << 20] = '\0';
    answer_of(a, rooms, peer);
    for (int i = 0; i < mib; i++)
        answer_row(a, &(struct job){.array_pending = text});
    free(text);
    answer_end(a, REFUSE_NONE, NULL);
    return a;
}

static int32_t refusal_of(struct answer *a, uint64_t *ret_bytes)
{
    struct reading r = {.arena = arena_new()};
    const char *data;
    size_t len;
    *ret_bytes = 0;
    while (answer_next(a, 1, &data, &len, NULL)) {
        struct frame f;
        *ret_bytes += len;
        assert_true(frame_take(data, len, &f, NULL) > 0);
        if (!wire_is_rows(&f))
            frame_read(&r, &f);
    }
    arena_free(r.arena);
    return r.refusal;
}

/* One may be as large as it is, and those of others are others'. */
static void what_a_user_does_not_read_is_bounded(void **state)
{
    const char *dir = ((struct world *)*state)->dir;
    struct answer_rooms *rooms = answer_rooms_new(8u << 20);
    uint64_t bytes;
    struct answer *large = of_user(rooms, dir, &ann, 20), *refused = of_user(rooms, dir, &ann, 4),
                  *other = of_user(rooms, dir, &bob, 4);
    assert_int_equal(refusal_of(refused, &bytes), REFUSE_BUSY);
    assert_true(bytes < 4096); /* its rows are not kept */
    assert_int_equal(refusal_of(other, &bytes), REFUSE_NONE);
    assert_int_equal(refusal_of(large, &bytes), REFUSE_NONE);
    assert_true(bytes > 20u << 20);
    answer_free(large);
    struct answer *again = of_user(rooms, dir, &ann, 4);
    assert_int_equal(refusal_of(again, &bytes), REFUSE_NONE);
    answer_free(again);
    answer_free(refused);
    answer_free(other);
    answer_rooms_free(rooms);
}

/* Whoever may have user namespaces is as many of them as he likes. */
static void users_without_a_name_have_the_room_of_one(void **state)
{
    const char *dir = ((struct world *)*state)->dir;
    struct answer_rooms *rooms = answer_rooms_new(8u << 20);
    uint64_t bytes;
    struct answer *one = of_user(rooms, dir, &(struct peer){.uid = 1}, 20),
                  *another = of_user(rooms, dir, &(struct peer){.uid = 3}, 4),
                  *named = of_user(rooms, dir, &ann, 4),
                  *root = of_user(rooms, dir, &(struct peer){.is_admin = true}, 4);
    assert_int_equal(refusal_of(another, &bytes), REFUSE_BUSY);
    assert_int_equal(refusal_of(named, &bytes), REFUSE_NONE);
    assert_int_equal(refusal_of(root, &bytes), REFUSE_NONE);
    answer_free(one);
    answer_free(another);
    answer_free(named);
    answer_free(root);
    answer_rooms_free(rooms);
}

static size_t descriptors(void)
{
    size_t n = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all))
        n++;
    closedir(all);
    return n;
}

/* Each is small enough for itself. */
static void what_a_user_does_not_read_leaves_the_memory(void **state)
{
    const char *dir = ((struct world *)*state)->dir;
    struct answer_rooms *rooms = answer_rooms_new(ANSWERS_DISK_BYTES);
    struct answer *his[40];
    size_t before = descriptors();
    for (size_t i = 0; i < ARRAY_LEN(his); i++) {
        his[i] = of_user(rooms, dir, &ann, 1);
        if (i < 30)
            assert_int_equal(descriptors(), before);
    }
    assert_in_range(descriptors() - before, 7, 9);
    before = descriptors();
    struct answer *other = of_user(rooms, dir, &bob, 1);
    assert_int_equal(descriptors(), before);
    for (size_t i = 0; i < ARRAY_LEN(his); i++)
        answer_free(his[i]);
    answer_free(other);
    answer_rooms_free(rooms);
}

/* What docs/security.md promises of the controller's disk. */
static void a_user_has_one_gib_of_the_disk(void **unused)
{
    (void)unused;
    assert_int_equal(ANSWERS_DISK_BYTES, INT64_C(1) << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_user_has_one_gib_of_the_disk),
        TEST(small_answers_stay_in_memory),
        TEST(large_answers_go_through_a_file),
        TEST(without_a_file_they_stay_in_memory_within_bounds),
        TEST(a_refusal_has_no_rows),
        TEST(what_a_user_does_not_read_is_bounded),
        TEST(users_without_a_name_have_the_room_of_one),
        TEST(what_a_user_does_not_read_leaves_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
