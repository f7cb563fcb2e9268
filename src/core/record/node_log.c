/* What a node says makes lines of the log, which stands beside the store, and a host that joined is
 * not believed: without a bound its words would fill the disk in an hour. */
#include "core/record/record.h"

const char *text_head(struct arena *a, const char *text, size_t most)
{
    size_t n = text ? strnlen(text, most + 1) : 0;
    if (n <= most)
        return text;
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--;
    return arena_printf(a, "%.*s ...", (int)n, text);
}

void node_log(struct core *c, struct noderec *n, enum log_level level, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    if (!line_share_take(&n->lines, c->turn.now_us))
        return;
    if (n->lines.missing)
        fx_log(c, LEVEL_WARNING,
               "node %s says more than is logged of one: %llu lines are missing here", n->n.name,
               (unsigned long long)n->lines.missing);
    n->lines.missing = 0;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    fx_log(c, level, "%s", text_head(c->turn.fx->arena, str_text(&text), LINE_BYTES));
    str_done(&text);
}
