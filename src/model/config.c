/* slurm.conf's grammar. A line (with its continuations) is a list of Key=Value words; its first key says what it is: NodeName and PartitionName start a record, any
 * other line sets cluster-wide settings. NodeName=DEFAULT and PartitionName=DEFAULT lines change the record that later lines start from. */
#include "model/config_keys.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/limits.h"
#include "model/settings.h"
#include "model/settings_value.h"

#include <string.h>

struct word {
    const char *key, *value;
};

struct parser {
    struct arena *a;
    struct config *config;
    config_reader reader;
    void *reader_ctx;
    const char *file;
    int line;
    unsigned depth;
    struct node default_node;
    struct partition default_part;
    struct map_str *seen_node, *seen_part;
    VEC(struct node) node;
    VEC(struct partition) part;
    VEC(const char *) warning;
    VEC(struct word) word; /* of the line at hand */
};

static bool at_error(const struct parser *p, const char *key, struct err *ret_err)
{
    return err_prefix(ret_err, "%s:%d: %s", p->file, p->line, key);
}

static void warn_unknown(struct parser *p, const char *key, const char *const *names, size_t n, const char *where)
{
    const char *near = text_nearest(key, names, n);
    const char *hint = near ? arena_printf(p->a, "; did you mean %s?", near) : "";
    vec_push(&p->warning, arena_printf(p->a, "%s:%d: unknown key \"%s\"%s is ignored%s", p->file, p->line, key, where, hint));
}

static void warn_idle(struct parser *p, const char *key)
{
    vec_push(&p->warning, arena_printf(p->a, "%s:%d: %s is a key of Slurm's that has no effect in Remuda", p->file, p->line, key));
}

/* ---- words ---- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Value up to a blank; quotes keep blanks and are dropped. */
static const char *value_take(struct parser *p, const char **at)
{
    struct str value = STR_INIT;
    char quote = 0;
    const char *c = *at;
    for (; *c && (quote || !blank(*c)); c++) {
        if (quote ? *c == quote : (*c == '"' || *c == '\''))
            quote = quote ? 0 : *c;
        else
            str_addc(&value, *c);
    }
    *at = c;
    const char *text = arena_strdup(p->a, str_text(&value));
    str_done(&value);
    return text;
}

static bool words_read(struct parser *p, const char *text, struct err *ret_err)
{
    vec_clear(&p->word);
    for (const char *at = text;;) {
        while (blank(*at))
            at++;
        if (!*at)
            return true;
        size_t len = strcspn(at, "= \t\r");
        struct word w = {.key = arena_strndup(p->a, at, len)};
        at += len;
        while (blank(*at))
            at++;
        if (*at != '=' && text_is_nocase(w.key, "Include")) {
            w.value = value_take(p, &at);
        } else if (*at != '=' || !len) {
            err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%.60s\"", w.key);
            return err_prefix(ret_err, "%s:%d", p->file, p->line);
        } else {
            at++;
            while (blank(*at))
                at++;
            w.value = value_take(p, &at);
        }
        vec_push(&p->word, w);
    }
}

/* ---- nodes ---- */

static const struct node_key *node_key_find(const char *key)
{
    for (size_t i = 0; i < node_key_count; i++)
        if (text_is_nocase(node_keys[i].key, key))
            return &node_keys[i];
    return NULL;
}

static bool node_words(struct parser *p, struct node *n, struct err *ret_err)
{
    for (size_t i = 1; i < p->word.n; i++) {
        struct word w = p->word.v[i];
        const struct node_key *k = node_key_find(w.key);
        if (!k) {
            const char *names[64];
            for (size_t j = 0; j < node_key_count; j++)
                names[j] = node_keys[j].key;
            warn_unknown(p, w.key, names, node_key_count, " of a NodeName line");
        } else if (!k->set) {
            warn_idle(p, k->key);
        } else if (!k->set(n, w.value, p->a, ret_err)) {
            return at_error(p, k->key, ret_err);
        }
    }
    return true;
}

