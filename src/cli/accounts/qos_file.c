/* QOS as `sacctmgr -P show qos` of a Slurm lists them: a line of column names, then a QOS a line,
 * with '|' between. What sacctmgr can set is set, of those that are there, too; Slurm's dump of
 * accounts has them not. */
#include "cli/accounts/accounts.h"

#include "base/alloc.h"

#include <string.h>

#define COLUMNS_MAX 200

struct qos_reading {
    struct sacctmgr *s;
    struct book *b;
    struct changes *c;
    const char *path;
    size_t line;
    VEC(const char *) column;
    size_t known; /* QOS that the cluster has; those that are added stand behind them */
};

/* Columns that are called otherwise where they are set, or cannot be; "" = left out. */
static const struct {
    const char *column, *word;
} otherwise[] = {{"UsageThres", "UsageThreshold"}, {"Descr", "Description"}, {"ID", ""}};

static const char *word_of(const char *column)
{
    for (size_t i = 0; i < ARRAY_LEN(otherwise); i++)
        if (text_is_nocase(otherwise[i].column, column))
            return otherwise[i].word;
    return column;
}

/* What Slurm writes where nothing is set. */
static bool is_unset(const char *column, const char *value)
{
    return text_empty(value) ||
           (text_is_nocase(column, "PreemptMode") && text_is_nocase(value, "cluster")) ||
           (text_is_nocase(column, "GraceTime") && text_is(value, "00:00:00")) ||
           (text_is_nocase(column, "UsageFactor") && text_is(value, "1.000000"));
}

static void columns_read(struct qos_reading *q, struct span line)
{
    struct span piece;
    while (span_next(&line, '|', &piece) && q->column.n < COLUMNS_MAX)
        vec_push(&q->column, arena_strndup(q->s->a, piece.data, piece.len));
}

typedef VEC(char *) word_list;

static const char *words_read(struct qos_reading *q, struct span line, word_list *words)
{
    const char *name = NULL;
    struct span piece;
    for (size_t i = 0; span_next(&line, '|', &piece); i++) {
        const char *value = arena_strndup(q->s->a, piece.data, piece.len), *word;
        if (i >= q->column.n) {
            if (!piece.len && !line.data) /* sacctmgr -p: one '|' more */
                break;
            return NULL;
        }
        word = word_of(q->column.v[i]);
        if (text_is_nocase(q->column.v[i], "Name"))
            name = value;
        else if (*word && !is_unset(q->column.v[i], value))
            vec_push(words, arena_printf(q->s->a, "%s=%s", word, value));
    }
    return name;
}

static bool is_new(const struct qos_reading *q, const char *name)
{
    for (size_t i = 0; i < q->known; i++)
        if (!q->b->qos.v[i]->q->deleted && text_is(q->b->qos.v[i]->q->name, name))
            return false;
    return true;
}

/* Preempt= may name one further down: all names are known before anything is read of them. */
static void name_note(struct qos_reading *q, struct span line)
{
    word_list words = {0};
    const char *name = words_read(q, line, &words);
    if (!text_empty(name) && !book_qos(q->b, name)) {
        struct qos_view *v = arena_alloc(q->s->a, sizeof *v);
        v->q = arena_dup(q->s->a, &(struct qos){.name = name}, sizeof(struct qos));
        vec_push(&q->b->qos, v);
        change_qos(q->c, VERB_ADD, NULL, v->q);
        str_addf(&q->c->said, "  Q = %s\n", name);
    }
    vec_done(&words);
}

static void settings_take(struct qos_reading *q, struct span line)
{
    word_list words = {0};
    struct specs sp = {0};
    struct sacctmgr_given st = {0};
    const char *name = words_read(q, line, &words);
    bool ok = !text_empty(name) &&
              (!words.n || (specs_read(q->s, ENTITY_QOS, SPECS_MIXED, (int)words.n, words.v, &sp) &&
                            settings_read(q->s, q->b, &sp, &st)));
    if (ok && words.n)
        settings_to_qos(q->c, &st, VERB_MODIFY, name);
    if (ok && words.n && !is_new(q, name))
        str_addf(&q->c->said, "  Q = %s (set as it is there)\n", name);
    if (!ok)
        sacctmgr_fail(q->s, "%s:%zu: this line makes no sense: %s", q->path, q->line,
                      name ? name : "it has no Name, or more values than there are columns");
    specs_done(&sp);
    settings_done(&st);
    vec_done(&words);
}

static void lines_take(struct qos_reading *q, struct span lines,
                       void (*take)(struct qos_reading *q, struct span line))
{
    struct span line;
    q->line = 0;
    while (!q->s->rc && span_next(&lines, '\n', &line)) {
        q->line++;
        if (line.len && line.data[line.len - 1] == '\r')
            line.len--;
        if (q->line > 1 && line.len)
            take(q, line);
        else if (line.len && !q->column.n)
            columns_read(q, line);
    }
}

static bool has_names(const struct qos_reading *q)
{
    for (size_t i = 0; i < q->column.n; i++)
        if (text_is_nocase(q->column.v[i], "Name"))
            return true;
    return false;
}

bool qos_file_read(struct sacctmgr *s, struct book *b, struct changes *c, const char *path,
                   const struct str *text)
{
    struct qos_reading q = {.s = s, .b = b, .c = c, .path = path, .known = b->qos.n};
    struct span all = {str_text(text), text->len}, head = all, first;
    if (memchr(str_text(text), '\0', text->len))
        sacctmgr_fail(s, "%s: a zero byte: this is no text", path);
    else if (span_next(&head, '\n', &first))
        columns_read(&q, span_trim(first));
    if (!s->rc && !has_names(&q))
        sacctmgr_fail(s,
                      "%s:1: the names of the columns are expected, Name among them: what "
                      "`sacctmgr -P show qos` prints",
                      path);
    if (!s->rc)
        lines_take(&q, all, name_note);
    if (!s->rc)
        lines_take(&q, all, settings_take);
    vec_done(&q.column);
    return !s->rc;
}
