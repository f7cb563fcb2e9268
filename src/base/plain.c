#include "base/plain.h"

#include "base/alloc.h"

#include <stdint.h>
#include <string.h>

/* Length of the character at p and its number; 0: no UTF-8. A sequence cut by the end of the text
 * meets its NUL, which is no tail. */
static size_t char_take(const unsigned char *p, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80   ? 1
                 : p[0] < 0xc2 ? 0
                 : p[0] < 0xe0 ? 2
                 : p[0] < 0xf0 ? 3
                 : p[0] < 0xf5 ? 4
                               : 0;
    uint32_t c = len == 1 ? p[0] : len ? p[0] & (0x7fu >> len) : 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    *ret = c;
    bool good = len && c >= least[len] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
    return good ? len : 0;
}

/* Marks of direction, lines, embeddings and isolates, and what is not to be seen: with these a name
 * looks like another's. Joiners (200c, 200d) and variants of letters are not here: words and
 * pictures are written with them. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x061c, 0x061c},   /* mark of direction */
    {0x115f, 0x1160},   /* fillers */
    {0x17b4, 0x17b5},   /* vowels without a sign */
    {0x180e, 0x180e},   /* separator without width */
    {0x200b, 0x200b},   /* space without width */
    {0x200e, 0x200f},   /* marks of direction */
    {0x2028, 0x202e},   /* lines, embeddings */
    {0x2060, 0x206f},   /* joiner, operators without a sign, isolates, what is outdated */
    {0x3164, 0x3164},   /* filler */
    {0xfeff, 0xfeff},   /* space without width */
    {0xffa0, 0xffa0},   /* filler */
    {0xfff0, 0xfffb},   /* notes between lines */
    {0x1bca0, 0x1bca3}, /* of shorthand */
    {0x1d173, 0x1d17a}, /* of music */
    {0xe0000, 0xe007f}, /* tags */
};

static bool is_control(uint32_t c)
{
    if (c < 0xad)
        return c < 0x20 || (c >= 0x7f && c <= 0x9f);
    size_t i = 0;
    while (i < ARRAY_LEN(hidden) && c > hidden[i].last)
        i++;
    return i < ARRAY_LEN(hidden) && c >= hidden[i].first;
}

bool char_is_plain(uint32_t character)
{
    return !is_control(character);
}

bool text_is_plain(const char *text)
{
    uint32_t c;
    for (const unsigned char *p = (const unsigned char *)text; p && *p;) {
        if (*p >= 0x20 && *p < 0x7f) {
            p++;
            continue;
        }
        size_t len = char_take(p, &c);
        if (!len || is_control(c))
            return false;
        p += len;
    }
    return true;
}

void text_blank(char *text)
{
    uint32_t c;
    for (char *p = text; *p;) {
        size_t len = char_take((const unsigned char *)p, &c);
        if (!len || is_control(c))
            memset(p, len ? ' ' : '?', len ? len : 1);
        p += len ? len : 1;
    }
}

static void escape_add(struct str *s, uint32_t c)
{
    if (c == '\n')
        str_add(s, "\\n");
    else if (c == '\r')
        str_add(s, "\\r");
    else if (c == '\t')
        str_add(s, "\\t");
    else
        str_addf(s, c < 0x80 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

static void plain_add(struct str *s, const char *text, bool lines)
{
    uint32_t c;
    for (const unsigned char *p = (const unsigned char *)text; p && *p;) {
        size_t len = char_take(p, &c);
        if (!len)
            str_addf(s, "\\x%02x", *p);
        else if (is_control(c) && !(lines && c == '\n'))
            escape_add(s, c);
        else
            str_addn(s, (const char *)p, len);
        p += len ? len : 1;
    }
}

void str_add_plain(struct str *s, const char *text)
{
    plain_add(s, text, false);
}

void str_add_plain_lines(struct str *s, const char *text)
{
    plain_add(s, text, true);
}

void str_add_shell_word(struct str *s, const char *text)
{
    str_addc(s, '\'');
    for (; *text; text++)
        if (*text == '\'')
            str_add(s, "'\\''");
        else
            str_addc(s, *text);
    str_addc(s, '\'');
}
