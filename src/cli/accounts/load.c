/* sacctmgr load: Slurm's flat file (dump.c), laid beside what is there; `clean` takes all accounts
 * and users away first. All of it is one request. */
#include "base/list.h"
#include "base/map.h"
#include "cli/accounts/accounts.h"
#include "io/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FILE_MAX_BYTES (256 << 20)

struct load_loading {
    struct sacctmgr *s;
    struct book b;
    struct changes c;
    const char *parent, *path;
    size_t line;
    bool clean, wrong;
    bool of_cluster;                /* its line Cluster was there */
    struct map_str *user, *account; /* named so far */
    struct str coordinators;        /* "account user\n" */
};

static void line_fail(struct load_loading *g, const char *what, const char *word)
{
    sacctmgr_fail(g->s, "%s:%zu: %s %s", g->path, g->line, what, word);
    g->wrong = true;
}

/* Is what stands before a ':' the name of a kind of resource, and what follows its type, as in
 * GrpTRES=cpu=8,gres/gpu:a100=2, which dumps have without quotes? */
static bool type_follows(const char *before)
{
    const char *last = before;
    for (const char *p = before; *p; p++)
        if (*p == '=' || *p == ',')
            last = p + 1;
    return last > before && text_starts_nocase(last, "gres/");
}

/* The next piece of a line up to ':' outside of quotes; "key='value'" without the quotes. */
static bool piece_next(struct load_loading *g, const char **at, const char **ret)
{
    struct str one = STR_INIT;
    char quote = '\0';
    size_t plain = 0; /* what stands from there on is in no quotes */
    const char *p = *at;
    if (!*p)
        return false;
    for (; *p && (quote || *p != ':' || type_follows(str_text(&one) + plain)); p++) {
        if (quote ? *p == quote : (*p == '\'' || *p == '"')) {
            quote = (char)(quote ? '\0' : *p);
            plain = one.len;
        } else
            str_addc(&one, *p);
    }
    *at = *p ? p + 1 : p;
    *ret = arena_strdup(g->s->a, str_text(&one));
    str_done(&one);
    return true;
}

static bool named(const struct map_str *names, const char *name)
{
    return map_str_get(names, name) != NULL;
}

static void name_it(struct map_str *names, const char *name)
{
    map_str_put(names, name, names);
}

typedef VEC(char *) word_list;

/* QOS='+a,-b' in a file is what QOS+=a QOS-=b is on a command line. */
static void qos_split(struct load_loading *g, const char *value, word_list *words)
{
    struct span rest = span_of(value), piece;
    struct str set = STR_INIT, more = STR_INIT, less = STR_INIT;
    while (span_next(&rest, ',', &piece)) {
        struct str *to = piece.len && piece.data[0] == '+'   ? &more
                         : piece.len && piece.data[0] == '-' ? &less
                                                             : &set;
        size_t skip = to != &set;
        str_addf(to, "%s%.*s", to->len ? "," : "", (int)(piece.len - skip), piece.data + skip);
    }
    if (set.len)
        vec_push(words, arena_printf(g->s->a, "qos=%s", str_text(&set)));
    if (more.len)
        vec_push(words, arena_printf(g->s->a, "qos+=%s", str_text(&more)));
    if (less.len)
        vec_push(words, arena_printf(g->s->a, "qos-=%s", str_text(&less)));
    str_done(&set);
    str_done(&more);
    str_done(&less);
}

struct load_line {
    const char *name, *partition, *coordinator;
    struct specs sp;
    struct sacctmgr_given st;
};

static bool line_read(struct load_loading *g, enum entity entity, const char *rest,
                      struct load_line *ret)
{
    word_list words = {0};
    const char *piece;
    *ret = (struct load_line){0};
    while (piece_next(g, &rest, &piece)) {
        const char *partition = spec_value(piece, "partition"), *qos = spec_value(piece, "qos"),
                   *coordinator = spec_value(piece, "coordinator");
        if (!ret->name)
            ret->name = piece;
        else if (partition && strncasecmp(piece, "pa", 2) == 0)
            ret->partition = partition;
        else if (coordinator && strncasecmp(piece, "co", 2) == 0)
            ret->coordinator = coordinator;
        else if (qos && strncasecmp(piece, "qos", 3) == 0)
            qos_split(g, qos, &words);
        else if (text_is_nocase(piece, "Fairshare=" PARENT_SHARES))
            vec_push(&words, arena_strdup(g->s->a, "fairshare=parent"));
        else if (*piece)
            vec_push(&words, arena_strdup(g->s->a, piece));
    }
    bool ok = ret->name && specs_read(g->s, entity, SPECS_MIXED, (int)words.n, words.v, &ret->sp) &&
              settings_read(g->s, &g->b, &ret->sp, &ret->st);
    for (size_t i = 0; ok && i < ret->sp.where.n; i++)
        if (ret->sp.where.v[i].key != KEY_CLUSTERS)
            ok = false;
    vec_done(&words);
    if (!ok)
        line_fail(g, "this line makes no sense:", ret->name ? ret->name : "");
    return ok;
}

