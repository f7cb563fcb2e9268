#include "model/env/later_env.h"

#include "base/map.h"
#include "model/grammar/script_args.h"

#include <string.h>

static const char *name_of(const char *entry, struct str *name)
{
    str_clear(name);
    str_addn(name, entry, strcspn(entry, "="));
    return str_text(name);
}

/* Of `list` what `over` does not name, then `over`, each name once, with its last value. Either may
 * have a million entries. */
static void lists_join(struct span list, struct span over, struct str *out)
{
    struct map_str *last = map_str_new();
    struct str name = STR_INIT;
    const char *one;
    for (struct span rest = over; text_next(&rest, &one);)
        map_str_put(last, name_of(one, &name), (void *)(uintptr_t)one);
    while (text_next(&list, &one))
        if (!map_str_get(last, name_of(one, &name)))
            str_addn(out, one, strlen(one) + 1);
    while (text_next(&over, &one))
        if (map_str_get(last, name_of(one, &name)) == one)
            str_addn(out, one, strlen(one) + 1);
    str_done(&name);
    map_str_free(last);
}

const char *later_env_pack(struct blob list, struct arena *a)
{
    struct str packed = STR_INIT;
    struct span rest = {list.data, list.len};
    const char *one;
    while (text_next(&rest, &one))
        script_args_add(&packed, one);
    const char *kept = packed.len ? arena_strdup(a, str_text(&packed)) : NULL;
    str_done(&packed);
    return kept;
}

const char *later_env_add(const char *had, const char *more, struct arena *a)
{
    struct str before = STR_INIT, over = STR_INIT, all = STR_INIT;
    script_args_unpack(had, &before);
    script_args_unpack(more, &over);
    lists_join((struct span){before.data, before.len}, (struct span){over.data, over.len}, &all);
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
        lists_join((struct span){env.data, env.len}, (struct span){over.data, over.len}, &all);
        ret = (struct blob){arena_dup(a, all.data, all.len), all.len};
    }
    str_done(&over);
    str_done(&all);
    return ret;
}
