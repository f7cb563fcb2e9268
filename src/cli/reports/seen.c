#include "cli/reports/seen.h"

#include "base/duration.h"
#include "cli/plot/fetch.h"
#include "cli/program/localtime.h"
#include "cli/program/window.h"
#include "model/message.h"

#include <stdio.h>
#include <string.h>

#define MOMENTS    (4u << 20) /* of 16 bytes */
#define WIDTH_FILE 100

bool seen_is_worth(const struct job *j)
{
    int64_t end_us =
        j->end_us && job_state_over((enum job_state)j->state) ? j->end_us : time_now_us();
    return j->start_us && end_us - j->start_us >= READING_SAMPLES * USEC_PER_SEC;
}

void seen_read(struct seen *s, struct client *c, const struct job *j, uint32_t attempt)
{
    struct err ignored = {0};
    const struct msg_get_series get = {.job_id = j->id, .attempt = attempt ? attempt : j->attempt};
    *s = (struct seen){0};
    reading_bound(&s->curves, j, time_now_us(), MOMENTS);
    s->fetched = curves_fetch(&s->curves, c, &get, &ignored);
    reading_make(&s->curves, j, &civil_local, &s->reading);
}

void seen_done(struct seen *s)
{
    reading_done(&s->reading);
    curves_done(&s->curves);
}

/* Further lines begin two columns later. */
static void wrapped_add(const char *text, int indent, int width, struct str *out)
{
    struct span rest = span_of(text), word;
    int at = indent;
    str_addf(out, "%*s", indent, "");
    while (span_next(&rest, ' ', &word)) {
        int len = (int)word.len;
        if (at > indent && at + 1 + len > width) {
            str_addf(out, "\n%*s", indent + 2, "");
            at = indent + 2;
        } else if (at > indent) {
            str_addc(out, ' ');
            at++;
        }
        str_addn(out, word.data, word.len);
        at += len;
    }
    str_addc(out, '\n');
}

void seen_lines_add(const struct seen *s, int indent, int width, struct str *out)
{
    struct str text = STR_INIT;
    reading_write(&s->reading, &text);
    struct span rest = span_of(text.len ? str_text(&text) : NULL), line;
    while (span_next(&rest, '\n', &line))
        if (line.len) {
            char *one = xstrndup(line.data, line.len);
            wrapped_add(one, indent, width, out);
            free(one);
        }
    str_done(&text);
}

void seen_print_lines(const struct seen *s, int indent)
{
    struct str text = STR_INIT;
    seen_lines_add(s, indent, window_width(WIDTH_FILE), &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
}
