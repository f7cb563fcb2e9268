#include "io/client/client.h"

#include "base/str.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MACHINE_STATE_DIR "/var/lib/remuda"

static bool env_given(const char *name, const char **ret)
{
    *ret = getenv(name);
    return *ret && **ret;
}

/* SLURM_CONF selects a cluster only if it names a file in a state directory: one with our
 * configuration or our socket beside it. */
static const char *slurm_conf_dir(struct arena *a)
{
    const char *conf;
    struct stat st;
    if (!env_given("SLURM_CONF", &conf))
        return NULL;
    const char *slash = strrchr(conf, '/');
    if (!slash)
        return NULL;
    const char *dir = slash == conf ? "/" : arena_strndup(a, conf, (size_t)(slash - conf));
    bool ours = stat(arena_printf(a, "%s/remuda.conf", dir), &st) == 0 ||
                stat(state_socket_path(dir, a), &st) == 0;
    return ours ? dir : NULL;
}

const char *state_dir_own(const char *explicit_dir, struct arena *a)
{
    const char *value;
    if (explicit_dir)
        return explicit_dir;
    if (env_given("REMUDA_STATE", &value))
        return arena_strdup(a, value);
    if (geteuid() == 0)
        return MACHINE_STATE_DIR;
    if (env_given("XDG_STATE_HOME", &value))
        return arena_printf(a, "%s/remuda", value);
    return arena_printf(a, "%s/.local/state/remuda", env_given("HOME", &value) ? value : "");
}

/* A cluster was configured there, or joined. */
static bool has_cluster(const char *dir, struct arena *a)
{
    return access(arena_printf(a, "%s/remuda.conf", dir), F_OK) == 0 ||
           access(arena_printf(a, "%s/host.conf", dir), F_OK) == 0 ||
           access(state_socket_path(dir, a), F_OK) == 0;
}

const char *state_dir_find_beside(const char *explicit_dir, const char *machine_dir,
                                  struct arena *a)
{
    const char *named = explicit_dir ? explicit_dir : getenv("REMUDA_STATE");
    const char *dir = named && *named ? NULL : slurm_conf_dir(a);
    if (dir)
        return dir;
    const char *own = state_dir_own(explicit_dir, a);
    if (named && *named)
        return own;
    /* A user without a cluster of their own means the machine's, also while it does not run: a
     * private one that they are told to start would hide the machine's from then on. */
    return !has_cluster(own, a) && has_cluster(machine_dir, a) ? machine_dir : own;
}

const char *state_dir_find(const char *explicit_dir, struct arena *a)
{
    return state_dir_find_beside(explicit_dir, MACHINE_STATE_DIR, a);
}

const char *state_dir_machine(const char *state_dir)
{
    struct arena *a = arena_new();
    bool there = !text_is(state_dir, MACHINE_STATE_DIR) && has_cluster(MACHINE_STATE_DIR, a);
    arena_free(a);
    return there ? MACHINE_STATE_DIR : NULL;
}

const char *state_dir_owner(const char *state_dir, struct arena *a)
{
    struct stat st;
    if (geteuid() == 0 || !has_cluster(state_dir, a) || stat(state_dir, &st) != 0 ||
        st.st_uid == geteuid())
        return NULL;
    const struct passwd *who = getpwuid(st.st_uid);
    return who ? arena_strdup(a, who->pw_name) : arena_printf(a, "user %u", (unsigned)st.st_uid);
}

bool state_dir_expected(const char *state_dir, struct arena *a)
{
    bool began = access(arena_printf(a, "%s/remuda.db", state_dir), F_OK) == 0 ||
                 access(arena_printf(a, "%s/relay.pid", state_dir), F_OK) == 0;
    return began && access(state_down_path(state_dir, a), F_OK) != 0;
}

const char *state_down_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/" STATE_DOWN, state_dir);
}

bool state_dir_half_restored(const char *state_dir, struct arena *a)
{
    return access(arena_printf(a, "%s/%s", state_dir, STATE_STORE_CHOSEN), F_OK) == 0 ||
           access(arena_printf(a, "%s/%s", state_dir, STATE_STORE_RESTORED), F_OK) == 0;
}

const char *state_socket_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/controller.sock", state_dir);
}
