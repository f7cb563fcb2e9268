/* OpenMetrics, as text. The former format differs in what a counter is called in its head. */
#include "base/plain.h"
#include "core/query/metrics.h"

#include "base/alloc.h"

const struct metric_row row_metrics[ROW_METRIC_COUNT] = {
#define X(code, name, counter, help) [ROW_##code] = {name, counter, help},
    ROW_METRICS(X)
#undef X
};

void metric_name(struct str *out, const char *prefix, const struct metric_row *row)
{
    str_add(out, prefix);
    str_add(out, row->name);
    if (row->counter)
        str_add(out, "_total");
}

static void head_line(const struct metrics *m, struct str *out, const char *word,
                      const char *prefix, const struct metric_row *row)
{
    str_add(out, word);
    str_add(out, prefix);
    str_add(out, row->name);
    if (row->counter && m->asked.plain)
        str_add(out, "_total");
    str_addc(out, ' ');
}

void metric_head(const struct metrics *m, struct str *out, const char *prefix,
                 const struct metric_row *row)
{
    head_line(m, out, "# HELP ", prefix, row);
    str_add(out, row->help);
    str_addc(out, '\n');
    head_line(m, out, "# TYPE ", prefix, row);
    str_add(out, row->counter ? "counter\n" : "gauge\n");
}

/* No control characters, no bytes that are no UTF-8; then what quotes and escapes. */
void label_add(struct str *out, const char *key, const char *value)
{
    ASSERT(out && key[0]);
    struct str plain = STR_INIT;
    if (text_empty(value))
        return;
    if (out->len)
        str_addc(out, ',');
    str_add(out, key);
    str_add(out, "=\"");
    if (text_is_plain(value))
        str_add(&plain, value);
    else
        str_add_plain(&plain, value);
    for (const char *p = str_text(&plain); *p; p++) {
        if (*p == '"' || *p == '\\')
            str_addc(out, '\\');
        str_addc(out, *p);
    }
    str_addc(out, '"');
    str_done(&plain);
}

void label_add_u64(struct str *out, const char *key, uint64_t value)
{
    if (out->len)
        str_addc(out, ',');
    str_add(out, key);
    str_add(out, "=\"");
    str_add_u64(out, value);
    str_addc(out, '"');
}

void seconds_add(struct str *out, int64_t us)
{
    if (us < 0)
        us = 0;
    str_add_i64(out, us / USEC_PER_SEC);
    if (us % USEC_PER_SEC)
        str_addf(out, ".%06lld", (long long)(us % USEC_PER_SEC));
}

static void one_begin(const struct metrics *m, struct str *out, const struct metric_row *row)
{
    metric_head(m, out, "", row);
    metric_name(out, "", row);
    str_addc(out, ' ');
}

void metric_one(const struct metrics *m, struct str *out, const struct metric_row *row,
                int64_t value)
{
    one_begin(m, out, row);
    str_add_i64(out, value);
    str_addc(out, '\n');
}

void metric_seconds(const struct metrics *m, struct str *out, const struct metric_row *row,
                    int64_t us)
{
    one_begin(m, out, row);
    seconds_add(out, us);
    str_addc(out, '\n');
}

struct str *row_begin(struct metrics *m, enum row_metric code, const struct str *labels)
{
    ASSERT(code < ROW_METRIC_COUNT);
    struct str *out = &m->row[code];
    metric_name(out, "", &row_metrics[code]);
    str_addc(out, '{');
    str_addn(out, str_text(labels), labels->len);
    str_add(out, "} ");
    return out;
}

void row_i64(struct metrics *m, enum row_metric code, const struct str *labels, int64_t value)
{
    ASSERT(code < ROW_METRIC_COUNT);
    struct str *out = row_begin(m, code, labels);
    str_add_i64(out, value);
    str_addc(out, '\n');
}

void row_seconds(struct metrics *m, enum row_metric code, const struct str *labels, int64_t us)
{
    ASSERT(code < ROW_METRIC_COUNT);
    struct str *out = row_begin(m, code, labels);
    seconds_add(out, us);
    str_addc(out, '\n');
}