/* What was not said follows from what was: CPUs from sockets × cores × threads, or one socket with that many cores. */
static bool node_complete(struct node *n, struct err *ret_err)
{
    if (!n->threads_per_core)
        n->threads_per_core = 1;
    if (!n->boards)
        n->boards = 1;
    int64_t shape = (int64_t) n->sockets * n->cores_per_socket * n->threads_per_core;
    if (!n->cpus && !n->sockets && !n->cores_per_socket)
        n->cpus = 1;
    if (n->cpus && !shape) {
        int32_t sockets = n->sockets ? n->sockets : 1;
        int32_t per = n->cores_per_socket ? n->cores_per_socket : n->cpus / sockets / n->threads_per_core;
        n->cores_per_socket = per ? per : 1;
        n->sockets = n->sockets ? n->sockets : n->cpus / n->cores_per_socket / n->threads_per_core;
        if (!n->sockets)
            n->sockets = 1;
    }
    if (!n->sockets)
        n->sockets = 1;
    if (!n->cores_per_socket)
        n->cores_per_socket = 1;
    shape = (int64_t) n->sockets * n->cores_per_socket * n->threads_per_core;
    if (!n->cpus)
        n->cpus = (int32_t) (shape < LIMIT_CPUS_PER_NODE ? shape : LIMIT_CPUS_PER_NODE);
    if (n->cpus != shape && n->cpus != shape / n->threads_per_core && (int64_t) n->cpus > shape)
        return err_set(ret_err, ERR_INVALID, "%s: CPUs=%d is more than Sockets × CoresPerSocket × ThreadsPerCore = %lld", n->name, n->cpus, (long long) shape);
    if (!n->memory_mib)
        n->memory_mib = 1;
    if (!n->weight)
        n->weight = 1;
    return true;
}

/* NodeAddr and NodeHostname may be ranges beside the names: the i-th for the i-th. */
static const char *ith_of(const char *text, size_t i, size_t n, struct arena *a)
{
    struct hostlist list = HOSTLIST_INIT;
    const char *result = text;
    if (text && hostlist_parse(&list, text, NULL) && list.n == n && n > 1)
        result = arena_strdup(a, list.name[i]);
    hostlist_done(&list);
    return result;
}

static bool node_add(struct parser *p, const struct node *like, const struct hostlist *names, size_t i, struct err *ret_err)
{
    struct node n = *like;
    n.name = arena_strdup(p->a, names->name[i]);
    n.addr = ith_of(like->addr, i, names->n, p->a);
    n.hostname = ith_of(like->hostname, i, names->n, p->a);
    if (strlen(n.name) >= LIMIT_NAME_BYTES || p->node.n >= LIMIT_NODES)
        return err_set(ret_err, ERR_LIMIT, "at most %u nodes with names shorter than %u bytes", LIMIT_NODES, LIMIT_NAME_BYTES);
    if (map_str_get(p->seen_node, n.name))
        return err_set(ret_err, ERR_INVALID, "node %s is described twice", n.name);
    if (!node_complete(&n, ret_err))
        return false;
    map_str_put(p->seen_node, n.name, p);
    vec_push(&p->node, n);
    return true;
}

static bool node_line(struct parser *p, struct err *ret_err)
{
    const char *value = p->word.v[0].value;
    bool is_default = text_is_nocase(value, "DEFAULT");
    struct node n = p->default_node;
    struct hostlist names = HOSTLIST_INIT;
    if (!node_words(p, &n, ret_err))
        return false;
    if (is_default) {
        p->default_node = n;
        return true;
    }
    bool ok = hostlist_parse(&names, value, ret_err) && (names.n || err_set(ret_err, ERR_INVALID, "a name is missing"));
    for (size_t i = 0; ok && i < names.n; i++)
        ok = node_add(p, &n, &names, i, ret_err);
    hostlist_done(&names);
    return ok || at_error(p, "NodeName", ret_err);
}

/* ---- partitions ---- */

