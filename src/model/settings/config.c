/* The reader of slurm.conf's grammar.
 *
 * A line that ends with a backslash goes on in the next. What is left after an unquoted '#' was cut
 * off is a list of Key=Value words. The first key says what the line is: one that describes nodes
 * or partitions (config_lines.c), or any number of cluster-wide settings. `Include FILE` reads
 * another file in its place.
 *
 * Lines are taken one by one and in order, so that DEFAULT lines hold for what comes after them,
 * and a setting that is given twice holds as given last. What may refer to nodes described later
 * (partitions, NodeSet, DownNodes) is resolved after the last line. An unknown key must never be
 * lost silently, and must not keep a cluster from starting either: it gives a warning. A value that
 * makes no sense is an error. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "model/limits.h"
#include "model/settings/config_parser.h"
#include "model/settings/key.h"
#include "model/settings/settings_value.h"

#include <string.h>
#include <strings.h>

/* How the table of settings marks the keys that are there for Slurm's sake only. */
typedef VEC(struct word) word_vec;

/* Beside the configuration, which overrules it. */
#define CGROUP_FILE "cgroup.conf"

/* ---- what the reader is told ---- */

void config_warn(struct parser *p, enum config_weight weight, const char *format, ...)
{
    ASSERT(p->at.file);
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addf(&text, "%s:%d: ", p->at.file, p->at.line);
    str_addv(&text, format, args);
    va_end(args);
    vec_push(&p->warning, arena_strdup(p->a, str_text(&text)));
    vec_push(&p->weighs, (uint8_t)weight);
    str_done(&text);
}

void config_warn_unknown(struct parser *p, const char *key, const char *where,
                         const char *const *names, size_t n)
{
    const char *near = text_nearest(key, names, n);
    if (near)
        config_warn(p, WEIGHS_UNKNOWN, "unknown key \"%.100s\"%s; did you mean %s?", key, where,
                    near);
    else
        config_warn(p, WEIGHS_UNKNOWN, "unknown key \"%.100s\"%s; it has no effect", key, where);
}

bool config_error_at(const struct place *at, const char *what, struct err *ret_err)
{
    return err_prefix(ret_err, "%s:%d: %s", at->file, at->line, what);
}

/* ---- words ---- */

static bool blank(char c)
{
    return c && strchr(CONFIG_BLANKS, c);
}

static const char *blanks_skip(const char *at)
{
    while (blank(*at))
        at++;
    return at;
}

/* A value ends at a blank; quotes keep blanks and are dropped; \# is a plain '#'. */
static bool value_take(struct parser *p, const char **at, const char **ret, struct err *ret_err)
{
    struct str value = STR_INIT;
    bool quoted = false;
    const char *c = *at;
    for (; *c && (quoted || !blank(*c)); c++) {
        if (*c == '"')
            quoted = !quoted;
        else if (*c != '\\' || c[1] != '#')
            str_addc(&value, *c);
    }
    *at = c;
    *ret = arena_strdup(p->a, str_text(&value));
    str_done(&value);
    return !quoted || err_set(ret_err, ERR_INVALID, "a quotation mark is not closed");
}

/* In "Prolog= Epilog=/e" what follows the blank is no value. */
static bool pair_starts(const char *at)
{
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return len && *blanks_skip(at + len) == '=';
}

static bool word_take(struct parser *p, const char **at, struct word *ret, struct err *ret_err)
{
    size_t len = strcspn(*at, "=" CONFIG_BLANKS);
    ret->key = arena_strndup(p->a, *at, len);
    const char *after = blanks_skip(*at + len);
    if (*after == '=' && len) {
        after++;
        if (blank(*after) && pair_starts(blanks_skip(after)))
            return err_set(ret_err, ERR_INVALID,
                           "%.60s has no value; an empty one is written %.60s=\"\"", ret->key,
                           ret->key);
        after = blanks_skip(after);
    } else if (!text_is_nocase(ret->key, "Include")) {
        return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%.60s\"", *at);
    }
    *at = after;
    return value_take(p, at, &ret->value, ret_err);
}

static bool words_take(struct parser *p, const char *text, word_vec *words, struct err *ret_err)
{
    for (const char *at = blanks_skip(text); *at; at = blanks_skip(at)) {
        struct word w;
        if (!word_take(p, &at, &w, ret_err))
            return err_prefix(ret_err, "%s:%d", p->at.file, p->at.line);
        vec_push(words, w);
    }
    return true;
}

