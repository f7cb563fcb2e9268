/* scontrol show reservation. */
#include "cli/scontrol/reservation.h"
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/localtime.h"
#include "cli/record/reservation_words.h"
#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <string.h>

static void resv_print(struct scontrol *s, const struct cell_env *env, const struct reservation *v)
{
    struct record_text r;
    struct str flags = STR_INIT;
    record_begin(&r, s->oneliner);
    resv_flags_format(v, &flags);
    record_add(&r, "ReservationName", v->name);
    record_add(&r, "StartTime", cell_time_text(env, v->start_us, "Unknown", s->a));
    record_add(&r, "EndTime", cell_time_text(env, v->end_us, "Unknown", s->a));
    record_add(&r, "Duration", resv_span(v->end_us - v->start_us, s->a));
    record_break(&r);
    record_add(&r, "Nodes", v->nodes);
    record_addf(&r, "NodeCnt", "%d", v->nodes ? v->node_count : 0);
    record_addf(&r, "CoreCnt", "%d", v->core_count);
    record_add(&r, "Features", v->features);
    record_add(&r, "PartitionName", v->partition);
    record_add(&r, "Flags", str_text(&flags));
    record_break(&r);
    record_add(&r, "TRES", resv_tres(v, s->a));
    record_break(&r);
    record_add(&r, "Users", v->users);
    record_add(&r, "Groups", v->groups);
    record_add(&r, "Accounts", v->accounts);
    record_add(&r, "Licenses", v->licenses);
    record_add(&r, "State", v->active ? "ACTIVE" : "INACTIVE");
    record_add(&r, "BurstBuffer", NULL);
    record_break(&r);
    record_add(&r, "MaxStartDelay", NULL);
    if (v->comment) {
        record_break(&r);
        record_add(&r, "Comment", v->comment);
    }
    record_print(&r);
    str_done(&flags);
}

static void words_json(struct json_out *o, const char *key, const char *list)
{
    struct span rest = span_of(list ? list : ""), piece;
    json_key(o, key);
    json_array(o);
    while (span_next(&rest, ',', &piece)) {
        struct str word = STR_INIT;
        piece = span_trim(piece);
        str_addn(&word, piece.data, piece.len);
        if (word.len)
            json_text(o, str_text(&word));
        str_done(&word);
    }
    json_array_end(o);
}

static void resv_json(struct scontrol *s, struct json_out *o, const struct reservation *v)
{
    struct str flags = STR_INIT;
    struct reservation plain = *v;
    plain.flags &= ~(uint32_t)RESV_PURGE_COMP; /* its time has a member of its own */
    resv_flags_format(&plain, &flags);
    if (v->flags & RESV_PURGE_COMP)
        str_addf(&flags, "%sPURGE_COMP", flags.len ? "," : "");
    json_object(o);
    json_key_word(o, "name", v->name);
    json_key_word(o, "accounts", v->accounts);
    json_key_word(o, "burst_buffer", "");
    json_key_i64(o, "core_count", v->core_count);
    json_key(o, "core_specializations");
    json_array(o);
    json_array_end(o);
    json_key_time(o, "start_time", v->start_us);
    json_key_time(o, "end_time", v->end_us);
    json_key_word(o, "features", v->features);
    words_json(o, "flags", str_text(&flags));
    json_key_word(o, "groups", v->groups);
    json_key_word(o, "licenses", v->licenses);
    json_key_i64(o, "max_start_delay", 0);
    json_key_i64(o, "node_count", v->nodes ? v->node_count : 0);
    json_key_word(o, "node_list", v->nodes);
    json_key_word(o, "partition", v->partition);
    json_key(o, "purge_completed");
    json_object(o);
    json_key_number(o, "time", v->purge_us > 0, v->purge_us / USEC_PER_SEC);
    json_object_end(o);
    json_key_word(o, "tres", resv_tres(v, s->a));
    json_key_word(o, "users", v->users);
    json_key_number(o, "watts", false, 0);
    json_key_word(o, "comment", v->comment);
    json_object_end(o);
    str_done(&flags);
}

static void keep(void *ctx, const void *record)
{
    struct resv_found *f = ctx;
    struct reservation *copy = arena_alloc(f->a, sizeof *copy);
    record_copy(&reservation_fields, copy, record, f->a);
    vec_push(&f->v, copy);
}

static void found_json(struct scontrol *s, const struct resv_found *f)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "reservations");
    json_array(&o);
    for (size_t i = 0; i < f->v.n; i++)
        resv_json(s, &o, f->v.v[i]);
    json_array_end(&o);
    json_key_time(&o, "last_update", time_now_us());
    json_slurm_end(&o, s->json);
}

static void missing(struct scontrol *s, const char *names, const struct resv_found *f)
{
    struct span rest = span_of(names), name;
    while (span_next(&rest, ',', &name)) {
        bool there = !name.len;
        for (size_t i = 0; i < f->v.n; i++)
            there |= span_is(name, f->v.v[i]->name);
        if (!there) {
            printf("Reservation %.*s not found\n", (int)name.len, name.data);
            s->rc = 1;
        }
    }
}

/* All are asked for: names that are not there are told one by one. */
bool scontrol_reservations_load(struct scontrol *s, struct resv_found *f)
{
    struct client *c = scontrol_connect(s, "slurm_load_reservations error");
    struct msg_query q = {.what = QUERY_RESERVATIONS};
    struct msg_done done = {0};
    struct err err = {0};
    *f = (struct resv_found){.a = s->a};
    if (!c)
        return false;
    if (!client_query(c, &q, &reservation_fields, s->a, keep, f, &done, &err)) {
        scontrol_fail(s, "slurm_load_reservations error: %s", err.text);
        return false;
    }
    return true;
}

void scontrol_show_reservations(struct scontrol *s, const char *names)
{
    struct resv_found f;
    struct cell_env env = listing_env();
    size_t n = 0;
    if (!scontrol_reservations_load(s, &f))
        return;
    for (size_t i = 0; i < f.v.n; i++)
        if (listing_has(names, f.v.v[i]->name))
            f.v.v[n++] = f.v.v[i];
    f.v.n = n;
    if (s->json)
        found_json(s, &f);
    for (size_t i = 0; !s->json && i < f.v.n; i++)
        resv_print(s, &env, f.v.v[i]);
    if (names)
        missing(s, names, &f);
    else if (!f.v.n && !s->json)
        puts("No reservations in the system");
    vec_done(&f.v);
}
