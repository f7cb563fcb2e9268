/* What is seen inside of a container, whatever runs it. */
#include "cli/container/container.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *mount_source(const struct container *c, const struct container_mount *m)
{
    char here[CONTAINER_TEXT_MAX];
    if (m->from[0] == '/' || !getcwd(here, sizeof here))
        return m->from;
    return arena_printf(c->a, "%s/%s", here, m->from);
}

bool has_device(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

const char *pmix_directory(void)
{
    const char *dir = getenv("PMIX_SERVER_TMPDIR");
    struct stat st;
    return dir && dir[0] == '/' && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) ? dir : NULL;
}