/* ---- settings ---- */

static const struct idle_key *idle_key_find(const char *key)
{
    for (size_t i = 0; i < idle_key_count; i++)
        if (text_is_nocase(idle_keys[i].key, key))
            return &idle_keys[i];
    return NULL;
}

static void warn_unknown_setting(struct parser *p, const char *key)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < setting_count; i++)
        vec_push(&names, setting_table[i].key);
    static const char *const starts[] = {"NodeName",   "PartitionName", "NodeSet",    "DownNodes",
                                         "SwitchName", "BlockName",     "BlockSizes", "Include"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        vec_push(&names, starts[i]);
    for (size_t i = 0; i < idle_key_count; i++)
        vec_push(&names, idle_keys[i].key);
    config_warn_unknown(p, key, "", names.v, names.n);
    vec_done(&names);
}

static void warn_kept(struct parser *p, const struct setting *k)
{
    if (k->effect == EFFECT_KEPT)
        config_warn(p, WEIGHS_NOTHING,
                    "%s has no effect in Remuda; it is kept for compatibility%s%s", k->key,
                    k->doc[0] ? ": " : "", k->doc);
}

static void idle_say(void *ctx, const char *line, bool missed)
{
    config_warn(ctx, missed ? WEIGHS_MEANING : WEIGHS_NOTHING, "%s", line);
}

void config_warn_value(struct parser *p, const char *key, const char *value)
{
    setting_words_idle(key, value, idle_say, p);
}

/* Slurm takes the last of two lines, but for hosts of the controller, where the first is the one
 * and the others stand in for it. True: the line is passed over. */
static bool given_before(struct parser *p, const struct setting *k, const char *value)
{
    struct place *before = &p->given[k - setting_table];
    bool again = before->file != NULL, host = text_is(k->key, SETTING_KEY(SlurmctldHost));
    if (again && host)
        config_warn(p, WEIGHS_MEANING,
                    "a second SlurmctldHost, %.60s, has no effect in Remuda: there is one "
                    "controller, which is started again where it fails",
                    value);
    else if (again && (text_is(before->file, p->at.file) || !text_is(before->file, CGROUP_FILE)))
        config_warn(p, WEIGHS_MEANING, "%s was given before, at %s:%d; this line counts", k->key,
                    before->file, before->line);
    *before = p->at;
    return again && host;
}

/* Says no more than a file without the line, so that nothing is missed: UsePAM=0,
 * JobCompType=jobcomp/none. */
static bool value_is_off(const char *value)
{
    static const char *const off[] = {"", "0", "no", "none", "null", "(null)", "-1"};
    const char *slash = strrchr(value, '/');
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        if (text_is_nocase(value, off[i]))
            return true;
    return slash && text_is_nocase(slash + 1, "none");
}

static bool setting_take(struct parser *p, const struct word *w, struct err *ret_err)
{
    const struct setting *k = setting_find(w->key);
    const struct idle_key *idle = k ? NULL : idle_key_find(w->key);
    bool of_partitions;
    if (!config_cluster_part_take(p, w->key, w->value, &of_partitions, ret_err))
        return false;
    if (of_partitions)
        return true;
    if (k) {
        if (given_before(p, k, w->value))
            return true;
        if (!setting_set(k, p->settings, w->value, ret_err))
            return config_error_at(&p->at, k->key, ret_err);
        warn_kept(p, k);
        config_warn_value(p, k->key, w->value);
    } else if (idle) {
        bool missed = idle->missed && !value_is_off(w->value);
        config_warn(p, missed ? WEIGHS_MEANING : WEIGHS_NOTHING,
                    "%s is known to Slurm but has no effect in Remuda: %s", idle->key, idle->why);
    } else {
        warn_unknown_setting(p, w->key);
    }
    return true;
}

/* ---- files ---- */

static bool file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err);

/* Files that include others, each again and again, would be read for ever. */
static const char *include_read(struct parser *p, const char *path, struct err *ret_err)
{
    const char *text = NULL;
    if (!p->reader)
        err_set(ret_err, ERR_UNSUPPORTED, "other files cannot be read here");
    else if (p->read > LIMIT_CONFIG_INCLUDED_BYTES)
        err_set(ret_err, ERR_LIMIT, "too many files, or too large ones, are included");
    else
        text = p->reader(p->reader_ctx, path, p->a, ret_err);
    p->read += (text ? strlen(text) : 0) + LIMIT_CONFIG_INCLUDE_COSTS;
    return text;
}

