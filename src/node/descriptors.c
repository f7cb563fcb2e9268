#include "node/descriptors.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

/* For kernels before 5.9. */
static void each_close(int first)
{
    struct dirent *e;
    DIR *all = opendir("/proc/self/fd");
    if (!all)
        return;
    while ((e = readdir(all))) {
        int fd = isdigit((unsigned char)e->d_name[0]) ? (int)strtol(e->d_name, NULL, 10) : -1;
        if (fd >= first && fd != dirfd(all))
            close(fd);
    }
    closedir(all);
}

void descriptors_close(int first)
{
    if (close_range((unsigned)first, ~0u, 0) != 0)
        each_close(first);
}
