#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/shepherd/tasks/output_keep.h"

#include <stdlib.h>
#include <string.h>

static struct str sent;
static size_t pieces;

/* Who attaches. */
void stream_send(struct stream *s, enum message_kind kind, const void *body)
{
    const struct msg_stream_data *m = body;
    (void)s;
    assert_int_equal(kind, MSG_STREAM_DATA);
    str_addn(&sent, m->data.data, m->data.len);
    pieces++;
}

static void add(struct output_kept *k, const void *bytes, size_t len)
{
    output_keep_add(k, &(struct msg_stream_data){.data = {bytes, len}});
}

static void replay(const struct output_kept *k)
{
    str_clear(&sent);
    pieces = 0;
    output_keep_send(k, NULL);
}

/* It lives as long as its shepherd, so nothing frees it. */
static struct output_kept *kept[8];
static size_t nkept;

static struct output_kept *keep(void)
{
    return kept[nkept++] = output_keep_new();
}

static void test_all_comes_in_its_order(void **state)
{
    (void)state;
    struct output_kept *k = keep();
    replay(k);
    assert_int_equal(pieces, 0);
    add(k, "one ", 4);
    add(k, "two ", 4);
    add(k, "three", 5);
    replay(k);
    assert_int_equal(sent.len, 13);
    assert_memory_equal(sent.data, "one two three", 13);
}

/* A byte for each number, so that it can be seen which are left. */
static unsigned char pattern_at(size_t i)
{
    return (unsigned char)(i * 31 % 251);
}

static void written_in_pieces_of(size_t piece, size_t total)
{
    struct output_kept *k = keep();
    unsigned char *bytes = xmalloc(piece);
    for (size_t done = 0; done < total; done += piece) {
        for (size_t i = 0; i < piece; i++)
            bytes[i] = pattern_at(done + i);
        add(k, bytes, piece);
    }
    free(bytes);
    size_t written = (total + piece - 1) / piece * piece;
    replay(k);
    assert_true(sent.len <= OUTPUT_KEPT_BYTES);
    for (size_t i = 0; i < sent.len; i++)
        if ((unsigned char)sent.data[i] != pattern_at(written - sent.len + i))
            fail_msg("pieces of %zu: byte %zu of the last %zu is another", piece, i, sent.len);
}

static void test_the_oldest_goes_first(void **state)
{
    (void)state;
    written_in_pieces_of(1000, 3 * OUTPUT_KEPT_BYTES);
    assert_int_equal(sent.len, OUTPUT_KEPT_BYTES); /* to the byte: the oldest piece is cut */
    written_in_pieces_of(OUTPUT_KEPT_BYTES - 1, 3 * OUTPUT_KEPT_BYTES);
    assert_int_equal(sent.len, OUTPUT_KEPT_BYTES);
    written_in_pieces_of(3 * OUTPUT_KEPT_BYTES, 3 * OUTPUT_KEPT_BYTES);
    assert_int_equal(sent.len, OUTPUT_KEPT_BYTES);
}

/* However small the pieces, they do not make the list of them grow for ever. */
static void test_tiny_pieces_are_bounded(void **state)
{
    (void)state;
    written_in_pieces_of(1, 20000);
    assert_int_equal(sent.len, 4096);
    assert_int_equal(pieces, 4096);
}

static void test_an_end_of_file_is_a_piece_too(void **state)
{
    (void)state;
    struct output_kept *k = keep();
    add(k, "", 0);
    replay(k);
    assert_int_equal(pieces, 1);
    assert_int_equal(sent.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_comes_in_its_order),
        cmocka_unit_test(test_the_oldest_goes_first),
        cmocka_unit_test(test_tiny_pieces_are_bounded),
        cmocka_unit_test(test_an_end_of_file_is_a_piece_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
