#include "reading/say.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS     86400000
#define NODES_MOST 4u

void say_span(int64_t ms, struct str *out)
{
    ms = ms < 10000 ? (ms + 50) / 100 * 100 : ms;
    long long s = (long long)(ms + 500) / 1000, min = s < 3600 ? s / 60 : (s + 30) / 60,
              h = min < 48 * 60 ? min / 60 : (min + 30) / 60;
    if (ms < 10000 && ms % 1000)
        str_addf(out, "%.1f s", (double)ms / 1000);
    else if (s < 60)
        str_addf(out, "%lld s", s);
    else if (min < 60 && s % 60)
        str_addf(out, "%lld min %lld s", min, s % 60);
    else if (min < 60)
        str_addf(out, "%lld min", min);
    else if (h < 48 && min % 60)
        str_addf(out, "%lld h %lld min", h, min % 60);
    else if (h < 48)
        str_addf(out, "%lld h", h);
    else
        str_addf(out, "%lld d %lld h", h / 24, h % 24);
}

void say_times_like(const struct look *l, int64_t from_ms, int64_t to_ms, int64_t span_ms,
                    struct str *out)
{
    ASSERT(from_ms <= to_ms);
    const char *format = l->to_ms - l->from_ms > DAY_MS ? "%m-%dT%H:%M"
                         : span_ms < 600000             ? "%H:%M:%S"
                                                        : "%H:%M";
    civil_format(from_ms * 1000, from_ms * 1000, format, l->zone, out);
    str_add(out, " to ");
    civil_format(to_ms * 1000, to_ms * 1000, format, l->zone, out);
}

void say_times(const struct look *l, int64_t from_ms, int64_t to_ms, struct str *out)
{
    say_times_like(l, from_ms, to_ms, to_ms - from_ms, out);
}

/* Those of one node, from number i on, which are marked. */
static size_t node_gpus(const struct look *l, const bool *mark, size_t i, struct idset *set)
{
    ASSERT(i < l->gpu.n);
    size_t k = i, n = 0;
    for (; k < l->gpu.n && !strcmp(l->gpu.v[k].node, l->gpu.v[i].node); k++)
        if (mark[k] && l->gpu.v[k].number >= 0) {
            idset_add(set, (uint32_t)l->gpu.v[k].number);
            n++;
        }
    return n;
}

static size_t node_end(const struct look *l, size_t i)
{
    ASSERT(i < l->gpu.n);
    size_t k = i;
    while (k < l->gpu.n && !strcmp(l->gpu.v[k].node, l->gpu.v[i].node))
        k++;
    return k;
}

void say_gpus(const struct look *l, const bool *mark, struct str *out)
{
    bool several = l->node.n > 1 || node_end(l, 0) < l->gpu.n;
    size_t shown = 0, more = 0, nodes = 0;
    for (size_t i = 0; i < l->gpu.n; i = node_end(l, i))
        nodes++;
    if (nodes > NODES_MOST && marks_count(l, mark) == l->gpu.n) {
        str_addf(out, "all %zu GPUs", l->gpu.n);
        return;
    }
    for (size_t i = 0; i < l->gpu.n; i = node_end(l, i)) {
        struct idset set = IDSET_INIT;
        size_t n = node_gpus(l, mark, i, &set);
        if (n && shown < NODES_MOST) {
            str_add(out, shown++ ? ", " : "");
            if (several) {
                str_add_plain(out, l->gpu.v[i].node);
                str_addc(out, ' ');
            }
            str_add(out, n > 1 ? "GPUs " : "GPU ");
            idset_format(&set, out);
        } else if (n) {
            more++;
        }
        idset_done(&set);
    }
    if (more)
        str_addf(out, " and those of %zu more node%s", more, more > 1 ? "s" : "");
}

void say_mib(double mib, struct str *out)
{
    static const char *const unit[] = {"MiB", "GiB", "TiB", "PiB"};
    size_t at = 0;
    for (; mib >= 1000 && at < 3; at++)
        mib /= 1024;
    str_addf(out, "%.*f %s", mib < 10 ? 1 : 0, mib, unit[at]);
}

void say_number(double v, struct str *out)
{
    double tenths = (double)(int64_t)(v * 10 + 0.5),
           rest = tenths - 10 * (double)(int64_t)(v + 0.05);
    str_addf(out, "%.*f", tenths < 100 && rest > 0.5 ? 1 : 0, v);
}

void say_found(struct look *l, enum finding_kind kind, struct str *text, struct str *next)
{
    vec_push(&l->to->found,
             ((struct finding){kind, str_take(text), next && next->len ? str_take(next) : NULL}));
    if (next)
        str_done(next);
}

bool *marks_new(const struct look *l)
{
    return xcalloc(l->gpu.n + 1, sizeof(bool));
}

size_t marks_count(const struct look *l, const bool *mark)
{
    size_t n = 0;
    for (size_t i = 0; i < l->gpu.n; i++)
        n += mark[i];
    return n;
}
