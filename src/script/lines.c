#include "script/lines.h"

#include "base/alloc.h"

#include <string.h>

#define OLD_PREFIX "#SLURM" /* of sbatch; it is read still */

bool script_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool script_starts_with(struct span s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.data, prefix, len) == 0;
}

bool script_is_command(struct span line)
{
    if (script_starts_with(line, "\xef\xbb\xbf")) /* a byte order mark */
        line = (struct span){line.data + 3, line.len - 3};
    line = span_trim(line);
    while (line.len && script_is_blank(line.data[line.len - 1]))
        line.len--;
    return line.len && line.data[0] != '#';
}

bool script_ends_in_backslash(struct span line)
{
    struct span rest;
    if (!script_line_is_of(line, DIALECT_SLURM, &rest))
        return false;
    while (rest.len && script_is_blank(rest.data[rest.len - 1]))
        rest.len--;
    size_t n = 0;
    while (n < rest.len && rest.data[rest.len - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

struct span script_heredoc_word(struct span line)
{
    for (size_t i = 0; i + 2 < line.len; i++) {
        if (line.data[i] != '<' || line.data[i + 1] != '<')
            continue;
        if (line.data[i + 2] == '<') { /* a here-string */
            i += 2;
            continue;
        }
        size_t from = i + 2;
        while (from < line.len && strchr("- \t'\"\\", line.data[from]))
            from++;
        size_t to = from;
        while (to < line.len && !strchr(" \t\r'\";|&<>()", line.data[to]))
            to++;
        return (struct span){line.data + from, to - from};
    }
    return (struct span){0};
}

/* Does a directive that is read go on behind this line? */
static bool goes_on(const struct script_lines *s, const struct script_line *line)
{
    struct span rest, t = line->text;
    bool late = line->first_command && s->reads != DIALECT_LSF;
    if (s->reads == DIALECT_SLURM || line->heredoc || late ||
        !(line->continued || script_line_is_of(t, s->reads, &rest)))
        return false;
    while (s->reads == DIALECT_PBS && t.len && script_is_blank(t.data[t.len - 1]))
        t.len--;
    return t.len && t.data[t.len - 1] == '\\';
}

bool script_line_next(struct script_lines *s, struct script_line *ret)
{
    if (s->rest.len == 0)
        return false;
    const char *end = memchr(s->rest.data, '\n', s->rest.len);
    size_t len = end ? (size_t)(end - s->rest.data) : s->rest.len, used = end ? len + 1 : len;
    *ret = (struct script_line){.text = {s->rest.data, len},
                                .number = ++s->number,
                                .heredoc = s->heredoc.len > 0,
                                .continued = s->goes_on,
                                .first_command = s->first_command};
    s->rest = (struct span){s->rest.data + used, s->rest.len - used};
    struct span t = span_trim(ret->text);
    if (ret->heredoc) {
        if (t.len == s->heredoc.len && memcmp(t.data, s->heredoc.data, t.len) == 0)
            s->heredoc.len = 0;
        return true;
    }
    s->goes_on = goes_on(s, ret);
    ret->command = !ret->continued && script_is_command(ret->text);
    if (ret->command && !s->first_command)
        s->first_command = ret->number;
    if (ret->command)
        s->heredoc = script_heredoc_word(ret->text);
    return true;
}

static const struct {
    const char *prefix, *command;
} dialects[] = {[DIALECT_SLURM] = {"#SBATCH", "sbatch"},
                [DIALECT_LSF] = {"#BSUB", "bsub"},
                [DIALECT_PBS] = {"#PBS", "qsub"}};

const char *script_prefix(enum dialect d)
{
    ASSERT((size_t)d < ARRAY_LEN(dialects));
    return dialects[d].prefix;
}

const char *script_command(enum dialect d)
{
    ASSERT((size_t)d < ARRAY_LEN(dialects));
    return dialects[d].command;
}

bool script_line_is_of(struct span line, enum dialect d, struct span *ret_rest)
{
    ASSERT((size_t)d < ARRAY_LEN(dialects));
    const char *prefix = dialects[d].prefix;
    while (d == DIALECT_PBS && line.len && script_is_blank(line.data[0]))
        line = (struct span){line.data + 1, line.len - 1};
    if (d == DIALECT_SLURM && script_starts_with(line, OLD_PREFIX))
        prefix = OLD_PREFIX;
    if (!script_starts_with(line, prefix))
        return false;
    *ret_rest = (struct span){line.data + strlen(prefix), line.len - strlen(prefix)};
    return d != DIALECT_LSF || (ret_rest->len && script_is_blank(ret_rest->data[0]));
}

enum dialect script_dialect(const char *text, size_t len, unsigned *ret_all)
{
    struct script_lines lines = {.rest = {text, len}};
    struct script_line line;
    struct span rest;
    unsigned all = 0;
    unsigned late = 0;
    enum dialect foreign = DIALECT_SLURM;
    while (script_line_next(&lines, &line))
        for (unsigned d = DIALECT_SLURM; d <= DIALECT_PBS; d++) {
            if (line.heredoc || !script_line_is_of(line.text, d, &rest))
                continue;
            if (line.first_command && d != DIALECT_LSF) {
                late |= 1u << d;
                continue;
            }
            all |= 1u << d;
            foreign = foreign == DIALECT_SLURM ? (enum dialect)d : foreign;
        }
    if (!all && late == 1u << DIALECT_PBS)
        foreign = DIALECT_PBS;
    if (ret_all)
        *ret_all = all;
    return all & (1u << DIALECT_SLURM) ? DIALECT_SLURM : foreign;
}