static const char *of_line(const struct load_line *l, enum sacctmgr_key key)
{
    const struct spec *one = specs_set(&l->sp, key);
    return one ? one->value : NULL;
}

static void account_load(struct load_loading *g, struct load_line *l)
{
    struct account a = {.name = l->name,
                        .description = of_line(l, KEY_DESCRIPTION),
                        .organization = of_line(l, KEY_ORGANIZATION)};
    struct assoc key = {.account = l->name, .parent = g->parent};
    const struct assoc_view *there = g->clean ? NULL : book_assoc(&g->b, l->name, NULL, NULL);
    const char *fields = a.description && a.organization ? "description,organization"
                         : a.description                 ? "description"
                         : a.organization                ? "organization"
                                                         : NULL;
    name_it(g->account, l->name);
    if (!there) {
        change_account(&g->c, VERB_ADD, NULL, &a);
        settings_to_assoc(&g->c, &l->st, VERB_ADD, &key);
        str_addf(&g->c.said, "  A = %-10.10s of %s\n", l->name, g->parent);
        return;
    }
    if (fields)
        change_account(&g->c, VERB_MODIFY, fields, &a);
    if (!text_is(there->a->parent, g->parent)) {
        l->st.assoc.parent = g->parent;
        if (!l->st.fields)
            l->st.fields = "parent";
        else if (!list_has(l->st.fields, "parent"))
            l->st.fields = arena_printf(g->s->a, "%s,parent", l->st.fields);
    }
    settings_to_assoc(&g->c, &l->st, VERB_MODIFY, &key);
}

static void user_load(struct load_loading *g, struct load_line *l)
{
    struct account_user u = {.name = l->name, .default_wckey = of_line(l, KEY_DEFAULT_WCKEY)};
    struct assoc key = {.account = g->parent, .user = l->name, .partition = l->partition};
    const char *first = of_line(l, KEY_DEFAULT_ACCOUNT), *level = of_line(l, KEY_ADMIN_LEVEL);
    bool kept = !g->clean || text_is(l->name, "root"); /* what root has elsewhere goes with those */
    bool there = kept && (!g->clean || text_is(g->parent, "root")) &&
                 book_assoc(&g->b, g->parent, l->name, l->partition);
    if (level && !enum_value(&admin_level_names, level, &u.admin_level))
        line_fail(g, "there is no AdminLevel", level);
    /* Its default may come further down: the first account for now, the right one at the end. */
    u.default_account = g->parent;
    if (!(kept && book_user(&g->b, l->name)) && !named(g->user, l->name)) {
        change_user(&g->c, VERB_ADD, NULL, &u);
        str_addf(&g->c.said, "  U = %s\n", l->name);
    }
    settings_to_assoc(&g->c, &l->st, there ? VERB_MODIFY : VERB_ADD, &key);
    if (!there)
        str_addf(&g->c.said, "  U = %-9.9s A = %-10.10s\n", l->name, g->parent);
    if (first && text_is(first, g->parent) && !l->partition) {
        u.default_account = first;
        change_user(&g->c, VERB_MODIFY, "default_account", &u);
    }
    if (level)
        change_user(&g->c, VERB_MODIFY, "admin_level", &u);
    if (l->coordinator && !named(g->user, l->name))
        str_addf(&g->coordinators, "%s %s\n", l->name, l->coordinator);
    name_it(g->user, l->name);
}

/* When all accounts are there. */
static void coordinators_load(struct load_loading *g)
{
    struct span lines = span_of(str_text(&g->coordinators)), one, rest, account;
    while (span_next(&lines, '\n', &one)) {
        const char *blank = one.len ? memchr(one.data, ' ', one.len) : NULL;
        if (!blank)
            continue;
        const char *user = arena_strndup(g->s->a, one.data, (size_t)(blank - one.data));
        rest = (struct span){blank + 1, one.len - (size_t)(blank + 1 - one.data)};
        while (span_next(&rest, ',', &account)) {
            const struct assoc key = {.account = arena_strndup(g->s->a, account.data, account.len),
                                      .user = user};
            if (account.len)
                change_assoc(&g->c, NOUN_COORDINATOR, VERB_ADD, NULL, &key);
        }
    }
}

static void clean(struct load_loading *g)
{
    for (size_t i = 0; i < g->b.user.n; i++)
        if (!g->b.user.v[i]->deleted && !text_is(g->b.user.v[i]->name, "root"))
            change_user(&g->c, VERB_REMOVE, NULL,
                        &(const struct account_user){.name = g->b.user.v[i]->name});
    for (size_t i = 0; i < g->b.assoc.n; i++) {
        const struct assoc_view *v = g->b.assoc.v[i];
        if (!v->a->deleted && !v->a->user && v->up && !v->up->up)
            change_account(&g->c, VERB_REMOVE, NULL,
                           &(const struct account){.name = v->a->account});
    }
}

