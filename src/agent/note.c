#include "agent/note.h"

#include "base/alloc.h"

#include <string.h>

/* "KIND NUMBERS… {MORE NUMBERS…} detail": what is in braces is left out where it is all zero, and
 * may be longer or shorter in another release. */

static const char kind_letter[NOTE_KIND_COUNT] = "SUECFGK";

static size_t numbers(const struct note *n, int64_t *ret)
{
    size_t count = 0;
#define X(member, doc) ret[count++] = n->member;
    NOTE_NUMBERS(X)
#undef X
    return count;
}

enum {
    NUMBER_COUNT = 0
#define X(member, doc) +1
    NOTE_NUMBERS(X)
#undef X
};

void note_format(const struct note *n, struct str *out)
{
    int64_t number[NUMBER_COUNT];
    str_addc(out, kind_letter[n->kind]);
    for (size_t i = 0, count = numbers(n, number); i < count; i++) {
        str_addc(out, ' ');
        str_add_i64(out, number[i]);
    }
    int64_t more[] = {
#define X(member, doc) n->member,
        NOTE_MORE_NUMBERS(X)
#undef X
    };
    bool any = n->detail[0] == '{'; /* else it would be read as numbers */
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        any |= more[i] != 0;
    for (size_t i = 0; any && i < ARRAY_LEN(more); i++) {
        str_add(out, i ? " " : " {");
        str_add_i64(out, more[i]);
    }
    if (any)
        str_addc(out, '}');
    if (n->detail[0]) {
        size_t from = out->len;
        str_addc(out, ' ');
        str_add(out, n->detail);
        for (char *c = out->data + from; *c; c++)
            if (*c == '\n')
                *c = ' ';
    }
    str_addc(out, '\n');
}

static bool kind_of(char letter, enum note_kind *ret)
{
    for (int k = 0; k < NOTE_KIND_COUNT; k++) {
        if (kind_letter[k] == letter) {
            *ret = (enum note_kind)k;
            return true;
        }
    }
    return false;
}

static bool number_read(struct span piece, int64_t *ret)
{
    char text[24];
    if (piece.len == 0 || piece.len >= sizeof text)
        return false;
    memcpy(text, piece.data, piece.len);
    text[piece.len] = '\0';
    return text_to_i64(text, INT64_MIN, INT64_MAX, ret);
}

static bool more_read(struct span *line, struct note *ret)
{
    int64_t *const more[] = {
#define X(member, doc) &ret->member,
        NOTE_MORE_NUMBERS(X)
#undef X
    };
    const char *end = memchr(line->data, '}', line->len);
    if (!end) /* cut */
        return false;
    struct span rest = {line->data + 1, (size_t)(end - line->data - 1)}, piece;
    for (size_t i = 0; span_next(&rest, ' ', &piece); i++)
        if (i < ARRAY_LEN(more) && !number_read(piece, more[i]))
            return false;
    line->len -= (size_t)(end + 1 - line->data);
    line->data = end + 1;
    if (line->len > 0 && line->data[0] == ' ') {
        line->data++;
        line->len--;
    }
    return true;
}

bool note_parse(struct span line, struct note *ret)
{
    struct span piece;
    int64_t number[NUMBER_COUNT];
    memset(ret, 0, sizeof *ret);
    if (!span_next(&line, ' ', &piece) || piece.len != 1 || !kind_of(piece.data[0], &ret->kind))
        return false;
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (!span_next(&line, ' ', &piece) || !number_read(piece, &number[i]))
            return false;
    size_t at = 0;
#define X(member, doc) ret->member = number[at++];
    NOTE_NUMBERS(X)
#undef X
    if (line.len > 0 && line.data[0] == '{' && !more_read(&line, ret))
        return false;
    size_t len = line.len < NOTE_DETAIL_BYTES - 1 ? line.len : NOTE_DETAIL_BYTES - 1;
    if (len > 0)
        memcpy(ret->detail, line.data, len);
    return true;
}
