#include "script/scrontab.h"

#include "base/alloc.h"
#include "model/grammar/cron.h"
#include "model/limits.h"
#include "script/script.h"

#include <string.h>

struct variable {
    const char *name, *value;
};

struct scrontab_reader {
    const struct option_env *env;
    struct arena *a;
    struct scrontab *to;
    VEC(struct variable) variable;
    struct submit_options *options; /* of the next entry; NULL = none so far */
    unsigned first;                 /* line of the first of them */
    bool options_wrong;
    unsigned line;
};

static void complain(struct scrontab_reader *r, struct str *to, const char *sentence)
{
    bool named = text_starts(sentence, "line ");
    if (to->len)
        str_addc(to, '\n');
    if (!named)
        str_addf(to, "line %u: ", r->line);
    str_add(to, sentence);
    if (to == &r->to->wrong)
        r->to->wrong_lines++;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t name_length(const char *text)
{
    size_t n = 0;
    if (!starts_name(*text))
        return 0;
    while (starts_name(text[n]) || (text[n] >= '0' && text[n] <= '9'))
        n++;
    return n;
}

/* ---- options ---- */

/* What sbatch takes and one that comes again cannot be. */
static const struct {
    const char *name, *why;
} senseless[] = {
    {"array", "a job of scrontab cannot be an array: it is one job that comes again"},
    {"begin", "the fields before the command say when it begins"},
    {"clusters", "a table is of one cluster"},
    {"dependency",
     "a job of scrontab cannot depend on others: it would for its first run alone (that it "
     "never runs beside itself, as with singleton, is always so)"},
    {"export-file",
     "the environment is that of a login; set what is needed in the command's script"},
    {"gid", "a table's jobs are of its owner"},
    {"test-only", "nothing is submitted before the whole table is right"},
    {"uid", "a table's jobs are of its owner"},
    {"wait", "nobody waits for a job that comes again and again"},
    {"wrap", "the command stands behind the five fields"},
    {"help", "it belongs on the command line of sbatch"},
    {"usage", "it belongs on the command line of sbatch"},
    {"version", "it belongs on the command line of sbatch"},
};

static bool senseless_check(const struct submit_options *o, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(senseless); i++) {
        bool given = option_source_of(o, senseless[i].name, CMD_SBATCH) != FROM_DEFAULT;
        if (given && text_is(senseless[i].name, "dependency") &&
            text_is_nocase(o->spec.dependency, "singleton"))
            continue;
        if (given)
            return err_set(e, ERR_INVALID, "--%s: %s", senseless[i].name, senseless[i].why);
    }
    return true;
}

static void options_begin(struct scrontab_reader *r)
{
    if (r->options)
        return;
    r->options = arena_alloc(r->a, sizeof *r->options);
    memset(r->options, 0, sizeof *r->options);
    r->first = r->line;
    r->options_wrong = false;
}

static void options_read(struct scrontab_reader *r, const char *words)
{
    struct err e = {0};
    options_begin(r);
    if (script_directive(span_of(words), r->line, r->options, r->env, r->a, &e) &&
        senseless_check(r->options, &e))
        return;
    r->options_wrong = true;
    complain(r, &r->to->wrong, e.text);
}

/* ---- variables ---- */

/* "NAME = value", with blanks anywhere; a value in quotes loses them. */
static bool variable_read(struct scrontab_reader *r, const char *text)
{
    size_t n = name_length(text);
    const char *at = text + n + strspn(text + n, " \t");
    if (!n || *at != '=')
        return false;
    struct span value = span_trim(span_of(at + 1));
    if (value.len >= 2 && (*value.data == '"' || *value.data == '\'') &&
        value.data[value.len - 1] == *value.data)
        value = (struct span){value.data + 1, value.len - 2};
    struct variable v = {.name = arena_strndup(r->a, text, n),
                         .value = arena_strndup(r->a, value.data, value.len)};
    vec_push(&r->variable, v);
    return true;
}

/* The last of that name counts. */
static const char *value_of(const struct scrontab_reader *r, struct span name)
{
    for (size_t i = r->variable.n; i-- > 0;)
        if (span_is(name, r->variable.v[i].name))
            return r->variable.v[i].value;
    return NULL;
}

