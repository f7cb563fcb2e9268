#include "model/grammar/gres.h"
#include "sched/answer/advice_trial.h"

#include <stdlib.h>

struct gpu_field {
    size_t offset;
    bool kinds; /* "gpu:a100:2,nic:1", not "a100:2" */
    const char *option, *update;
};
static const struct gpu_field gpu_fields[] = {
    {offsetof(struct job_request, gres), true, "--gres", "Gres"},
    {offsetof(struct job_request, gpus), false, "--gpus", NULL},
    {offsetof(struct job_request, gpus_per_node), false, "--gpus-per-node", NULL},
    {offsetof(struct job_request, gpus_per_task), false, "--gpus-per-task", NULL},
};

static const char **gpu_text(struct job_request *req, const struct gpu_field *f)
{
    return (const char **)((char *)req + f->offset);
}

/* The list of the field, and in it its one item of GPUs; NULL if there is not just one. */
static struct gres_item *gpu_item(struct job_request *req, const struct gpu_field *f,
                                  struct arena *a, struct gres_list *ret)
{
    struct gres_item *found = NULL;
    const char *text = *gpu_text(req, f);
    *ret = (struct gres_list){0};
    if (text_empty(text) ||
        !(f->kinds ? gres_parse(text, a, ret, NULL) : gres_parse_gpus(text, a, ret, NULL)))
        return NULL;
    for (size_t i = 0; i < ret->n; i++)
        if (text_is(ret->item[i].kind, "gpu")) {
            if (found)
                return NULL;
            found = &ret->item[i];
        }
    return found;
}

static void gpu_write(struct job_request *req, const struct gpu_field *f,
                      const struct gres_list *list, struct arena *a)
{
    struct str s = STR_INIT;
    if (f->kinds)
        gres_format(list, &s);
    else if (list->item[0].type)
        str_addf(&s, "%s:%lld", list->item[0].type, (long long)list->item[0].count);
    else
        str_addf(&s, "%lld", (long long)list->item[0].count);
    *gpu_text(req, f) = arena_strdup(a, str_text(&s));
    str_done(&s);
}

#define TYPES_TRIED 8

/* Which other types of GPU would start it now? Those are named together with its own. */
static void try_types(struct trial *t, const struct gpu_field *f)
{
    const struct cluster *cl = t->w.cl;
    struct job_request req = *t->req;
    struct gres_list list;
    struct gres_item *item = gpu_item(&req, f, t->a, &list);
    if (!item || !item->type)
        return;
    const char *all = item->type, *own = item->type;
    int tried = 0;
    for (uint32_t d = DIM_GRES; d < cl->dim.n && tried < TYPES_TRIED; d++) {
        if (!text_is(cl->dim.v[d].kind, "gpu") || !cl->dim.v[d].type ||
            gres_type_matches(own, cl->dim.v[d].type))
            continue;
        item->type = arena_printf(t->a, "%s|%s", own, cl->dim.v[d].type);
        gpu_write(&req, f, &list, t->a);
        tried++;
        if (trial_starts_now(t, req, !f->update))
            all = arena_printf(t->a, "%s|%s", all, cl->dim.v[d].type);
    }
    if (text_is(all, own))
        return;
    item->type = all;
    gpu_write(&req, f, &list, t->a);
    const char *text = *gpu_text(&req, f);
    trial_once(t, req, arena_printf(t->a, "%s='%s'", f->option, text),
               f->update ? arena_printf(t->a, "%s='%s'", f->update, text) : NULL);
}

void advise_gpu_types(struct trial *t)
{
    for (size_t i = 0; i < ARRAY_LEN(gpu_fields); i++)
        try_types(t, &gpu_fields[i]);
}

static void set_gpus(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    const struct gpu_field *f = ctx;
    struct gres_list list;
    struct gres_item *item = gpu_item(req, f, a, &list);
    item->count = value;
    gpu_write(req, f, &list, a);
}

void advise_fewer_gpus(struct trial *t)
{
    for (size_t i = 0; i < ARRAY_LEN(gpu_fields); i++) {
        struct gpu_field own = gpu_fields[i], *f = &own;
        struct job_request req = *t->req;
        struct gres_list list;
        const struct gres_item *item = gpu_item(&req, f, t->a, &list);
        int64_t value = item ? trial_largest(t, 1, item->count, !f->update, set_gpus, f) : 0;
        if (value == 0)
            continue;
        set_gpus(&req, value, f, t->a);
        const char *text = *gpu_text(&req, f);
        trial_advise(t, &req, t->w.now_us, arena_printf(t->a, "%s=%s", f->option, text),
                     f->update ? arena_printf(t->a, "%s=%s", f->update, text) : NULL);
    }
}
