/* JSON out: a streaming writer. JSON in: records by their field tables (the reader itself is
 * json_in.h). */
#ifndef REMUDA_WIRE_JSON_H
#define REMUDA_WIRE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/fields.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes well-formed JSON into `out`; commas are put by the writer. Misuse (a value without a key
 * inside an object) aborts. Bytes that are no UTF-8 are written as U+FFFD. At most 64 levels
 * deep. */
struct json_out {
    struct str *out;
    uint64_t object; /* private: bit set per depth: inside an object */
    uint32_t depth;
    bool first, after_key;
    bool pretty; /* two blanks an indent */
};
/* The writer stands at the first value; `out` is appended to. One top-level value is the caller's
 * to keep to. */
void json_begin(struct json_out *j, struct str *out, bool pretty);
/* Opens what the next end closes; an end that closes the other kind aborts. Within an object each
 * value comes after its key, within an array there are no keys. */
void json_object(struct json_out *j);
void json_object_end(struct json_out *j); /* of the innermost that is open */
void json_array(struct json_out *j);      /* values follow, json_array_end */
void json_array_end(struct json_out *j);  /* as json_object_end */
/* Inside an object, before its value. Keys are not compared: the caller gives each once. */
void json_key(struct json_out *j, const char *key);
void json_text(struct json_out *j, const char *text); /* NULL writes "" */
/* One value each, where the writer stands. Numbers are exact digits: readers that have doubles
 * alone round those above 2^53. */
void json_i64(struct json_out *j, int64_t n);
void json_u64(struct json_out *j, uint64_t n); /* a value, or in an array */
void json_bool(struct json_out *j, bool b);    /* likewise */
void json_null(struct json_out *j);            /* likewise */
/* Shortest that reads back as d; null for infinities and NaN. */
void json_double(struct json_out *j, double d);
/* key and value in one */
void json_key_text(struct json_out *j, const char *key, const char *text);
void json_key_i64(struct json_out *j, const char *key, int64_t n); /* as json_key_text */
void json_key_bool(struct json_out *j, const char *key, bool b);   /* likewise */
/* A record as an object of its non-zero fields; blobs are texts. */
void json_record(struct json_out *j, const struct fields *t, const void *record);

/* Fills a zeroed record from the text of a JSON object by its table; lists, texts and blobs (JSON
 * strings here) go to the arena. Unknown members are skipped. For programs of the site (submit
 * filter). ERR_INVALID names the field or the byte. */
bool json_to_record(const char *text, size_t len, const struct fields *t, void *record,
                    struct arena *a, struct err *ret_err);

#endif
