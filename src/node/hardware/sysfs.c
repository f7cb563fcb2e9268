#include "node/hardware/sysfs.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *sysfs_root(void)
{
    const char *root = getenv("REMUDA_SYS");
    return root ? root : "/sys";
}

/* strtoull would take "-1" and "0x". */
static bool number_read(const char *text, uint64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && (*end == '\0' || isspace((unsigned char)*end));
}

int sysfs_number(const char *path, uint64_t *ret)
{
    char text[64];
    int error = sysfs_read(path, text, sizeof text, NULL);
    if (error)
        return error;
    return number_read(text, ret) ? 0 : EBADMSG;
}

int sysfs_line(const char *path, char *to, size_t size)
{
    ASSERT(size > 0);
    int error = sysfs_read(path, to, size, NULL);
    if (error)
        return error;
    to[strcspn(to, "\n")] = '\0';
    return to[0] ? 0 : EBADMSG;
}

bool sysfs_property(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return number_read(line + len + 1, ret);
    return false;
}
