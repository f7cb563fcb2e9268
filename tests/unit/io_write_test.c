/* A file that several processes write at once. */
#include "io_help.h"

#include "base/str.h"

#include <sys/wait.h>

#define WRITERS      4
#define WRITES       25
#define WRITTEN_SIZE 30000

static void writer_of(const char *path, char letter)
{
    static char text[WRITTEN_SIZE];
    memset(text, letter, sizeof text);
    for (int i = 0; i < WRITES; i++)
        if (!file_write_atomic(path, text, sizeof text, 0600, NULL))
            _exit(1);
    _exit(0);
}

/* The file that will replace it has one name for all of them. */
static void who_write_a_file_at_once_write_it_whole(void **state)
{
    struct world *w = *state;
    const char *path = arena_printf(w->arena, "%s/x", w->dir);
    pid_t pid[WRITERS];
    int status, going = WRITERS;
    for (int i = 0; i < WRITERS; i++)
        if ((pid[i] = fork()) == 0)
            writer_of(path, (char)('a' + i));
    while (going > 0) {
        struct str text = STR_INIT;
        if (file_read(path, 2 * WRITTEN_SIZE, &text, NULL)) {
            assert_int_equal(text.len, WRITTEN_SIZE);
            for (size_t i = 1; i < text.len; i++)
                assert_int_equal(text.data[i], text.data[0]);
        }
        str_done(&text);
        for (int i = 0; i < WRITERS; i++)
            if (pid[i] > 0 && waitpid(pid[i], &status, WNOHANG) == pid[i]) {
                assert_int_equal(status, 0);
                pid[i] = 0;
                going--;
            }
    }
    assert_int_equal(access(arena_printf(w->arena, "%s.new", path), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_write_a_file_at_once_write_it_whole, world_make,
                                        world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
