#include "controller/site/config_file.h"

#include "base/arena.h"
#include "controller/site/local_zone.h"
#include "io/files.h"
#include "io/together.h"
#include "model/limits.h"

#include <string.h>

static const char *include_read(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    const char *file = ctx;
    const char *slash = strrchr(file, '/');
    if (path[0] != '/' && slash)
        path = arena_printf(a, "%.*s/%s", (int)(slash - file), file, path);
    return file_read_text(path, LIMIT_CONFIG_BYTES, a, ret_err);
}

bool config_file_read(const char *path, struct config *ret, struct err *ret_err)
{
    struct arena *a = arena_new();
    char *file = arena_strdup(a, path);
    const char *slash = strrchr(file, '/');
    const char *dir = slash ? arena_strndup(a, file, (size_t)(slash - file)) : ".";
    if (!together_finish(dir, ret_err)) {
        arena_free(a);
        return false;
    }
    struct err err = {0};
    const char *text = file_read_text(file, LIMIT_CONFIG_BYTES, a, ret_err);
    const char *joined = text ? include_read(file, "joined.conf", a, &err) : NULL;
    if (text && !joined && err.code != ERR_NOT_FOUND) { /* else all its nodes would go */
        *ret_err = err;
        text = NULL;
    }
    if (joined)
        text = config_with_joined(text, a);
    bool ok = text && config_parse(text, file, include_read, file, ret, ret_err);
    if (ok)
        ret->zone = local_zone(ret->arena);
    arena_free(a);
    return ok;
}
