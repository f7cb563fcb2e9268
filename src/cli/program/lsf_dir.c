#include "cli/program/lsf_dir.h"

#include "cli/program/cluster_dir.h"
#include "cli/program/room.h"
#include "io/files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL: nobody knows where. Not below /tmp, where it may be another user's already. */
static const char *cache_dir(struct arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const struct passwd *own = home && home[0] == '/' ? NULL : user_by_uid(geteuid());
    if (cache && cache[0] == '/')
        return arena_printf(a, "%s/remuda", cache);
    home = home && home[0] == '/' ? home : own ? own->pw_dir : NULL;
    return home ? arena_printf(a, "%s/.cache/remuda", home) : NULL;
}

static bool text_write(const char *path, const char *text, struct err *e)
{
    return file_write_atomic(path, text, strlen(text), 0644, e);
}

const char *lsf_dir_make(const char *state_dir, struct arena *a, struct err *ret_err)
{
    struct config conf;
    const char *cache = cache_dir(a);
    if (!cache)
        err_set(ret_err, ERR_NOT_FOUND, "HOME is not set: where files of yours are is not known");
    if (!cache || !cluster_settings_read(state_dir, NULL, &conf, ret_err))
        return NULL;
    const struct settings *s = &conf.settings;
    const char *name = arena_strdup(a, s->cluster_name);
    const char *dir = arena_printf(a, "%s/lsf-%s", cache, name);
    const char *text = arena_printf(
        a,
        "# Written by Remuda for programs that read LSF's settings; it is not read back.\n"
        "LSF_ENVDIR=%s\nLSF_CONFDIR=%s\nLSB_SHAREDIR=%s\nLSF_VERSION=10.1\n"
        "LSF_UNIT_FOR_LIMITS=%s\nLSB_JOB_MEMLIMIT=%s\nRESOURCE_RESERVE_PER_TASK=%s\n",
        dir, dir, dir, s->lsf_unit_for_limits, text_is_nocase(s->lsf_mem_limit, "job") ? "y" : "n",
        text_is_nocase(s->lsf_reserve_per, "slot") ? "Y" : "N");
    config_done(&conf);
    const char *params = arena_printf(a, "%s/lsbatch/%s/configdir", dir, name);
    const char *logs = arena_printf(a, "%s/%s/logdir", dir, name);
    if (!dir_make(params, 0755, ret_err) || !dir_make(logs, 0755, ret_err) ||
        !text_write(arena_printf(a, "%s/lsf.conf", dir), text, ret_err) ||
        !text_write(arena_printf(a, "%s/lsb.params", params),
                    "Begin Parameters\nCLEAN_PERIOD = 3600\nEnd Parameters\n", ret_err))
        return NULL;
    return dir;
}
