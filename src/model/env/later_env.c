#include "model/env/later_env.h"

#include "model/grammar/script_args.h"

#include <string.h>

/* Entries of `list`, each ended by NUL. */
static bool entry_next(struct blob *rest, struct span *ret)
{
    if (!rest->len)
        return false;
    size_t len = strnlen(rest->data, rest->len);
    *ret = (struct span){rest->data, len};
    size_t used = len < rest->len ? len + 1 : len;
    rest->data += used;
    rest->len -= used;
    return true;
}

static size_t name_len(struct span entry)
{
    const char *equals = memchr(entry.data, '=', entry.len);
    return equals ? (size_t)(equals - entry.data) : entry.len;
}

static bool names(struct blob list, struct span entry)
{
    struct span one;
    size_t len = name_len(entry);
    while (entry_next(&list, &one))
        if (name_len(one) == len && memcmp(one.data, entry.data, len) == 0)
            return true;
    return false;
}

/* Of `list` what `over` does not name, then `over`. */
static void lists_join(struct blob list, struct blob over, struct str *out)
{
    struct span one;
    while (entry_next(&list, &one))
        if (!names(over, one))
            str_addn(out, one.data, one.len), str_addc(out, '\0');
    str_addn(out, over.data, over.len);
}

const char *later_env_pack(struct blob list, struct arena *a)
{
    struct str packed = STR_INIT;
    struct span one;
    while (entry_next(&list, &one))
        script_args_add(&packed, arena_strndup(a, one.data, one.len));
    const char *kept = packed.len ? arena_strdup(a, str_text(&packed)) : NULL;
    str_done(&packed);
    return kept;
}

const char *later_env_add(const char *had, const char *more, struct arena *a)
{
    struct str before = STR_INIT, over = STR_INIT, all = STR_INIT;
    script_args_unpack(had, &before);
    script_args_unpack(more, &over);
    lists_join((struct blob){before.data, before.len}, (struct blob){over.data, over.len}, &all);
    const char *packed = later_env_pack((struct blob){all.data, all.len}, a);
    str_done(&before);
    str_done(&over);
    str_done(&all);
    return packed;
}

struct blob later_env_over(struct blob env, const char *later, struct arena *a)
{
    struct str over = STR_INIT, all = STR_INIT;
    struct blob ret = env;
    if (!text_empty(later)) {
        script_args_unpack(later, &over);
        lists_join(env, (struct blob){over.data, over.len}, &all);
        ret = (struct blob){arena_dup(a, all.data, all.len), all.len};
    }
    str_done(&over);
    str_done(&all);
    return ret;
}
