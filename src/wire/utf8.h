/* Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef REMUDA_WIRE_UTF8_H
#define REMUDA_WIRE_UTF8_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at the start of data, 0 if these bytes are none. */
size_t utf8_take(const void *data, size_t len);
/* The number of the character that utf8_take took. */
uint32_t utf8_char(const char *data, size_t len);
/* Writes 1 to 4 bytes, no NUL, and returns how many; the character is one that Unicode has. */
size_t utf8_put(uint32_t character, char *out);

/* Columns that a text takes, one a character: bytes that go on with one take none. */
size_t utf8_width(const char *text, size_t len);
/* Bytes of its first `width` characters; all of it where there are not so many. */
size_t utf8_bytes(const char *text, size_t len, size_t width);
/* How many bytes, at most `most`, it may be cut to, so that no character is torn. */
size_t utf8_cut(const char *text, size_t len, size_t most);
/* The text in that many columns: cut, or blanks behind it. NULL is "". */
void utf8_add_columns(struct str *out, const char *text, size_t width);
/* Cuts it to that many columns. */
void utf8_cut_columns(struct str *s, size_t width);

#endif
