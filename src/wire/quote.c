#include "wire/quote.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "wire/utf8.h"

#include <string.h>

const char json_escape_of[256] = {
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    'b',         't',
    'n',         1,
    'f',         'r',
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    1,           1,
    ['"'] = '"', ['\\'] = '\\',
#define TWO8  2, 2, 2, 2, 2, 2, 2, 2
#define TWO32 TWO8, TWO8, TWO8, TWO8
    [0x7f] = 1,  [128] = TWO32,
    TWO32,       TWO32,
    TWO32,
#undef TWO8
#undef TWO32
};

#define ESCAPE_BYTES 6u  /* the longest of one character or byte: \u001f */
#define ESCAPES      64u /* room is made for so many at once */

/* The prefix has four bytes. */
static char *put_hex(char *at, const char *prefix, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    memcpy(at, prefix, 4);
    at[4] = digits[c >> 4];
    at[5] = digits[c & 15];
    return at + ESCAPE_BYTES;
}

/* What goes to people is escaped where it is no letter (base/plain.h): readers of JSON get the
 * same, terminals nothing that moves them. */
static bool quote_for_people(struct str *out, const char *text, size_t len)
{
    ASSERT(len > 0 && len < 5);
    uint32_t c = utf8_char(text, len);
    if (char_is_plain(c))
        return false;
    if (c >= 0x10000)
        str_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                 (unsigned)(0xdc00 + (c & 0x3ff)));
    else
        str_addf(out, "\\u%04x", (unsigned)c);
    return true;
}

/* One character of more than a byte, or a byte that is none; returns the bytes taken. */
static size_t quote_wide(struct str *out, const char *text, size_t len)
{
    size_t n = utf8_take(text, len);
    if (n && !quote_for_people(out, text, n))
        str_addn(out, text, n);
    if (!n)
        str_add(out, "\xef\xbf\xbd");
    return n ? n : 1;
}

/* Characters that cannot be copied blindly, as many as follow one another, a megabyte of them in a
 * text of a user's: the loop does little more than write. Returns the bytes taken. */
static size_t quote_special(struct str *out, const char *text, size_t len, bool keep_bytes)
{
    size_t i = 0;
    char how;
    str_reserve(out, ESCAPES * ESCAPE_BYTES);
    char *at = out->data + out->len;
    for (size_t n = 0; n < ESCAPES && i < len && (how = json_escape_of[(unsigned char)text[i]]);
         n++) {
        size_t wide = how == 2 && keep_bytes ? utf8_take(text + i, len - i) : 0;
        if (how == 2 && !keep_bytes)
            break;
        if (wide) {
            memcpy(at, text + i, wide);
            at += wide;
        } else if (how == 1 || how == 2) {
            at = put_hex(at, how == 1 ? "\\u00" : "\\udc", (unsigned char)text[i]);
        } else {
            *at++ = '\\';
            *at++ = how;
        }
        i += wide ? wide : 1;
    }
    *at = '\0';
    out->len = (size_t)(at - out->data);
    return i ? i : quote_wide(out, text, len);
}

void json_quote(struct str *out, const char *text, size_t len, bool keep_bytes)
{
    str_addc(out, '"');
    for (size_t i = 0; i < len;) {
        size_t run = i;
        while (run < len && json_escape_of[(unsigned char)text[run]] == 0)
            run++;
        if (run > i)
            str_addn(out, text + i, run - i);
        i = run;
        if (i < len)
            i += quote_special(out, text + i, len - i, keep_bytes);
    }
    str_addc(out, '"');
}