static bool include_take(struct parser *p, const char *path, struct err *ret_err)
{
    struct place at = p->at;
    if (text_empty(path)) {
        err_set(ret_err, ERR_INVALID, "the name of a file is missing");
        return config_error_at(&at, "Include", ret_err);
    }
    if (p->depth == LIMIT_CONFIG_INCLUDE_DEPTH) {
        err_set(ret_err, ERR_LIMIT, "files include each other more than %u deep",
                LIMIT_CONFIG_INCLUDE_DEPTH);
        return config_error_at(&at, "Include", ret_err);
    }
    const char *text = include_read(p, path, ret_err);
    if (!text)
        return config_error_at(&at, "Include", ret_err);
    bool outside = p->joined;
    p->joined = outside || text_is(path, CONFIG_JOINED);
    p->depth++;
    bool ok = file_parse(p, text, path, ret_err);
    p->depth--;
    p->joined = outside;
    p->at = at;
    return ok;
}

static bool line_take(struct parser *p, const struct line *line, struct err *ret_err)
{
    bool taken, ok = config_line_parse(p, line, &taken, ret_err);
    for (size_t i = 0; ok && !taken && i < line->n; i++) {
        const struct word *w = &line->word[i];
        if (text_is_nocase(w->key, "Include"))
            ok = include_take(p, w->value, ret_err);
        else
            ok = setting_take(p, w, ret_err);
    }
    return ok;
}

struct span config_comment_cut(struct span piece, bool *quoted)
{
    for (size_t i = 0; i < piece.len; i++) {
        if (piece.data[i] == '"')
            *quoted = !*quoted;
        else if (piece.data[i] == '#' && !*quoted && (i == 0 || piece.data[i - 1] != '\\'))
            return (struct span){piece.data, i};
    }
    return piece;
}

static bool line_parse(struct parser *p, struct str *text, struct err *ret_err)
{
    word_vec words = {0};
    bool ok = words_take(p, str_text(text), &words, ret_err);
    if (ok && words.n)
        ok = line_take(p, &(struct line){words.v, words.n}, ret_err);
    vec_done(&words);
    return ok;
}

/* Adds one line of the file; true if the next one belongs to it. */
static bool line_join(struct str *line, struct span piece)
{
    while (piece.len && blank(piece.data[piece.len - 1]))
        piece.len--;
    bool more = piece.len && piece.data[piece.len - 1] == '\\';
    str_addn(line, piece.data, more ? piece.len - 1 : piece.len);
    if (more)
        str_addc(line, ' ');
    return more;
}

/* What a host that joined says of itself cannot keep the whole cluster from starting. */
static bool line_left_out(struct parser *p, struct err *err)
{
    config_warn(p, WEIGHS_MEANING, "the line is left out: %s", err->text);
    *err = (struct err){0};
    return true;
}

static bool file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    struct str line = STR_INIT;
    bool ok = true, more = false, quoted = false;
    if (rest.len > LIMIT_CONFIG_BYTES)
        return err_set(ret_err, ERR_LIMIT, "%s: the configuration is larger than %u bytes", file,
                       LIMIT_CONFIG_BYTES);
    for (int number = 1; ok && span_next(&rest, '\n', &piece); number++) {
        if (!more)
            p->at = (struct place){file, number};
        more = line_join(&line, config_comment_cut(piece, &quoted)) && rest.data;
        if (more)
            continue;
        quoted = false;
        struct err err = {0};
        ok = line_parse(p, &line, &err) || (p->joined && line_left_out(p, &err)) ||
             err_set(ret_err, err.code, "%s", err.text);
        str_clear(&line);
    }
    str_done(&line);
    return ok;
}

bool config_file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err)
{
    return file_parse(p, text, file, ret_err);
}

/* ---- the whole ---- */

static bool line_includes(struct span line, const char *file)
{
    size_t word = strlen("Include"), name = strlen(file);
    line = span_trim(line);
    while (line.len && strchr("\r\" ", line.data[line.len - 1]))
        line.len--;
    return line.len > word + name && strncasecmp(line.data, "Include", word) == 0 &&
           strchr(" \t=", line.data[word]) &&
           memcmp(line.data + line.len - name, file, name) == 0 &&
           strchr(" \t=/\"", line.data[line.len - name - 1]);
}

