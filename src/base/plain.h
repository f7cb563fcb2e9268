/* Texts of other people on their way to a terminal, a log or a mail, where what is no letter moves
 * cursors, changes what was written before, or begins a line of its own; and to a shell. */
#ifndef REMUDA_BASE_PLAIN_H
#define REMUDA_BASE_PLAIN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Nothing in the text but printable characters: no control characters (C0, DEL, C1), none that turn
 * the direction of writing or end a line, or are not to be seen, no bytes that are no UTF-8. */
bool text_is_plain(const char *text);
bool char_is_plain(uint32_t character); /* by its number in Unicode */
/* In place: each byte of other characters becomes a blank, of those that are no UTF-8 a '?'. */
void text_blank(char *text);
/* Appends the text with each other character as \n, \t, \r, \xHH or \uHHHH. NULL appends
 * nothing. */
void str_add_plain(struct str *s, const char *text);
/* The same, but lines stay lines. */
void str_add_plain_lines(struct str *s, const char *text);
/* Appends it as one word of a shell's, whatever is in it: 'it'\''s'. */
void str_add_shell_word(struct str *s, const char *text);

#endif
