#include "node/multi_prog.h"

#include "base/idset.h"

#include <stdio.h>

/* "%t" is the task's number, "%o" its place among those of the line. */
static void multi_word(int32_t task, struct span word, int64_t place, struct str *out)
{
    for (size_t i = 0; i < word.len; i++) {
        bool field = word.data[i] == '%' && i + 1 < word.len;
        if (field && word.data[i + 1] == 't')
            str_addf(out, "%d", task);
        else if (field && word.data[i + 1] == 'o')
            str_addf(out, "%lld", (long long)place);
        else
            str_addc(out, word.data[i]);
        i += field && (word.data[i + 1] == 't' || word.data[i + 1] == 'o') ? 1 : 0;
    }
}

/* Is the task one of "0,4-6" or "*"? Its place among them. */
static bool multi_line_is_mine(int32_t task, struct span tasks, int64_t *ret_place)
{
    struct idset set = IDSET_INIT;
    char text[256];
    uint32_t id;
    if (span_is(tasks, "*")) {
        *ret_place = task;
        return true;
    }
    snprintf(text, sizeof text, "%.*s", (int)tasks.len, tasks.data);
    bool mine = idset_parse(&set, text, UINT32_MAX, NULL) && idset_has(&set, (uint32_t)task);
    *ret_place = 0;
    for (bool more = mine && idset_first(&set, &id); more && id < (uint32_t)task;
         more = idset_next(&set, id, &id))
        ++*ret_place;
    idset_done(&set);
    return mine;
}

/* The words of a line; '…' and "…" keep blanks. Each ended by NUL. */
static void multi_words(int32_t task, struct span line, int64_t place, struct str *out)
{
    size_t i = 0;
    while (i < line.len) {
        char quote = line.data[i] == '"' || line.data[i] == '\'' ? line.data[i++] : 0;
        size_t from = i;
        while (i < line.len && (quote ? line.data[i] != quote : line.data[i] != ' ' && line.data[i] != '\t'))
            i++;
        if (i > from || quote) {
            multi_word(task, (struct span){line.data + from, i - from}, place, out);
            str_addc(out, '\0');
        }
        i++;
    }
}

bool multi_prog_words(struct span file, int32_t task, struct str *out)
{
    struct span line;
    while (span_next(&file, '\n', &line)) {
        int64_t place;
        size_t len = 0;
        line = span_trim(line);
        if (!line.len || line.data[0] == '#')
            continue;
        while (len < line.len && line.data[len] != ' ' && line.data[len] != '\t')
            len++;
        if (!multi_line_is_mine(task, (struct span){line.data, len}, &place))
            continue;
        multi_words(task, span_trim((struct span){line.data + len, line.len - len}), place, out);
        return true;
    }
    return false;
}