static bool part_words(struct parser *p, struct partition *part, struct err *ret_err)
{
    for (size_t i = 1; i < p->word.n; i++) {
        struct word w = p->word.v[i];
        const struct partition_key *k = NULL;
        for (size_t j = 0; j < partition_key_count && !k; j++)
            if (text_is_nocase(partition_keys[j].key, w.key))
                k = &partition_keys[j];
        if (!k) {
            const char *names[64];
            for (size_t j = 0; j < partition_key_count; j++)
                names[j] = partition_keys[j].key;
            warn_unknown(p, w.key, names, partition_key_count, " of a PartitionName line");
        } else if (!k->set) {
            warn_idle(p, k->key);
        } else if (!k->set(part, w.value, p->a, ret_err)) {
            return at_error(p, k->key, ret_err);
        }
    }
    return true;
}

static bool part_line(struct parser *p, struct err *ret_err)
{
    const char *value = p->word.v[0].value;
    struct partition part = p->default_part;
    if (!part_words(p, &part, ret_err))
        return false;
    if (text_is_nocase(value, "DEFAULT")) {
        p->default_part = part;
        return true;
    }
    struct span rest = span_of(value), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        part.name = arena_strndup(p->a, piece.data, piece.len);
        if (!piece.len || piece.len >= LIMIT_NAME_BYTES || p->part.n >= LIMIT_PARTITIONS || map_str_get(p->seen_part, part.name)) {
            err_set(ret_err, ERR_INVALID, "\"%s\" is no name, is described twice, or exceeds the limit of %u partitions", part.name, LIMIT_PARTITIONS);
            return at_error(p, "PartitionName", ret_err);
        }
        map_str_put(p->seen_part, part.name, p);
        vec_push(&p->part, part);
    }
    return true;
}

/* ---- settings ---- */

static const struct setting *setting_find(const char *key)
{
    for (size_t i = 0; i < setting_count; i++)
        if (text_is_nocase(setting_table[i].key, key))
            return &setting_table[i];
    return NULL;
}

static bool idle_key(const char *key)
{
    for (size_t i = 0; i < idle_key_count; i++)
        if (text_is_nocase(idle_keys[i], key))
            return true;
    return false;
}

static void warn_setting(struct parser *p, const char *key)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < setting_count; i++)
        vec_push(&names, setting_table[i].key);
    vec_push(&names, "NodeName");
    vec_push(&names, "PartitionName");
    vec_push(&names, "Include");
    warn_unknown(p, key, names.v, names.n, "");
    vec_done(&names);
}

static bool file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err);

static bool include(struct parser *p, const char *path, struct err *ret_err)
{
    const char *file = p->file;
    int line = p->line;
    if (p->depth >= LIMIT_CONFIG_INCLUDE_DEPTH) {
        err_set(ret_err, ERR_LIMIT, "files include each other more than %u deep", LIMIT_CONFIG_INCLUDE_DEPTH);
        return at_error(p, "Include", ret_err);
    }
    const char *text = p->reader ? p->reader(p->reader_ctx, path, p->a, ret_err) : NULL;
    if (!text) {
        if (!p->reader)
            err_set(ret_err, ERR_UNSUPPORTED, "Include is not possible here");
        return at_error(p, "Include", ret_err);
    }
    p->depth++;
    bool ok = file_parse(p, text, path, ret_err);
    p->depth--;
    p->file = file;
    p->line = line;
    return ok;
}

static bool setting_line(struct parser *p, struct err *ret_err)
{
    for (size_t i = 0; i < p->word.n; i++) {
        struct word w = p->word.v[i];
        const struct setting *k = setting_find(w.key);
        if (k) {
            if (!setting_set(k, &p->config->settings, w.value, ret_err))
                return at_error(p, k->key, ret_err);
        } else if (text_is_nocase(w.key, "Include")) {
            if (!include(p, w.value, ret_err))
                return false;
        } else if (idle_key(w.key)) {
            warn_idle(p, w.key);
        } else {
            warn_setting(p, w.key);
        }
    }
    return true;
}

/* ---- files ---- */

static bool line_parse(struct parser *p, const char *line, struct err *ret_err)
{
    if (!words_read(p, line, ret_err))
        return false;
    if (!p->word.n)
        return true;
    if (text_is_nocase(p->word.v[0].key, "NodeName"))
        return node_line(p, ret_err);
    if (text_is_nocase(p->word.v[0].key, "PartitionName"))
        return part_line(p, ret_err);
    return setting_line(p, ret_err);
}

