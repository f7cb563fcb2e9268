#include "wire/utf8.h"

#include <string.h>

#include "base/alloc.h"

static int is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t utf8_take(const void *data, size_t len)
{
    const unsigned char *p = data;
    if (len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return len >= 2 && is_tail(p[1]) ? 2 : 0;
    if ((p[0] & 0xf0) == 0xe0) {
        if (len < 3 || !is_tail(p[1]) || !is_tail(p[2]))
            return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0))
            return 0;
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (len < 4 || !is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]))
            return 0;
        if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
            return 0;
        return 4;
    }
    return 0;
}

uint32_t utf8_char(const char *data, size_t len)
{
    ASSERT(len >= 1 && len <= 4);
    const unsigned char *p = (const unsigned char *)data;
    uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

size_t utf8_put(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t utf8_width(const char *text, size_t len)
{
    size_t width = 0;
    for (size_t i = 0; i < len; i++)
        width += !is_tail((unsigned char)text[i]);
    return width;
}

size_t utf8_bytes(const char *text, size_t len, size_t width)
{
    ASSERT(text || len == 0);
    size_t i = 0;
    for (; i < len; i++)
        if (!is_tail((unsigned char)text[i]) && width-- == 0)
            break;
    return i;
}

size_t utf8_cut(const char *text, size_t len, size_t most)
{
    ASSERT(text || len == 0);
    if (len <= most)
        return len;
    while (most && is_tail((unsigned char)text[most]))
        most--;
    return most;
}

void utf8_add_columns(struct str *out, const char *text, size_t width)
{
    size_t len = text ? strlen(text) : 0, n = utf8_bytes(text, len, width);
    str_addf(out, "%.*s%*s", (int)n, text ? text : "", (int)(width - utf8_width(text, n)), "");
}

void utf8_cut_columns(struct str *s, size_t width)
{
    str_cut(s, utf8_bytes(s->data, s->len, width));
}
