/* JSON in: a pull reader over bytes that are there as a whole. The caller asks for what it expects,
 * in order, and gets it without a tree in between: reading costs no memory but the texts that are
 * kept, whatever a stranger sends.
 *
 *     json_in_open(&in, '{');
 *     for (bool first = true; json_in_more(&in, '}', &first);) { json_in_key(&in, &key);
 *       json_in_u64(&in,
 * &n); } json_in_end(&in);
 *
 * The first error sticks: it is set once in err (ERR_INVALID, with the byte), everything after it
 * does nothing and returns false. */
#ifndef REMUDA_WIRE_JSON_IN_H
#define REMUDA_WIRE_JSON_IN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64u

struct json_in {
    const char *start, *at, *end;
    struct arena *arena; /* keys and texts that are kept */
    struct err *err;     /* may be NULL */
    unsigned depth;
    bool failed;
};

/* `text` needs no NUL and outlives the reader; texts read are put in the arena. The first error is
 * kept in ret_err (may be NULL). */
void json_in_begin(struct json_in *in, const char *text, size_t len, struct arena *a,
                   struct err *ret_err);
/* Sets the error (unless there is one) and returns false. */
bool json_in_fail(struct json_in *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* First byte of what comes next, 0 at the end. */
char json_in_peek(struct json_in *in);
bool json_in_open(struct json_in *in, char bracket); /* '{' or '[' */
/* Is there another member or element? Takes the comma before it, or the closing bracket. */
bool json_in_more(struct json_in *in, char bracket, bool *first);
/* And its colon; in the text or the arena. */
bool json_in_key(struct json_in *in, struct span *ret);
/* A string of at most max bytes, as a C string in the arena: NUL inside is an error. ret_len may be
 * NULL. */
bool json_in_text(struct json_in *in, size_t max, const char **ret);
/* A string with any bytes, NUL too; one NUL follows them. */
bool json_in_bytes(struct json_in *in, size_t max, const char **ret, size_t *ret_len);
/* A short string that is only looked at: in the text itself, or in the arena if it had escapes. */
bool json_in_word(struct json_in *in, struct span *ret);
/* A whole number: sign and magnitude. False if it is none or does not fit 64 bits. */
bool json_in_number(struct json_in *in, bool *ret_negative, uint64_t *ret);
/* A whole number within [min, max]; false, with the error set, for anything else. Fractions and
 * exponents are no whole numbers. */
bool json_in_i64(struct json_in *in, int64_t min, int64_t max, int64_t *ret);
/* a whole number, 0 … max; else refused */
bool json_in_u64(struct json_in *in, uint64_t max, uint64_t *ret);
bool json_in_bool(struct json_in *in, bool *ret); /* true or false; else refused */
bool json_in_null(struct json_in *in);            /* null; else refused */
bool json_in_skip(struct json_in *in);            /* any value */
/* Nothing but blanks may follow; returns whether all went well. */
bool json_in_end(struct json_in *in);

#endif