/* Cuts a comment off: an unquoted '#', unless a backslash stands before it. */
static void comment_cut(struct str *line, size_t from)
{
    char quote = 0;
    for (size_t i = from; i < line->len; i++) {
        char c = line->data[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '#' && (i == 0 || line->data[i - 1] != '\\')) {
            str_cut(line, i);
            return;
        }
    }
}

static bool file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    struct str line = STR_INIT;
    bool ok = true;
    int number = 0;
    if (strlen(text) > LIMIT_CONFIG_BYTES)
        return err_set(ret_err, ERR_LIMIT, "%s is larger than %u bytes", file, LIMIT_CONFIG_BYTES);
    p->file = file;
    while (ok && span_next(&rest, '\n', &piece)) {
        size_t from = line.len;
        number++;
        if (!from)
            p->line = number;
        str_addn(&line, piece.data, piece.len);
        comment_cut(&line, from);
        while (line.len && blank(line.data[line.len - 1]))
            str_cut(&line, line.len - 1);
        if (line.len && line.data[line.len - 1] == '\\' && rest.data) {
            line.data[line.len - 1] = ' ';
            continue;
        }
        ok = line_parse(p, str_text(&line), ret_err);
        str_clear(&line);
    }
    str_done(&line);
    return ok;
}

/* Node lists of partitions become explicit: ALL is every node, unknown names are errors. */
static bool parts_finish(struct parser *p, struct err *ret_err)
{
    for (size_t i = 0; i < p->part.n; i++) {
        struct partition *part = &p->part.v[i];
        struct hostlist names = HOSTLIST_INIT;
        struct str folded = STR_INIT;
        bool ok = true;
        if (text_is_nocase(part->nodes, "ALL")) {
            for (size_t n = 0; n < p->node.n; n++)
                hostlist_add(&names, p->node.v[n].name);
        } else {
            ok = hostlist_parse(&names, part->nodes ? part->nodes : "", ret_err);
        }
        for (size_t n = 0; ok && n < names.n; n++)
            if (!map_str_get(p->seen_node, names.name[n]))
                ok = err_set(ret_err, ERR_INVALID, "%s: PartitionName=%s names the node %s, which no NodeName line describes", p->file, part->name, names.name[n]);
        hostlist_fold(&names, &folded);
        part->nodes = arena_strdup(p->a, str_text(&folded));
        str_done(&folded);
        hostlist_done(&names);
        if (!ok)
            return false;
    }
    return true;
}

static void result_fill(struct parser *p, struct config *ret)
{
    ret->node = arena_dup(p->a, p->node.v, p->node.n * sizeof p->node.v[0]);
    ret->nnodes = p->node.n;
    ret->part = arena_dup(p->a, p->part.v, p->part.n * sizeof p->part.v[0]);
    ret->nparts = p->part.n;
    ret->warning = arena_dup(p->a, p->warning.v, p->warning.n * sizeof p->warning.v[0]);
    ret->nwarnings = p->warning.n;
}

bool config_parse(const char *text, const char *file, config_reader reader, void *ctx, struct config *ret, struct err *ret_err)
{
    struct config config = {.arena = arena_new()};
    struct parser p = {.a = config.arena, .config = &config, .reader = reader, .reader_ctx = ctx, .seen_node = map_str_new(), .seen_part = map_str_new()};
    settings_default(&config.settings);
    p.default_part.priority_tier = 1;
    p.default_part.priority_job_factor = 1;
    bool ok = file_parse(&p, text, arena_strdup(p.a, file), ret_err) && parts_finish(&p, ret_err);
    if (ok) {
        result_fill(&p, &config);
        *ret = config;
    } else {
        arena_free(config.arena);
    }
    map_str_free(p.seen_node);
    map_str_free(p.seen_part);
    vec_done(&p.node);
    vec_done(&p.part);
    vec_done(&p.warning);
    vec_done(&p.word);
    return ok;
}

void config_done(struct config *c)
{
    arena_free(c->arena);
    *c = (struct config){0};
}
