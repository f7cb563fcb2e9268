#include "script/writing.h"

#include "base/alloc.h"
#include "base/amount.h"
#include "model/grammar/gres.h"
#include "script/lines.h"

#include <stdarg.h>
#include <string.h>

bool writing_given(const struct writing *w, const char *option)
{
    return option_source_of(w->o, option, CMD_SBATCH) != FROM_DEFAULT;
}

void writing_said(struct writing *w, const char *option)
{
    const struct option_row *row = option_named(option, CMD_SBATCH);
    CHECK(row);
    w->said[option_index(row)] = true;
}

void writing_lost(struct writing *w, const char *option, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    if (option)
        writing_said(w, option);
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    struct writing_note n = {option, arena_strdup(w->a, str_text(&text))};
    str_done(&text);
    for (size_t i = 0; i < w->note.n; i++)
        if (text_is(w->note.v[i].text, n.text) && text_is(w->note.v[i].option, option))
            return;
    vec_push(&w->note, n);
}

/* Quoted so that the reader of that system takes it as one word. */
static bool word_add(const struct writing *w, const char *word, struct str *out)
{
    bool plain = *word && !strpbrk(word, " \t\"'\\#&|<>()[]*?!;$`~");
    if (strpbrk(word, "\n\r"))
        return false;
    if (plain) {
        str_add(out, word);
        return true;
    }
    if (w->to == DIALECT_LSF) { /* no backslash helps there */
        char quote = strchr(word, '"') ? '\'' : '"';
        if (strchr(word, quote))
            return false;
        str_addf(out, "%c%s%c", quote, word, quote);
        return true;
    }
    str_addc(out, '"');
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            str_addc(out, '\\');
        str_addc(out, *word);
    }
    str_addc(out, '"');
    return true;
}

bool writing_line(struct writing *w, const char *option, const char *value)
{
    struct str line = STR_INIT;
    bool slurm = w->to == DIALECT_SLURM, ok = true;
    str_addf(&line, "%s %s%s", script_prefix(w->to), slurm ? "--" : "-", option);
    if (value) {
        str_addc(&line, slurm ? '=' : ' ');
        ok = word_add(w, value, &line);
    }
    if (ok)
        str_addf(w->out, "%s\n", str_text(&line));
    str_done(&line);
    return ok;
}

bool writing_text(struct writing *w, const char *ours, const char *option, const char *value)
{
    if (text_empty(value))
        return true;
    writing_said(w, ours);
    if (writing_line(w, option, value))
        return true;
    writing_lost(w, ours, "%s has no way to write this value", script_command(w->to));
    return false;
}

static int32_t part_of(int32_t whole, int32_t parts)
{
    return (int32_t)(((int64_t)whole + parts - 1) / parts);
}

/* So many tasks on each node, at most to Slurm; exactly so many elsewhere. */
static void nodes_from_tasks(struct writing *w, bool tell)
{
    struct writing_size *s = &w->size;
    s->nodes = part_of(s->tasks, s->per_node);
    if (tell && (s->nodes > 1 || s->per_node > s->tasks))
        writing_lost(w, "nodes", "%d tasks at most on each node to Slurm, exactly so many there",
                     s->per_node);
}

static void nodes_even(struct writing *w, bool tell)
{
    struct writing_size *s = &w->size;
    int32_t even = part_of(s->tasks, s->per_node);
    if (even == s->nodes)
        return;
    if (tell)
        writing_lost(w, "nodes",
                     "%d tasks on %d nodes are not as many on each: there they are on %d", s->tasks,
                     s->nodes, even);
    s->nodes = even;
}

void writing_size_fill(struct writing *w, bool tell)
{
    const struct job_request *q = &w->j->req;
    struct writing_size *s = &w->size;
    s->tasks = q->ntasks;
    s->cpus = q->cpus_per_task > 0 ? q->cpus_per_task : 1;
    s->per_node = q->ntasks_per_node;
    s->nodes = q->min_nodes && q->min_nodes == q->max_nodes ? q->min_nodes : 0;
    s->whole_nodes = s->nodes && !q->ntasks && q->exclusive == EXCLUSIVE_NODE;
    if (q->min_nodes && !s->nodes && tell)
        writing_lost(w, "nodes", "a job there has one number of nodes: %d is written",
                     q->min_nodes);
    if (!s->tasks)
        s->tasks = amount_i32((int64_t)(q->min_nodes ? q->min_nodes : 1) *
                              (s->per_node ? s->per_node : 1));
    if (!s->nodes && q->min_nodes)
        s->nodes = q->min_nodes > s->tasks ? s->tasks : q->min_nodes;
    if (s->per_node && !s->nodes)
        nodes_from_tasks(w, tell);
    if (s->nodes && !s->per_node)
        s->per_node = part_of(s->tasks, s->nodes);
    if (s->nodes)
        nodes_even(w, tell);
}

/* ---- GPUs ---- */

static bool one_gpu_kind(struct writing *w, const char *option, const char *text, bool gres,
                         const char **ret_type, int64_t *ret_count)
{
    struct gres_list list = {0};
    if (!(gres ? gres_parse : gres_parse_gpus)(text, w->a, &list, NULL) || list.n != 1 ||
        !text_is(list.item[0].kind, "gpu")) {
        writing_lost(w, option, "--%s=%s: only GPUs of one type have a word there", option, text);
        return false;
    }
    *ret_type = list.item[0].type;
    *ret_count = list.item[0].count;
    return true;
}

enum writing_gpus writing_gpus_of(struct writing *w, const char **ret_type, int64_t *ret_count,
                                  const char **ret_option)
{
    const struct job_request *q = &w->j->req;
    const struct {
        const char *option, *text;
        enum writing_gpus kind;
    } kinds[] = {{"gpus-per-node", q->gpus_per_node, GPUS_PER_NODE},
                 {"gpus-per-task", q->gpus_per_task, GPUS_PER_TASK},
                 {"gres", q->gres, GPUS_PER_NODE},
                 {"gpus", q->gpus, GPUS_OF_JOB}};
    enum writing_gpus found = GPUS_NONE;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (text_empty(kinds[i].text))
            continue;
        if (found != GPUS_NONE) {
            writing_lost(w, kinds[i].option, "--%s=%s: one kind of request for GPUs is written",
                         kinds[i].option, kinds[i].text);
            continue;
        }
        *ret_option = kinds[i].option;
        found = one_gpu_kind(w, kinds[i].option, kinds[i].text, text_is(kinds[i].option, "gres"),
                             ret_type, ret_count)
                    ? kinds[i].kind
                    : GPUS_OTHER;
    }
    if (found == GPUS_OF_JOB && w->size.nodes <= 1 && (w->size.nodes || w->size.tasks == 1))
        found = GPUS_PER_NODE;
    return found;
}

/* ---- lists ---- */

bool writing_words(struct writing *w, const char *text, char sign, const char *allowed,
                   struct span *ret, size_t max, size_t *ret_n)
{
    ASSERT(max > 0);
    struct span rest = span_of(text), one;
    *ret_n = 0;
    (void)w;
    while (rest.data && span_next(&rest, sign, &one)) {
        one = span_trim(one);
        if (!one.len || *ret_n == max)
            return false;
        for (size_t i = 0; i < one.len; i++) {
            char c = one.data[i];
            bool letter =
                (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
            if (!letter && !strchr(allowed, c))
                return false;
        }
        ret[(*ret_n)++] = one;
    }
    return *ret_n > 0;
}
