/* The field tables: one description of each record, used by the wire, the store, --json and the
 * documentation.
 *
 * A record is a plain struct whose members are declared by an X-macro; the same macro makes its
 * table, so that a field is written once. Every "not given" is zero (or NULL): the wire leaves such
 * fields out and a decoder that does not know a field skips it, which is what lets releases differ
 * by one. */
#ifndef REMUDA_MODEL_FIELDS_H
#define REMUDA_MODEL_FIELDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_BOOL, /* bool */
    /* Numbers: aux = const struct int_range *, NULL = the range of the type (field_range) */
    FIELD_I32,
    FIELD_U32,  /* uint32_t */
    FIELD_I64,  /* int64_t */
    FIELD_U64,  /* uint64_t */
    FIELD_TEXT, /* const char *, UTF-8 where it came from people; NULL = not given */
    FIELD_ENUM, /* int32_t; travels by name; aux = const struct enum_names * */
    FIELD_TIME, /* int64_t, µs since 1970 UTC; 0 = none */
    FIELD_SPAN, /* int64_t, µs of duration; 0 = none, TIME_UNLIMITED = without end */
    FIELD_MIB,  /* int64_t, MiB */
    FIELD_BLOB, /* struct blob: raw bytes, travels in the raw part of a frame */
    FIELD_LIST, /* struct record_list; aux = const struct fields * of the elements */
};

struct blob {
    const void *data; /* borrowed */
    size_t len;
};

struct record_list {
    void *v;  /* n records of the element's size, one after another */
    size_t n; /* records at `v` */
};

/* The names of an enum's values, by value; a hole is NULL. */
struct enum_names {
    const char *const *name; /* by value */
    size_t n;
};

/* What a number may be. Times and sums of them stay far from where 64 bits end. */
struct int_range {
    int64_t min;
    uint64_t max;
    bool endless; /* and TIME_UNLIMITED */
};

#define FIELD_TIME_MAX INT64_C(253402300799999999) /* 9999-12-31T23:59:59 */
#define FIELD_SPAN_MAX INT64_C(257698037700000000) /* as many minutes as 32 bits hold */
#define FIELD_MIB_MAX  (INT64_C(1) << 44) /* more than any machine, and its bytes fit in 64 bits */

extern const struct int_range range_any32, range_any64, range_nodes, range_tasks, range_cpus,
    range_signal, range_port, range_window, range_umask, range_mail, range_shares, range_resv,
    range_day, range_priority, range_step, range_mem, range_change, range_reader,
    range_assoc_shares, range_limit;

struct field {
    const char *name; /* as on the wire, in SQL and in --help of it: snake_case, units last */
    enum field_type type;
    size_t offset;   /* in the struct */
    const void *aux; /* by its type: enum_names, int_range, fields of a list */
    const char *doc; /* one line */
};

struct fields {
    const char *name; /* of the record: "job", "submit" */
    size_t size;      /* sizeof the struct */
    const struct field *field;
    size_t n; /* of `field` */
};

/* C types of the field types, for the X-macros: X(type, name, aux, doc). */
#define FIELD_C_BOOL                       bool
#define FIELD_C_I32                        int32_t
#define FIELD_C_U32                        uint32_t
#define FIELD_C_I64                        int64_t
#define FIELD_C_U64                        uint64_t
#define FIELD_C_TEXT                       const char *
#define FIELD_C_ENUM                       int32_t
#define FIELD_C_TIME                       int64_t
#define FIELD_C_SPAN                       int64_t
#define FIELD_C_MIB                        int64_t
#define FIELD_C_BLOB                       struct blob
#define FIELD_C_LIST                       struct record_list
#define FIELD_MEMBER(type, name, aux, doc) FIELD_C_##type name;

/* The members of a record of which there are many in memory: `FIELD_MEMBERS(TABLE)` declares the
 * wide ones first, so that none leaves a gap before the next. */
#define FIELD_MEMBERS(table) table(FIELD_MEMBER_8) table(FIELD_MEMBER_4) table(FIELD_MEMBER_1)

#define FIELD_MEMBER_8(type, name, aux, doc) FIELD_8_##type(FIELD_C_##type name;)
#define FIELD_MEMBER_4(type, name, aux, doc) FIELD_4_##type(FIELD_C_##type name;)
#define FIELD_MEMBER_1(type, name, aux, doc) FIELD_1_##type(FIELD_C_##type name;)
#define FIELD_8_BOOL(member)
#define FIELD_8_I32(member)
#define FIELD_8_U32(member)
#define FIELD_8_I64(member)  member
#define FIELD_8_U64(member)  member
#define FIELD_8_TEXT(member) member
#define FIELD_8_ENUM(member)
#define FIELD_8_TIME(member) member
#define FIELD_8_SPAN(member) member
#define FIELD_8_MIB(member)  member
#define FIELD_4_BOOL(member)
#define FIELD_4_I32(member) member
#define FIELD_4_U32(member) member
#define FIELD_4_I64(member)
#define FIELD_4_U64(member)
#define FIELD_4_TEXT(member)
#define FIELD_4_ENUM(member) member
#define FIELD_4_TIME(member)
#define FIELD_4_SPAN(member)
#define FIELD_4_MIB(member)
#define FIELD_1_BOOL(member) member
#define FIELD_1_I32(member)
#define FIELD_1_U32(member)
#define FIELD_1_I64(member)
#define FIELD_1_U64(member)
#define FIELD_1_TEXT(member)
#define FIELD_1_ENUM(member)
#define FIELD_1_TIME(member)
#define FIELD_1_SPAN(member)
#define FIELD_1_MIB(member)

/* `#define FIELD_STRUCT struct job` / `#define FIELD_PREFIX spec.` before a table that uses
 * FIELD_ROW. */
#define FIELD_ROW_AT(structure, prefix, type, name, aux, doc)                                      \
    {#name, FIELD_##type, offsetof(structure, prefix name), aux, doc},

/* Index of the field of that name, or -1. Fast enough for decoding (hash or binary search is up to
 * the implementation of callers that need more). */
ptrdiff_t fields_find(const struct fields *t, const char *name);

/* "?" if out of range. */
const char *enum_name(const struct enum_names *names, int32_t value);
/* Any letter case. */
bool enum_value(const struct enum_names *names, const char *name, int32_t *ret);

/* What the number in a field may be; NULL: the field holds no number. */
const struct int_range *field_range(const struct field *f);
/* "0 to 65536", "0 to 9, or 9223372036854775807 for no limit", appended. */
struct str;
void range_say(const struct int_range *r, struct str *out); /* "1 to 64, or 525600 for no limit" */
/* Is every number within its range and every enumeration a value that there is, in lists as well?
 * ERR_INVALID names field, value and range. */
struct err;
bool record_check(const struct fields *t, const void *record, struct err *ret_err);

/* Deep copy: texts, blobs and lists go to the arena. */
void record_copy(const struct fields *t, void *to, const void *from, struct arena *a);
/* by value: texts and lists by what is in them */
bool record_equal(const struct fields *t, const void *a, const void *b);
/* what is equal has the same; going on from `hash` */
uint64_t record_hash(const struct fields *t, const void *record, uint64_t hash);
/* Bytes that a deep copy takes: the struct, and its texts, blobs and lists. */
size_t record_bytes(const struct fields *t, const void *record);

static inline void *field_ptr(const struct field *f, const void *record)
{
    return (char *)record + f->offset;
}

#endif
