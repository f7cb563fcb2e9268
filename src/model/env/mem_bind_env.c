/* Variables of --mem-bind. A job's have what was asked; a step's each part of it, as the programs
 * that bind themselves look for them. */
#include "model/env/env_maker.h"

#include <string.h>

struct mem_bind {
    bool verbose, prefer, sort;
    struct span type; /* "local", "map_mem:" */
    struct span list; /* behind the type: "0,1" */
};

/* Masks are shown without 0x, as Slurm shows them. */
static struct span without_0x(struct span list)
{
    bool hex = list.len > 2 && list.data[0] == '0' && (list.data[1] == 'x' || list.data[1] == 'X');
    return hex ? (struct span){list.data + 2, list.len - 2} : list;
}

/* A list goes on to the end: it has commas itself. */
static struct mem_bind parts_of(const char *asked)
{
    struct mem_bind b = {0};
    struct span rest = span_of(asked), word;
    while (!b.list.data && span_next(&rest, ',', &word)) {
        const char *colon = memchr(word.data, ':', word.len);
        if (span_is_nocase(word, "verbose") || span_is_nocase(word, "v"))
            b.verbose = true;
        else if (span_is_nocase(word, "prefer") || span_is_nocase(word, "p"))
            b.prefer = true;
        else if (span_is_nocase(word, "sort"))
            b.sort = true;
        else if (!span_is_nocase(word, "quiet") && !span_is_nocase(word, "q") &&
                 !span_is_nocase(word, "nosort"))
            b.type = word;
        if (!colon)
            continue;
        b.type = (struct span){word.data, (size_t)(colon + 1 - word.data)};
        b.list = without_0x((struct span){colon + 1, strlen(colon + 1)});
    }
    return b;
}

/* "verbose,prefer,map_mem:0,1" */
static void words_add(const struct mem_bind *b, bool quiet_said, struct str *out)
{
    const char *first = b->verbose ? "verbose" : quiet_said ? "quiet" : NULL;
    if (first)
        str_add(out, first);
    if (b->prefer)
        str_addf(out, "%sprefer", out->len ? "," : "");
    if (b->type.len)
        str_addf(out, "%s%.*s%.*s", out->len ? "," : "", (int)b->type.len, b->type.data,
                 (int)b->list.len, b->list.len ? b->list.data : "");
    if (!out->len && b->sort)
        str_add(out, "sort");
}

static void put_span(struct env_maker *m, const char *name, struct span value)
{
    struct str text = STR_INIT;
    str_addn(&text, value.data, value.len);
    env_put(m, name, str_text(&text));
    str_done(&text);
}

static void put_common(struct env_maker *m, const struct mem_bind *b, bool quiet_said)
{
    struct str text = STR_INIT;
    words_add(b, quiet_said, &text);
    env_put(m, "SLURM_MEM_BIND", str_text(&text));
    env_put(m, "SLURM_MEM_BIND_VERBOSE", b->verbose ? "verbose" : "quiet");
    if (b->sort)
        env_put(m, "SLURM_MEM_BIND_SORT", "sort");
    str_done(&text);
}

void env_put_mem_bind(struct env_maker *m, const char *asked)
{
    struct mem_bind b = parts_of(asked);
    if (!text_empty(asked))
        put_common(m, &b, false);
}

void env_put_mem_bind_parts(struct env_maker *m, const char *asked)
{
    struct mem_bind b = parts_of(asked);
    if (text_empty(asked))
        return;
    put_common(m, &b, true);
    put_span(m, "SLURM_MEM_BIND_TYPE", b.type);
    put_span(m, "SLURM_MEM_BIND_LIST", b.list);
    if (b.prefer)
        env_put(m, "SLURM_MEM_BIND_PREFER", "prefer");
}

/* What sbatch's manual page names, which Slurm 22.05 itself forgets. */
void env_put_mem_bind_batch(struct env_maker *m, const char *asked)
{
    struct mem_bind b = parts_of(asked);
    if (text_empty(asked))
        return;
    env_put(m, "SBATCH_MEM_BIND", asked);
    env_put(m, "SBATCH_MEM_BIND_VERBOSE", b.verbose ? "verbose" : "quiet");
    if (b.prefer)
        env_put(m, "SBATCH_MEM_BIND_PREFER", "prefer");
    if (b.type.len)
        put_span(m, "SBATCH_MEM_BIND_TYPE", b.type);
    if (b.list.len)
        put_span(m, "SBATCH_MEM_BIND_LIST", b.list);
}