static void line_load(struct load_loading *g, char *text)
{
    static const struct {
        const char *word;
        enum entity entity;
    } kinds[] = {{"Cluster", ENTITY_CLUSTER},
                 {"Parent", ENTITY_COUNT},
                 {"Account", ENTITY_ACCOUNT},
                 {"Project", ENTITY_ACCOUNT},
                 {"User", ENTITY_USER}};
    const struct assoc root = {.account = "root"};
    struct load_line l = {0};
    size_t word = strcspn(text, " -"), i;
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].word) == word && strncasecmp(text, kinds[i].word, word) == 0)
            break;
    const char *dash = strchr(text, '-');
    if (i == sizeof kinds / sizeof kinds[0] || !dash) {
        line_fail(g, "a line begins with Cluster, Parent, Account or User, and \" - \":", text);
        return;
    }
    const char *rest = dash + 1 + strspn(dash + 1, " \t");
    g->of_cluster |= kinds[i].entity == ENTITY_CLUSTER;
    if (kinds[i].entity == ENTITY_COUNT) {
        piece_next(g, &rest, &g->parent);
        if (!named(g->account, g->parent) && !text_is(g->parent, "root") &&
            (g->clean || !book_account(&g->b, g->parent)))
            line_fail(g, "there is no account above this line called", g->parent);
        return;
    }
    if (line_read(g, kinds[i].entity, rest, &l)) {
        if (kinds[i].entity == ENTITY_CLUSTER)
            settings_to_assoc(&g->c, &l.st, VERB_MODIFY, &root);
        else if (kinds[i].entity == ENTITY_ACCOUNT)
            account_load(g, &l);
        else
            user_load(g, &l);
    }
    specs_done(&l.sp);
    settings_done(&l.st);
}

static bool file_text(struct sacctmgr *s, const char *path, struct str *ret)
{
    char piece[1 << 16];
    size_t n;
    struct err err = {0};
    FILE *f = file_open_named(path, &err);
    if (!f) {
        if (err.code == ERR_INVALID)
            sacctmgr_refuse(s, " %s", err.text);
        else
            sacctmgr_refuse(s, " Unable to read \"%s\": %s", path, strerror(errno));
        return false;
    }
    while ((n = fread(piece, 1, sizeof piece, f)) > 0 && ret->len < FILE_MAX_BYTES)
        str_addn(ret, piece, n);
    bool whole = !ferror(f); /* of half a file `clean` would leave half of what there was */
    if (!whole)
        sacctmgr_refuse(s, " Unable to read \"%s\": %s", path, strerror(errno));
    fclose(f);
    if (ret->len >= FILE_MAX_BYTES)
        sacctmgr_fail(s, "%s is larger than %d MiB", path, FILE_MAX_BYTES >> 20);
    return whole && ret->len < FILE_MAX_BYTES;
}

static void file_load(struct load_loading *g, const struct str *text)
{
    struct span lines = {str_text(text), text->len}, line;
    if (g->clean)
        clean(g);
    while (!g->wrong && span_next(&lines, '\n', &line)) {
        g->line++;
        if (line.len && line.data[line.len - 1] == '\r')
            line.len--;
        line = span_trim(line);
        if (memchr(line.data, '\0', line.len))
            line_fail(g, "a zero byte: this is no text, or one of two bytes a character", "");
        else if (line.len && line.data[0] != '#')
            line_load(g, arena_strndup(g->s->a, line.data, line.len));
    }
    if (!g->wrong && g->clean && !g->of_cluster) {
        sacctmgr_fail(g->s,
                      "%s has no line Cluster - 'NAME': with clean it would take all accounts and "
                      "users away, and bring none",
                      g->path ? g->path : "what is to be loaded");
        g->wrong = true;
    }
    coordinators_load(g);
    if (!g->wrong)
        changes_commit(&g->c, " Nothing new added.");
}

static bool qos_load(struct load_loading *g)
{
    struct str text = STR_INIT;
    const char *path = g->s->qos_file;
    bool ok =
        !path || (file_text(g->s, path, &text) && qos_file_read(g->s, &g->b, &g->c, path, &text));
    str_done(&text);
    return ok;
}

void accounts_load_file(struct sacctmgr *s, int n, char **word)
{
    struct load_loading g = {
        .s = s, .c = {.s = s}, .parent = "root", .user = map_str_new(), .account = map_str_new()};
    struct str text = STR_INIT;
    for (int i = 0; i < n; i++) {
        const char *file = spec_value(word[i], "file"), *cluster = spec_value(word[i], "clusters");
        if (text_is_nocase(word[i], "clean"))
            g.clean = true;
        else if (!cluster)
            g.path = file ? file : word[i];
    }
    if (!g.path && !s->qos_file)
        sacctmgr_refuse(s, " No filename given, specify one with file=''");
    else if (s->readonly)
        sacctmgr_refuse(s, "Can't run this command in readonly mode.");
    else if ((!g.path || file_text(s, g.path, &text)) && book_read(s, &g.b) && qos_load(&g))
        file_load(&g, &text);
    changes_done(&g.c);
    map_str_free(g.user);
    map_str_free(g.account);
    str_done(&g.coordinators);
    str_done(&text);
    book_done(&g.b);
}
