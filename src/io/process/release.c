#include "io/process/release.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

const char *release_dir(struct arena *a)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return arena_strdup(a, n > 0 ? path : ".");
}

const char *release_program(const char *name, const char *folder, struct arena *a)
{
    const char *beside = arena_printf(a, "%s/%s", release_dir(a), name);
    return access(beside, X_OK) == 0 ? beside
                                     : arena_printf(a, "%s/../%s/%s", release_dir(a), folder, name);
}
