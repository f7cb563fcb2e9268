/* Records with every field given, the same each time, and their tables. */
#ifndef REMUDA_TESTS_WIRE_SKEW_HELP_H
#define REMUDA_TESTS_WIRE_SKEW_HELP_H

#include "unit.h"

#include "base/alloc.h"
#include "wire/frame.h"
#include "wire/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEP_MAX 4

static const struct fields *const row_tables[] = {
    &job_fields,         &step_fields,   &node_fields,     &partition_fields,
    &reservation_fields, &status_fields, &priority_fields, &usage_fields,
    &diag_fields,        &token_fields,  &host_fields,
};

/* ---- records with every field given, the same each time ------------------------------------- */

static inline int64_t number_of(const char *name)
{
    uint32_t hash = 7;
    for (; *name; name++)
        hash = hash * 31 + (unsigned char)*name;
    return 1 + hash % 1000;
}

static inline void record_fill(const struct fields *t, void *record, struct arena *a, int deep)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        void *p = field_ptr(f, record);
        switch (f->type) {
        case FIELD_BOOL: *(bool *)p = true; break;
        case FIELD_I32:
        case FIELD_U32: *(int32_t *)p = (int32_t)number_of(f->name); break;
        case FIELD_I64:
        case FIELD_U64:
        case FIELD_TIME:
        case FIELD_SPAN:
        case FIELD_MIB: *(int64_t *)p = number_of(f->name) * INT64_C(10000000000); break;
        case FIELD_TEXT: *(const char **)p = arena_printf(a, "the %s", f->name); break;
        case FIELD_ENUM: *(int32_t *)p = ((const struct enum_names *)f->aux)->n > 1 ? 1 : 0; break;
        case FIELD_BLOB:
            *(struct blob *)p =
                (struct blob){arena_printf(a, "bytes of %s", f->name), strlen(f->name) + 9};
            break;
        case FIELD_LIST: {
            const struct fields *inner = f->aux;
            struct record_list list = {.v = arena_alloc(a, inner->size),
                                       .n = deep < DEEP_MAX ? 1 : 0};
            if (list.n)
                record_fill(inner, list.v, a, deep + 1);
            *(struct record_list *)p = list;
            break;
        }
        }
    }
}

static inline const void *filled(const struct fields *t, struct arena *a)
{
    void *record = arena_alloc(a, t->size);
    record_fill(t, record, a, 0);
    return record;
}

/* ---- writing the file ---- */

static inline void frame_print(const char *name, const struct str *bytes)
{
    struct frame f;
    struct err e = {0};
    if (frame_take(bytes->data, bytes->len, &f, &e) <= 0)
        die(e.text);
    printf("# %s\n%.*s\nraw ", name, (int)f.json_len, f.json);
    for (size_t i = 0; i < f.raw_len; i++)
        printf("%02x", ((const unsigned char *)f.raw)[i]);
    printf("\n");
}

static inline void enums_print(const struct fields *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->field[i].type != FIELD_ENUM)
            continue;
        const struct enum_names *names = t->field[i].aux;
        printf("enum %s.%s", t->name, t->field[i].name);
        for (size_t k = 0; k < names->n; k++)
            if (names->name[k])
                printf(" %s", names->name[k]);
        printf("\n");
    }
}

static inline int file_write(void)
{
    struct arena *a = arena_new();
    struct str out = STR_INIT;
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        const struct fields *t = message_fields(kind);
        str_clear(&out);
        wire_encode(
            &(struct message){.kind = (enum message_kind)kind, .seq = 5, .body = filled(t, a)},
            &out);
        frame_print(message_table[kind].name, &out);
        enums_print(t);
    }
    for (size_t i = 0; i < ARRAY_LEN(row_tables); i++) {
        str_clear(&out);
        struct rows_writer *w = rows_writer_new(row_tables[i], NULL, 5, &out);
        rows_writer_add(w, filled(row_tables[i], a));
        rows_writer_end(w);
        frame_print("rows", &out);
        enums_print(row_tables[i]);
    }
    str_done(&out);
    arena_free(a);
    return 0;
}

/* ---- reading the file ---- */

static inline void header_put(struct str *out, size_t json, size_t raw)
{
    for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
        str_addc(out, (char)(unsigned char)((i < 4 ? json : raw) >> (24 - 8 * (i % 4))));
}

#endif
