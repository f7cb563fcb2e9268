/* All are written into a directory beside; that it gets its name is the deed. Then each is moved to
 * its place, by whoever comes to it: the writer, or after it was killed the next reader. */
#include "io/together.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHOLE ".together"

bool together_finish(const char *dir, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *whole = arena_printf(a, "%s/" WHOLE, dir), **name;
    size_t n = 0;
    bool ok = true;
    if (access(whole, F_OK) != 0) {
        arena_free(a);
        return true;
    }
    ok = dir_list(whole, a, &name, &n, ret_err);
    for (size_t i = 0; ok && i < n; i++)
        ok = rename(arena_printf(a, "%s/%s", whole, name[i]),
                    arena_printf(a, "%s/%s", dir, name[i])) == 0 ||
             file_error(ret_err, "put into its place", name[i]);
    if (ok) {
        dir_sync(dir, NULL);
        ok = dir_remove(whole, ret_err);
    }
    arena_free(a);
    return ok;
}

bool together_write(const char *dir, const struct together_file *file, size_t n,
                    struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *whole = arena_printf(a, "%s/" WHOLE, dir),
               *part = arena_printf(a, "%s.%d", whole, (int)getpid());
    bool ok =
        together_finish(dir, ret_err) && dir_remove(part, ret_err) && dir_make(part, 0700, ret_err);
    for (size_t i = 0; ok && i < n; i++)
        ok = file_write_atomic(arena_printf(a, "%s/%s", part, file[i].name), file[i].data,
                               file[i].len, file[i].mode, ret_err);
    if (ok && rename(part, whole) != 0)
        ok = file_error(ret_err, "make", whole);
    if (ok) {
        dir_sync(dir, NULL);
        ok = together_finish(dir, ret_err);
    } else {
        dir_remove(part, NULL);
    }
    arena_free(a);
    return ok;
}
