/* A text of JSON is a text in double quotes of YAML, but for characters that YAML takes for line
 * breaks or does not print; numbers are the same, but for an exponent behind no point, which YAML
 * 1.1 takes for a text. So what is read is copied, and only its frame is written anew. */
#include "wire/yaml.h"

#include "base/alloc.h"
#include "wire/utf8.h"

#include <string.h>

#define DEPTH_MAX 64

struct yaml_reading {
    const char *at, *end;
    struct str *out;
    unsigned depth;
};

static void blank_skip(struct yaml_reading *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at))
        r->at++;
}

static bool take(struct yaml_reading *r, char c)
{
    blank_skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* ---- scalars ---- */

static bool is_unprintable(uint32_t c)
{
    return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
           c == 0xffff;
}

/* What stands between the quotes, which r->at is behind the first of. */
static bool inside_take(struct yaml_reading *r, struct span *ret)
{
    const char *from = r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\' && ++r->at == r->end)
            return false;
    if (r->at == r->end)
        return false;
    *ret = (struct span){from, (size_t)(r->at++ - from)};
    return true;
}

/* The UTF-16 unit of "\uXXXX" at text[i]; 0 where none is written there. */
static uint32_t unit_at(struct span text, size_t i)
{
    uint32_t unit = 0;
    if (i + 6 > text.len || text.data[i] != '\\' || text.data[i + 1] != 'u')
        return 0;
    for (size_t k = i + 2; k < i + 6; k++) {
        char c = text.data[k];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit > 15)
            return 0;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* An escape of JSON's. Of characters beyond U+FFFF it writes two halves (RFC 8259, 7), which are no
 * characters to YAML: one escape of eight digits there (YAML 1.2.2, 5.7). Returns the bytes
 * taken. */
static size_t escape_write(struct str *out, struct span text, size_t i)
{
    uint32_t high = unit_at(text, i), low = unit_at(text, i + 6);
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        str_addf(out, "\\U%08x", (unsigned)(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
        return 12;
    }
    if (high >= 0xd800 && high < 0xe000) {
        str_add(out, "\\ufffd");
        return 6;
    }
    str_addn(out, text.data + i, 2);
    return 2;
}

static void quoted_write(struct str *out, struct span text)
{
    str_addc(out, '"');
    for (size_t i = 0, n; i < text.len; i += n) {
        if (text.data[i] == '\\' && i + 1 < text.len) {
            n = escape_write(out, text, i);
            continue;
        }
        n = utf8_take(text.data + i, text.len - i);
        uint32_t c = n ? utf8_char(text.data + i, n) : 0xfffd;
        if (n && !is_unprintable(c))
            str_addn(out, text.data + i, n);
        else
            str_addf(out, "\\u%04x", (unsigned)c);
        n = n ? n : 1;
    }
    str_addc(out, '"');
}

static bool text_write(struct yaml_reading *r)
{
    struct span text;
    if (!take(r, '"') || !inside_take(r, &text))
        return false;
    quoted_write(r->out, text);
    return true;
}

/* Letters, digits and '_', and no word that YAML 1.1 takes for something else. */
static bool is_plain(struct span key)
{
    static const char *const words[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    for (size_t i = 0; i < key.len; i++) {
        char c = key.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_is_nocase(key, words[i]))
            return false;
    return key.len > 0;
}

static bool key_write(struct yaml_reading *r)
{
    struct span key;
    if (!take(r, '"') || !inside_take(r, &key))
        return false;
    if (is_plain(key))
        str_addn(r->out, key.data, key.len);
    else
        quoted_write(r->out, key);
    str_addc(r->out, ':');
    return take(r, ':');
}

/* A number, true, false or null. */
static bool word_write(struct yaml_reading *r)
{
    const char *from = r->at;
    bool point = false;
    while (r->at < r->end && !strchr(",]} \t\r\n", *r->at))
        r->at++;
    if (r->at == from)
        return false;
    bool number = *from == '-' || (*from >= '0' && *from <= '9');
    for (const char *c = from; c < r->at; c++) {
        point = point || *c == '.';
        if (number && !point && (*c == 'e' || *c == 'E'))
            str_add(r->out, ".0");
        str_addc(r->out, *c);
    }
    return true;
}

/* ---- blocks ---- */

static bool value_write(struct yaml_reading *r);

static void line_begin(struct yaml_reading *r)
{
    str_addf(r->out, "\n%*s", (int)(2 * r->depth), "");
}

/* One level deeper for each of the parts, which stand on lines of their own. */
static bool parts_write(struct yaml_reading *r, bool object)
{
    char close = object ? '}' : ']';
    if (take(r, close)) {
        str_add(r->out, object ? " {}" : " []");
        return true;
    }
    if (r->depth >= DEPTH_MAX)
        return false;
    do {
        line_begin(r);
        if (!object)
            str_addc(r->out, '-');
        r->depth++;
        bool ok = (!object || key_write(r)) && value_write(r);
        r->depth--;
        if (!ok)
            return false;
    } while (take(r, ','));
    return take(r, close);
}

static bool value_write(struct yaml_reading *r)
{
    blank_skip(r);
    if (r->at == r->end)
        return false;
    if (take(r, '{'))
        return parts_write(r, true);
    if (take(r, '['))
        return parts_write(r, false);
    str_addc(r->out, ' ');
    return *r->at == '"' ? text_write(r) : word_write(r);
}

bool yaml_of_json(const char *json, size_t len, struct str *out)
{
    struct yaml_reading r = {.at = json, .end = json + len, .out = out};
    str_add(out, "---");
    if (!value_write(&r))
        return false;
    str_addc(out, '\n');
    blank_skip(&r);
    return r.at == r.end;
}
