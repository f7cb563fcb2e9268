#include "io/client.h"

#include "base/str.h"

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

const char *state_dir_find(const char *explicit_dir, struct arena *a)
{
    struct stat st;
    const char *named = explicit_dir ? explicit_dir : getenv("REMUDA_STATE");
    const char *dir = named && *named ? NULL : slurm_conf_dir(a);
    if (dir)
        return dir;
    const char *own = state_dir_own(explicit_dir, a);
    /* A user without a cluster of their own means the machine's. */
    bool none = !(named && *named) && stat(arena_printf(a, "%s/remuda.conf", own), &st) != 0;
    bool machine = none && (stat(state_socket_path(MACHINE_STATE_DIR, a), &st) == 0 ||
                            state_dir_expected(MACHINE_STATE_DIR, a));
    return machine ? MACHINE_STATE_DIR : own;
}

bool state_dir_expected(const char *state_dir, struct arena *a)
{
    bool began = access(arena_printf(a, "%s/remuda.db", state_dir), F_OK) == 0 ||
                 access(arena_printf(a, "%s/relay.pid", state_dir), F_OK) == 0;
    return began && access(state_down_path(state_dir, a), F_OK) != 0;
}

const char *state_down_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/down", state_dir);
}

const char *state_socket_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/controller.sock", state_dir);
}
