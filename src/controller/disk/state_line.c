#include "controller/disk/state_line.h"

#include "base/str.h"
#include "io/client/client.h"

#include <string.h>

bool state_line_read(int argc, char **argv, struct arena *a, const char **ret_dir,
                     const char **ret_file, struct err *ret_err)
{
    const char *dir = NULL, *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (text_is(argv[i], "--state") && i + 1 < argc)
            dir = argv[++i];
        else if (text_starts(argv[i], "--state="))
            dir = argv[i] + strlen("--state=");
        else if (ret_file && argv[i][0] != '-' && !file)
            file = argv[i];
        else
            return err_set(ret_err, ERR_INVALID, "\"%s\" is not understood; --state DIR%s", argv[i],
                           ret_file ? " and one FILE are" : " is");
    }
    *ret_dir = state_dir_find(dir, a);
    if (ret_file)
        *ret_file = file;
    return !ret_file || file || err_set(ret_err, ERR_INVALID, "name the FILE");
}

bool state_dir_take(struct pid_file *lock, const char *dir, const char *deed, struct err *ret_err)
{
    struct err err = {0};
    struct arena *a = arena_new();
    bool ok = pid_file_lock_for(lock, arena_printf(a, "%s/controller.pid", dir), deed, &err);
    arena_free(a);
    if (!ok && err.code == ERR_EXISTS) /* a daemon */
        err_prefix(&err, "`remuda down` first");
    if (!ok && ret_err)
        *ret_err = err;
    return ok;
}
