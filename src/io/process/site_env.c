#include "io/process/site_env.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN             8
#define ENTRY_MAX_BYTES 16384u

const char *const *site_env(struct arena *a, const struct site_user *user, const char *bin,
                            const char *const *more, size_t n)
{
    const char **v = arena_alloc(a, (OWN + n) * sizeof *v);
    const char *name = user->name ? user->name : arena_printf(a, "%u", user->uid);
    const char *zone = getenv("TZ");
    size_t k = 0;
    v[k++] =
        arena_printf(a, "PATH=%s%s/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     bin ? bin : "", bin ? ":" : "");
    v[k++] = arena_printf(a, "HOME=%s", user->home ? user->home : "/");
    v[k++] = arena_printf(a, "SHELL=%s", user->shell ? user->shell : "/bin/sh");
    v[k++] = arena_printf(a, "USER=%s", name);
    v[k++] = arena_printf(a, "LOGNAME=%s", name);
    v[k++] = "LANG=C.UTF-8"; /* without one mail programs take text for bytes */
    if (zone)
        v[k++] = arena_printf(a, "TZ=%s", zone);
    if (n)
        memcpy(v + k, more, n * sizeof *v);
    v[k + n] = NULL;
    return v;
}

void site_user_own(struct arena *a, struct site_user *ret)
{
    struct passwd entry, *found = NULL;
    char *room = arena_alloc(a, ENTRY_MAX_BYTES);
    *ret = (struct site_user){.uid = geteuid()};
    if (getpwuid_r(geteuid(), &entry, room, ENTRY_MAX_BYTES, &found) == 0 && found)
        *ret = (struct site_user){ret->uid, entry.pw_name, entry.pw_dir, entry.pw_shell};
}
