/* Texts as strings of JSON. */
#ifndef REMUDA_WIRE_QUOTE_H
#define REMUDA_WIRE_QUOTE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* By byte. 0: it is copied as it is; 1: needs \u00NN; 2: not ASCII; else the letter after the
 * backslash. */
extern const char json_escape_of[256];

/* A JSON string with its quotes. Bytes that are no UTF-8 become \udcNN (keep_bytes: they come out
 * again at our own reader) or U+FFFD. */
void json_quote(struct str *out, const char *text, size_t len, bool keep_bytes);

#endif
