/* Which cluster a command speaks to, by what lies where. */
#include "io_help.h"

#include "io/client/client.h"

#include <stdlib.h>
#include <sys/stat.h>

static const char *machine, *own;

static void file_put(struct world *w, const char *dir, const char *name)
{
    mkdir(dir, 0755);
    assert_true(file_write_atomic(arena_printf(w->arena, "%s/%s", dir, name), "", 0, 0644, NULL));
}

static void dirs_name(struct world *w)
{
    machine = arena_printf(w->arena, "%s/machine", w->dir);
    own = arena_printf(w->arena, "%s/home/remuda", w->dir);
    mkdir(arena_printf(w->arena, "%s/home", w->dir), 0755);
    setenv("XDG_STATE_HOME", arena_printf(w->arena, "%s/home", w->dir), 1);
    unsetenv("REMUDA_STATE");
    unsetenv("SLURM_CONF");
}

/* Root's own is the machine's: these are about the others. */
static const char *found(struct world *w)
{
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    const char *dir = state_dir_find_beside(NULL, machine, w->arena);
    if (root)
        assert_int_equal(seteuid(0), 0);
    return dir;
}

static void the_machines_is_meant_whether_it_runs_or_not(void **state)
{
    struct world *w = *state;
    dirs_name(w);
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_string_equal(found(w), own); /* there is neither */
    file_put(w, machine, "remuda.conf");
    assert_string_equal(found(w), machine); /* it was configured; no socket: it does not run */
    file_put(w, machine, "down");
    assert_string_equal(found(w), machine);
    file_put(w, own, "remuda.conf");
    assert_string_equal(found(w), own);
}

static void what_joined_a_cluster_is_one_too(void **state)
{
    struct world *w = *state;
    dirs_name(w);
    assert_int_equal(chmod(w->dir, 0755), 0);
    file_put(w, machine, "host.conf");
    assert_string_equal(found(w), machine);
    file_put(w, own, "host.conf");
    assert_string_equal(found(w), own);
}

static void who_is_named_is_taken(void **state)
{
    struct world *w = *state;
    dirs_name(w);
    file_put(w, machine, "remuda.conf");
    assert_string_equal(state_dir_find_beside("/x", machine, w->arena), "/x");
    setenv("REMUDA_STATE", "/y", 1);
    assert_string_equal(state_dir_find_beside(NULL, machine, w->arena), "/y");
    unsetenv("REMUDA_STATE");
}

static void whose_it_is(void **state)
{
    struct world *w = *state;
    dirs_name(w);
    assert_null(state_dir_owner(machine, w->arena)); /* there is none */
    file_put(w, machine, "remuda.conf");
    assert_null(state_dir_owner(machine, w->arena)); /* ours */
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_int_equal(seteuid(65534), 0);
    assert_string_equal(state_dir_owner(machine, w->arena), "root");
    assert_int_equal(seteuid(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_machines_is_meant_whether_it_runs_or_not),
        TEST(what_joined_a_cluster_is_one_too),
        TEST(who_is_named_is_taken),
        TEST(whose_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