/* Names that the table does not know are left to the shell that runs the command. */
static const char *expand(struct scrontab_reader *r, const char *text, struct err *e)
{
    struct str out = STR_INIT;
    while (*text && out.len <= LIMIT_TEXT_BYTES) {
        size_t n = *text == '$' ? name_length(text + 1) : 0;
        const char *value = n ? value_of(r, (struct span){text + 1, n}) : NULL;
        if (value)
            str_add(&out, value);
        else
            str_addn(&out, text, n + 1);
        text += n + 1;
    }
    const char *whole = out.len > LIMIT_TEXT_BYTES ? NULL : arena_strdup(r->a, str_text(&out));
    str_done(&out);
    if (!whole)
        err_set(e, ERR_LIMIT, "with its variables the command has more than 64 KiB");
    return whole;
}

/* ---- entries ---- */

static const char *command_read(struct scrontab_reader *r, const char *text, struct err *e)
{
    text += strspn(text, " \t");
    if (!*text) {
        err_set(e, ERR_INVALID, "the command is missing: it stands behind the time");
        return NULL;
    }
    const char *command = expand(r, text, e);
    if (!command || command[strspn(command, " \t")])
        return command;
    err_set(e, ERR_INVALID, "with its variables the command, %s, is empty", text);
    return NULL;
}

static bool entry_make(struct scrontab_reader *r, const char *text, struct err *e)
{
    struct cron cron;
    struct scrontab_entry entry = {.first = r->first, .last = r->line, .options = r->options};
    struct str warnings = STR_INIT;
    size_t used;
    if (!cron_parse(text, &cron, &used, e) || !(entry.command = command_read(r, text + used, e)))
        return false;
    entry.when = arena_strndup(r->a, text, used);
    if (r->options_wrong) /* that is said already */
        return true;
    bool ok = options_finish(entry.options, CMD_SBATCH, r->a, &warnings, e);
    struct span rest = {str_text(&warnings), warnings.len}, line;
    while (ok && warnings.len && span_next(&rest, '\n', &line))
        if (line.len)
            complain(r, &r->to->warnings, arena_strndup(r->a, line.data, line.len));
    str_done(&warnings);
    entry.options->spec.dependency = NULL;
    if (ok)
        vec_push(&r->to->entry, entry);
    return ok;
}

static void entry_read(struct scrontab_reader *r, const char *text)
{
    struct err e = {0};
    options_begin(r);
    if (!entry_make(r, text, &e))
        complain(r, &r->to->wrong, e.text);
    r->options = NULL;
}

static void line_read(struct scrontab_reader *r, const char *line)
{
    const char *text = line + strspn(line, " \t");
    if (text_starts(line, "#SCRON") && (!line[6] || is_blank(line[6])))
        options_read(r, line + 6);
    else if (*text && *text != '#' && !variable_read(r, text))
        entry_read(r, text);
}

/* What a controller would not take in a text, for it would be shown on terminals. */
static bool has_control(const char *line)
{
    for (; *line; line++)
        if (((unsigned char)*line < ' ' && *line != '\t') || *line == 0x7f)
            return true;
    return false;
}

bool scrontab_parse(const char *text, const struct option_env *env, struct arena *a,
                    struct scrontab *ret)
{
    struct scrontab_reader r = {.env = env, .a = a, .to = ret};
    *ret = (struct scrontab){0};
    while (*text) {
        size_t len = strcspn(text, "\n"), used = len + (text[len] == '\n');
        while (len && (is_blank(text[len - 1]) || text[len - 1] == '\r'))
            len--;
        r.line++;
        const char *line = arena_strndup(a, text, len);
        if (has_control(line))
            complain(&r, &ret->wrong, "there is a control character in it");
        else
            line_read(&r, line);
        text += used;
    }
    if (r.options) {
        r.line = r.first;
        complain(&r, &ret->warnings, "the options belong to no entry: none follows");
    }
    if (ret->entry.n > LIMIT_CRONTAB_ENTRIES) {
        r.line = ret->entry.v[LIMIT_CRONTAB_ENTRIES].last;
        complain(&r, &ret->wrong, "a table has at most 200 entries");
    }
    vec_done(&r.variable);
    return !ret->wrong.len;
}

void scrontab_done(struct scrontab *t)
{
    vec_done(&t->entry);
    str_done(&t->wrong);
    str_done(&t->warnings);
}

const char *scrontab_script(const struct scrontab_entry *e, struct arena *a)
{
    return arena_printf(a, "#!/bin/sh\n# line %u of its owner's table for scrontab\n%s\n", e->last,
                        e->command);
}