/* Has it a line Include of that file? One that only speaks of it has not. */
static bool includes(const char *text, const char *file)
{
    struct span rest = span_of(text), piece;
    struct str line = STR_INIT;
    bool quoted = false, found = false;
    while (!found && span_next(&rest, '\n', &piece)) {
        if (line_join(&line, config_comment_cut(piece, &quoted)) && rest.data)
            continue;
        quoted = false;
        found = line_includes(span_of(str_text(&line)), file);
        str_clear(&line);
    }
    str_done(&line);
    return found;
}

/* cgroup.conf beside the configuration holds unless the configuration includes one. */
static bool cgroup_file_take(struct parser *p, const char *text, struct err *ret_err)
{
    struct err err = {0};
    const char *settings = p->reader && !includes(text, CGROUP_FILE)
                               ? p->reader(p->reader_ctx, CGROUP_FILE, p->a, &err)
                               : NULL;
    if (settings)
        return file_parse(p, settings, CGROUP_FILE, ret_err);
    return !err.code || err.code == ERR_NOT_FOUND || err_set(ret_err, err.code, "%s", err.text);
}

/* Of a setting whose worth is known by the whole alone, where it was given. */
static void given_warn(struct parser *p, const char *key, const char *what)
{
    const struct place *given = &p->given[setting_find(key) - setting_table];
    struct place at = p->at;
    if (!given->file)
        return;
    p->at = *given;
    config_warn(p, WEIGHS_MEANING, "%s%s", key, what);
    p->at = at;
}

/* In Slurm no job is forgotten then. What is not forgotten every start would load; one that forgets
 * at once would have jobs end unseen by those who wait for them. */
static void age_look(struct parser *p)
{
    if (p->settings->min_job_age_us)
        return;
    p->settings->min_job_age_us = USEC_PER_DAY;
    given_warn(p, SETTING_KEY(MinJobAge),
               "=0 is a day here: jobs that ended before are shown by sacct alone");
}

static void whole_look(struct parser *p)
{
    if (!p->settings->word.metrics_on)
        given_warn(p, SETTING_KEY(MetricsAddress),
                   " does nothing without MetricsType=metrics/openmetrics");
    age_look(p);
}

static void result_fill(struct parser *p, struct config *ret)
{
    ret->node = arena_dup(p->a, p->node.v, p->node.n * sizeof p->node.v[0]);
    ret->nnodes = p->node.n;
    ret->part = arena_dup(p->a, p->part.v, p->part.n * sizeof p->part.v[0]);
    ret->nparts = p->part.n;
    ret->warning = arena_dup(p->a, p->warning.v, p->warning.n * sizeof p->warning.v[0]);
    ret->weighs = arena_dup(p->a, p->weighs.v, p->weighs.n * sizeof p->weighs.v[0]);
    ret->nwarnings = p->warning.n;
}

static void parser_done(struct parser *p)
{
    vec_done(&p->topo);
    vec_done(&p->topo_at);
    map_str_free(p->node_index);
    map_str_free(p->part_seen);
    vec_done(&p->node);
    vec_done(&p->part);
    vec_done(&p->part_at);
    vec_done(&p->set);
    vec_done(&p->down);
    vec_done(&p->warning);
    vec_done(&p->weighs);
}

const char *config_with_joined(const char *text, struct arena *a)
{
    return arena_printf(a, "%s\n\nInclude " CONFIG_JOINED "\n", text);
}

bool config_parse(const char *text, const char *file, config_reader reader, void *ctx,
                  struct config *ret, struct err *ret_err)
{
    struct config config = {.arena = arena_new()};
    struct parser p = {
        .a = config.arena,
        .settings = &config.settings,
        .reader = reader,
        .reader_ctx = ctx,
        .default_part = {.priority_tier = 1, .priority_job_factor = 1},
        .node_index = map_str_new(),
        .part_seen = map_str_new(),
        .given = arena_alloc(config.arena, setting_count * sizeof(struct place)),
    };
    settings_default(&config.settings);
    bool ok = cgroup_file_take(&p, text, ret_err) &&
              file_parse(&p, text, arena_strdup(p.a, file), ret_err) &&
              config_lines_finish(&p, ret_err) && config_topology_finish(&p, &config, ret_err);
    if (ok) {
        whole_look(&p);
        result_fill(&p, &config);
        *ret = config;
    } else {
        arena_free(config.arena);
    }
    parser_done(&p);
    return ok;
}

void config_done(struct config *c)
{
    arena_free(c->arena);
    *c = (struct config){0};
}
