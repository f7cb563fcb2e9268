/* scontrol show licenses: what the cluster has (Licenses= of the settings), less what running jobs
 * hold. */
#include "base/duration.h"
#include "base/vec.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/json_slurm.h"
#include "model/settings/key.h"
#include "model/stored.h"

#include <stdio.h>
#include <string.h>

struct license {
    const char *name;
    int64_t total, used, reserved;
};

struct licenses {
    struct arena *a;
    const char *text; /* of the settings */
    VEC(struct license) v;
};

/* "name", "name:4" and "name@server:4" → name and count. */
static const char *item_read(struct arena *a, struct span item, int64_t *ret_count)
{
    item = span_trim(item);
    const char *text = arena_strndup(a, item.data, item.len);
    const char *colon = strrchr(text, ':');
    *ret_count = 1;
    if (!colon)
        return text;
    count_parse(colon + 1, ret_count, NULL);
    return arena_strndup(a, text, (size_t)(colon - text));
}

static void setting_note(void *ctx, const void *record)
{
    struct licenses *l = ctx;
    const struct meta *m = record;
    if (text_is(m->key, SETTING_KEY(Licenses)) && !text_is(m->value, "(null)"))
        l->text = m->value;
}

static void count_each(struct licenses *l, const char *list, bool reserved)
{
    struct span rest = span_of(list ? list : ""), item;
    while (list && span_next(&rest, ',', &item)) {
        int64_t count;
        const char *name = item_read(l->a, item, &count);
        for (size_t i = 0; i < l->v.n; i++)
            if (text_is(l->v.v[i].name, name))
                *(reserved ? &l->v.v[i].reserved : &l->v.v[i].used) += count;
    }
}

static void used_note(void *ctx, const void *record)
{
    const struct job *j = record;
    count_each(ctx, j->spec.req.licenses, false);
}

static void reserved_note(void *ctx, const void *record)
{
    const struct reservation *r = record;
    if (r->active)
        count_each(ctx, r->licenses, true);
}

static bool licenses_read(struct scontrol *s, struct licenses *l, struct err *ret_err)
{
    struct msg_query settings = {.what = QUERY_SETTINGS};
    struct msg_query jobs = {
        .what = QUERY_JOBS, .states = "RUNNING,SUSPENDED", .fields = "id,state,licenses"};
    struct msg_done done = {0};
    struct span item;
    if (!client_query(s->client, &settings, &meta_fields, s->a, setting_note, l, &done, ret_err))
        return false;
    for (struct span rest = span_of(l->text); l->text && span_next(&rest, ',', &item);) {
        struct license one = {0};
        one.name = item_read(l->a, item, &one.total);
        if (!text_empty(one.name))
            vec_push(&l->v, one);
    }
    struct msg_query resvs = {.what = QUERY_RESERVATIONS};
    return client_query(s->client, &jobs, &job_fields, s->a, used_note, l, &done, ret_err) &&
           client_query(s->client, &resvs, &reservation_fields, s->a, reserved_note, l, &done,
                        ret_err);
}

static void licenses_json(const struct licenses *l, enum json_form form)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "licenses");
    json_array(&o);
    for (size_t i = 0; i < l->v.n; i++) {
        const struct license *one = &l->v.v[i];
        json_object(&o);
        json_key_text(&o, "LicenseName", one->name);
        json_key_i64(&o, "Total", one->total);
        json_key_i64(&o, "Used", one->used);
        json_key_i64(&o, "Free", one->total > one->used ? one->total - one->used : 0);
        json_key_bool(&o, "Remote", false);
        json_key_i64(&o, "Reserved", one->reserved);
        json_object_end(&o);
    }
    json_array_end(&o);
    json_slurm_end(&o, form);
}

static void license_print(struct scontrol *s, const struct license *one)
{
    struct record_text r;
    record_begin(&r, s->oneliner);
    record_add(&r, "LicenseName", one->name);
    record_break(&r);
    record_addf(&r, "Total", "%lld", (long long)one->total);
    record_addf(&r, "Used", "%lld", (long long)one->used);
    record_addf(&r, "Free", "%lld",
                (long long)(one->total > one->used ? one->total - one->used : 0));
    record_addf(&r, "Reserved", "%lld", (long long)one->reserved);
    record_add(&r, "Remote", "no");
    record_print(&r);
}

void scontrol_show_licenses(struct scontrol *s, const char *name)
{
    struct licenses l = {.a = s->a};
    struct err err = {0};
    size_t shown = 0;
    if (!scontrol_connect(s, "slurm_load_license error"))
        return;
    if (!licenses_read(s, &l, &err))
        scontrol_fail(s, "slurm_load_license error: %s", err.text);
    else if (s->json)
        licenses_json(&l, s->json);
    for (size_t i = 0; !err.code && !s->json && i < l.v.n; i++)
        if (!name || text_is(name, l.v.v[i].name)) {
            license_print(s, &l.v.v[i]);
            shown++;
        }
    if (!err.code && !s->json && !shown && name && l.v.n)
        scontrol_fail(s, "License %s not found", name);
    else if (!err.code && !s->json && !shown)
        puts("No licenses configured in Slurm.");
    vec_done(&l.v);
}
