/* The environment of programs that the configuration names, or a trigger: made for them. Nothing of
 * what the daemon was started with is in it (`remuda up` by an administrator with his tokens, or
 * with an LD_LIBRARY_PATH), but the time zone. */
#ifndef REMUDA_IO_SITE_ENV_H
#define REMUDA_IO_SITE_ENV_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct site_user {
    uint32_t uid;                    /* as whom the program runs */
    const char *name, *home, *shell; /* NULL: unknown */
};

/* PATH, HOME, SHELL, USER, LOGNAME, LANG, TZ, then the `n` assignments of `more`. `bin`: a
 * directory in front of PATH, or NULL. NULL-terminated; it and what it points to is in the arena,
 * what `more` points to is not copied. */
const char *const *site_env(struct arena *a, const struct site_user *user, const char *bin,
                            const char *const *more, size_t n);
/* The daemon's own user, in the arena. It may block; not known: the number alone. */
void site_user_own(struct arena *a, struct site_user *ret);

#endif
