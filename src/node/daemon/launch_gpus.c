/* Which of the node's GPUs a step has, and which are hidden from it. */
#include "base/idset.h"
#include "node/daemon/launch.h"

#include <stdlib.h>
#include <string.h>

#define GPUS_NOTED 63u /* numbers that a shepherd's note can name */

static const char *text_keep(struct arena *a, struct str *text)
{
    const char *kept = arena_strdup(a, str_text(text));
    str_done(text);
    return kept;
}

static bool list_has_word(const char *list, struct span word)
{
    struct span rest = span_of(list), one;
    while (span_next(&rest, ' ', &one))
        if (one.len == word.len && memcmp(one.data, word.data, word.len) == 0)
            return true;
    return false;
}

bool launch_gpus_hidden(const struct launch_site *site)
{
    return site->device_files && site->welcome->constrain_devices;
}

const char *launch_gpu_names(const struct launch_site *site)
{
    return launch_gpus_hidden(site) ? site->names_alone : site->names_all;
}

static bool gpu_is_held(const struct alloc_node *here, uint32_t number)
{
    bool held = false;
    for (size_t i = 0; here && i < here->ngres && !held; i++) {
        struct idset set = IDSET_INIT;
        if (text_is(here->gres[i].kind, "gpu") && here->gres[i].devices &&
            idset_parse(&set, here->gres[i].devices, UINT32_MAX, NULL))
            held = idset_has(&set, number);
        idset_done(&set);
    }
    return held;
}

/* The files of the GPUs that it holds (or of the others), each once, separated by spaces. */
static const char *gpu_files(const struct launch_site *site, const struct alloc_node *here,
                             bool held, struct arena *a)
{
    struct str out = STR_INIT;
    struct span rest = span_of(site->device_files ? site->device_files : ""), one, number, file;
    while (span_next(&rest, ',', &one) && span_next(&one, '=', &number))
        while (gpu_is_held(here, (uint32_t)strtoul(number.data, NULL, 10)) == held &&
               span_next(&one, '+', &file))
            if (!list_has_word(str_text(&out), file))
                str_addf(&out, "%s%.*s", out.len ? " " : "", (int)file.len, file.data);
    return text_keep(a, &out);
}

/* Those that it does not have, of which it can open no file that is theirs alone. */
static int64_t gpus_hidden_from(const struct launch_site *site, const struct alloc_node *here)
{
    struct span rest = span_of(site->device_files), one, number;
    int64_t gpus = 0;
    while (span_next(&rest, ',', &one) && span_next(&one, '=', &number)) {
        uint32_t gpu = (uint32_t)strtoul(number.data, NULL, 10);
        if (gpu < GPUS_NOTED && !gpu_is_held(here, gpu))
            gpus |= INT64_C(1) << gpu;
    }
    return gpus;
}

static void deny_add(const char *files, const char *own, struct str *out)
{
    struct span rest = span_of(files), file;
    while (span_next(&rest, ' ', &file))
        if (file.len && !list_has_word(own, file) && !list_has_word(str_text(out), file))
            str_addf(out, "%s%.*s", out->len ? " " : "", (int)file.len, file.data);
}

/* The files of all GPUs but its own, also of those that gres.conf gives to nobody. Instances of one
 * GPU share its file, and have others of their own. */
static const char *deny_plan(const struct launch_site *site, const struct alloc_node *here,
                             struct arena *a)
{
    struct str out = STR_INIT;
    if (!launch_gpus_hidden(site))
        return NULL;
    const char *own = gpu_files(site, here, true, a);
    deny_add(gpu_files(site, here, false, a), own, &out);
    deny_add(site->closed_files ? site->closed_files : "", own, &out);
    const char *text = text_keep(a, &out);
    return *text ? text : NULL;
}

void launch_gpus(const struct launch_site *site, const struct alloc_node *here, struct arena *a,
                 struct step_plan *ret)
{
    ret->deny = deny_plan(site, here, a);
    ret->hidden = ret->deny ? gpus_hidden_from(site, here) : 0;
    for (uint32_t gpu = 0; gpu < GPUS_NOTED; gpu++)
        if (gpu_is_held(here, gpu))
            ret->gpus |= INT64_C(1) << gpu;
}
