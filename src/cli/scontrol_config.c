/* scontrol show config. */
#include "base/vec.h"
#include "cli/columns.h"
#include "cli/listing.h"
#include "cli/program.h"
#include "cli/scontrol.h"
#include "model/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct found {
    struct arena *a;
    VEC(const struct meta *) meta;
};

static void meta_keep(void *ctx, const void *record)
{
    struct found *f = ctx;
    vec_push(&f->meta, arena_dup(f->a, record, sizeof(struct meta)));
}

static int meta_compare(const void *pa, const void *pb)
{
    return strcasecmp((*(const struct meta *const *)pa)->key, (*(const struct meta *const *)pb)->key);
}

static void config_add(struct found *f, const char *key, const char *value)
{
    struct meta m = {.key = key, .value = value};
    meta_keep(f, &m);
}

void scontrol_show_config(struct scontrol *s)
{
    struct client *c = scontrol_connect(s);
    struct found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_SETTINGS};
    struct msg_done done = {0};
    struct err err = {0};
    struct cell_env env = listing_env();
    char host[256] = "";
    if (!c)
        return;
    if (!client_query(c, &q, &meta_fields, s->a, meta_keep, &f, &done, &err)) {
        scontrol_fail(s, "slurm_load_ctl_conf error: %s", err.text);
        return;
    }
    gethostname(host, sizeof host - 1);
    config_add(&f, "SLURM_VERSION", strchr(SLURM_VERSION_TEXT, ' ') + 1);
    if (f.meta.n)
        qsort(f.meta.v, f.meta.n, sizeof f.meta.v[0], meta_compare);
    printf("Configuration data as of %s\n", cell_time_text(&env, env.now_us, "", s->a));
    for (size_t i = 0; i < f.meta.n; i++) {
        const char *key = f.meta.v[i]->key, *value = f.meta.v[i]->value;
        bool unset = text_empty(value) || text_is(value, "(null)");
        if (text_is(key, "SlurmctldHost"))
            printf("%-23s = %s\n", "SlurmctldHost[0]", unset ? host : value);
        else
            printf("%-23s = %s\n", key, unset ? "(null)" : value);
    }
    printf("\nSlurmctld(primary) at %s is UP\n", host);
    vec_done(&f.meta);
}
