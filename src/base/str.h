/* A growing byte string, always NUL-terminated once something was appended. */
#ifndef REMUDA_BASE_STR_H
#define REMUDA_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *data; /* owned; NULL while empty and never grown */
    size_t len; /* bytes, without the NUL */
    size_t cap; /* bytes at `data` */
};

#define STR_INIT ((struct str){0})

void str_done(struct str *s);                               /* frees and makes it empty */
void str_clear(struct str *s);                              /* empties, keeps the memory */
void str_reserve(struct str *s, size_t more);               /* room for `more` further bytes */
void str_add(struct str *s, const char *text);              /* NULL adds nothing */
void str_addn(struct str *s, const char *data, size_t len); /* bytes as they are, NULs too */
void str_addc(struct str *s, char c);                       /* one byte */
/* as printf(3) */
void str_addf(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* as vprintf(3); `args` is used up */
void str_addv(struct str *s, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void str_add_i64(struct str *s, int64_t n);  /* decimal; much faster than str_addf */
void str_add_u64(struct str *s, uint64_t n); /* likewise */
void str_cut(struct str *s, size_t len);     /* shortens to len bytes */
const char *str_text(const struct str *s);   /* "" when empty; valid until the next change */
/* Hands the buffer over ("" if empty); caller frees; s is empty again. */
char *str_take(struct str *s);

/* A piece of somebody else's text. */
struct span {
    const char *data; /* borrowed, not NUL-terminated */
    size_t len;       /* bytes */
};
/* For "%.*s" in a sentence about foreign text: as much of it as one reads. */
#define QUOTED_MAX     80u /* bytes */
#define SPAN_QUOTED(s) (int)((s).len < QUOTED_MAX ? (s).len : QUOTED_MAX), (s).data
struct span span_of(const char *text);                /* NULL is empty; without its NUL */
struct span span_trim(struct span s);                 /* without blanks and tabs at both ends */
bool span_is(struct span s, const char *text);        /* byte for byte */
bool span_is_nocase(struct span s, const char *text); /* ASCII letters alike */
/* Takes the piece up to the next `sep` off *rest. Returns false when nothing is left ("a,," yields
 * "a", "", ""; "" yields ""). */
bool span_next(struct span *rest, char sep, struct span *ret_piece);
/* Takes the next off a list of texts, each ended by NUL, as arguments and variables travel. False
 * when nothing is left. What follows the last NUL is none of them: whoever made such a list, what
 * lies behind it is not his. */
bool text_next(struct span *rest, const char **ret_text);
/* The value of the first NAME=VALUE in such a list, or NULL. */
const char *text_value(struct span list, const char *name);

/* Plain C strings. */
bool text_is(const char *a, const char *b);        /* equal; NULL equals NULL only */
bool text_is_nocase(const char *a, const char *b); /* NULL equals NULL only */
/* As strcmp(), but runs of digits by their numbers: "n2" before "n10". */
int text_compare_by_number(const char *a, const char *b);
bool text_empty(const char *a);                                /* NULL or "" */
bool text_starts(const char *text, const char *prefix);        /* neither may be NULL */
bool text_starts_nocase(const char *text, const char *prefix); /* likewise */
/* Decimal number that takes the whole of the text. False if it is anything else or out of [min,
 * max]. */
bool text_to_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value);
bool text_to_u64(const char *text, uint64_t max, uint64_t *ret_value); /* digits alone, no sign */
/* The candidate nearest to `word` by edit distance (Damerau-Levenshtein, letter case ignored), or
 * NULL if none is near enough to suggest (more than a third of the letters differ). */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);
/* fnmatch(3)-like: `*`, `?` and `[set]`. */
bool text_glob(const char *pattern, const char *text);

#endif
