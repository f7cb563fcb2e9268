#include "node/step/descriptors.h"
#include "base/alloc.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* For kernels before 5.9. */
static void each_close(int first, int last)
{
    struct dirent *e;
    DIR *all = opendir("/proc/self/fd");
    if (!all)
        return;
    while ((e = readdir(all))) {
        int fd = isdigit((unsigned char)e->d_name[0]) ? (int)strtol(e->d_name, NULL, 10) : -1;
        if (fd >= first && fd <= last && fd != dirfd(all))
            close(fd);
    }
    closedir(all);
}

static void range_close(int first, int last)
{
    if (first <= last && close_range((unsigned)first, (unsigned)last, 0) != 0)
        each_close(first, last);
}

void descriptors_close(int first)
{
    ASSERT(first > STDERR_FILENO);
    range_close(first, INT_MAX);
}

/* What lies between those that stay, from the lowest on. */
void descriptors_close_but(int first, const int *keep, size_t n)
{
    ASSERT(first > STDERR_FILENO);
    for (;;) {
        int next = INT_MAX;
        for (size_t i = 0; i < n; i++)
            if (keep[i] >= first && keep[i] < next)
                next = keep[i];
        if (next == INT_MAX)
            break;
        range_close(first, next - 1);
        first = next + 1;
    }
    range_close(first, INT_MAX);
}
