/* What a node says makes lines of the log, which stands beside the store, and a host that joined is
 * not believed: without a bound its words would fill the disk in an hour. */
#include "core/record/record.h"

#define LINES_AT_ONCE 64
#define LINE_EVERY_US (10 * USEC_PER_SEC)
#define LINE_BYTES    2048u

/* Of lines that come one after the other each is due so much later than the one before. */
static bool line_may(struct noderec *n, int64_t now_us)
{
    int64_t last = now_us + LINES_AT_ONCE * LINE_EVERY_US;
    if (n->line_us < now_us)
        n->line_us = now_us;
    if (n->line_us > last) /* the clock was set */
        n->line_us = last;
    if (n->line_us + LINE_EVERY_US > last)
        return false;
    n->line_us += LINE_EVERY_US;
    return true;
}

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
    if (!line_may(n, c->turn.now_us)) {
        n->lines_missing++;
        return;
    }
    if (n->lines_missing)
        fx_log(c, LEVEL_WARNING,
               "node %s says more than is logged of one: %llu lines are missing here", n->n.name,
               (unsigned long long)n->lines_missing);
    n->lines_missing = 0;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    fx_log(c, level, "%s", text_head(c->turn.fx->arena, str_text(&text), LINE_BYTES));
    str_done(&text);
}
