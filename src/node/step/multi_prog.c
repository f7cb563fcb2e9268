/* The file of --multi-prog: lines "TASKS PROGRAM ARGUMENTS", the first that names the task counts.
 * Blanks part words; '…' keeps all as it is, "…" keeps blanks, a backslash the next character. srun
 * has checked the file already. */
#include "node/step/multi_prog.h"

#include "base/alloc.h"
#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

struct word_place {
    int32_t task;
    int64_t among; /* its place among the tasks of the line */
};

/* Is the task one of "0,4-6" or "*"? */
static bool line_names(struct span tasks, struct word_place *p)
{
    struct idset set = IDSET_INIT;
    uint32_t id;
    p->among = p->task;
    if (span_is(tasks, "*"))
        return true;
    char *text = xstrndup(tasks.data, tasks.len); /* may be long: "0,2,4,…" */
    bool named = idset_parse(&set, text, UINT32_MAX, NULL) && idset_has(&set, (uint32_t)p->task);
    p->among = 0;
    for (bool more = named && idset_first(&set, &id); more && id < (uint32_t)p->task;
         more = idset_next(&set, id, &id))
        p->among++;
    idset_done(&set);
    free(text);
    return named;
}

/* "%t" is the task's number, "%o" its place. Returns how many characters were taken. */
static size_t field_add(struct span at, const struct word_place *p, struct str *out)
{
    bool field = at.len > 1 && at.data[0] == '%';
    if (field && at.data[1] == 't')
        str_addf(out, "%d", p->task);
    else if (field && at.data[1] == 'o')
        str_addf(out, "%lld", (long long)p->among);
    else
        str_addc(out, at.data[0]);
    return field && (at.data[1] == 't' || at.data[1] == 'o') ? 2 : 1;
}

static void words_add(struct span line, const struct word_place *p, struct str *out)
{
    char quote = 0;
    bool in_word = false;
    for (size_t i = 0; i < line.len;) {
        char c = line.data[i];
        bool blank = !quote && (c == ' ' || c == '\t');
        if (blank && in_word)
            str_addc(out, '\0');
        in_word = !blank;
        if (blank || c == quote || (!quote && (c == '"' || c == '\''))) {
            if (blank || c == quote)
                quote = '\0';
            else
                quote = c;
            i++;
        } else if (c == '\\' && quote != '\'' && i + 1 < line.len) {
            str_addc(out, line.data[i + 1]);
            i += 2;
        } else if (quote == '\'') {
            str_addc(out, c);
            i++;
        } else {
            i += field_add((struct span){line.data + i, line.len - i}, p, out);
        }
    }
    if (in_word)
        str_addc(out, '\0');
}

bool multi_prog_words(struct span file, int32_t task, struct str *out)
{
    ASSERT(task >= 0);
    struct span rest = file, line;
    while (span_next(&rest, '\n', &line)) {
        struct word_place place = {.task = task};
        size_t len = 0;
        line = span_trim(line);
        if (!line.len || line.data[0] == '#')
            continue;
        while (len < line.len && line.data[len] != ' ' && line.data[len] != '\t')
            len++;
        if (!line_names((struct span){line.data, len}, &place))
            continue;
        words_add(span_trim((struct span){line.data + len, line.len - len}), &place, out);
        return true;
    }
    return false;
}
