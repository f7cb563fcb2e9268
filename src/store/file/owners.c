/* Where the trees begin stands in the schema, which is itself a table: its pages are known by
 * their look, whatever became of the file's first. A row of it may be damaged in part: where a tree
 * begins is believed though the text is not, and then the columns are those of this release. */
#include "store/file/owners.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX  32 /* of a tree */
#define FREE_FIRST 32 /* in the file's head: the first page of the list of those that are free */
#define FREE_COUNT 36 /* and how many there are */

struct page_tree {
    uint32_t root;
    uint8_t owner;
    bool rowid; /* a table whose rows have numbers */
};

struct page_owners_work {
    struct pages *pages;
    struct page_owners *o;
    VEC(struct page_tree) trees;
    struct arena *a; /* of one row */
    struct cell cell;
};

/* ---- the schema ---- */

static const char *text_of(struct page_owners_work *w, const struct value *v)
{
    return v->type == VALUE_TEXT ? arena_strndup(w->a, (const char *)v->data, v->len) : NULL;
}

static void root_take(struct page_owners_work *w, uint8_t owner, bool rowid, uint32_t root)
{
    struct page_tree t = {root, owner, rowid};
    vec_push(&w->trees, t);
}

static void table_take(struct page_owners_work *w, const char *name, const char *sql, uint32_t root)
{
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        if (text_is(name, store_table_rows[i].name)) {
            shape_from_sql(&w->o->shape[i], sql);
            root_take(w, (uint8_t)i, w->o->shape[i].rowid, root);
            return;
        }
    root_take(w, OWNER_OTHER, !strstr(sql, "WITHOUT"), root);
}

/* A row of the schema: type, name, table, root, text. */
static void schema_row(struct page_owners_work *w, const struct cell *c)
{
    if (c->n != 5 || c->value[3].type != VALUE_INT || c->value[3].number < 1 ||
        c->value[3].number > pages_count(w->pages))
        return;
    const char *type = text_of(w, &c->value[0]), *name = text_of(w, &c->value[1]),
               *sql = text_of(w, &c->value[4]);
    uint32_t root = (uint32_t)c->value[3].number;
    if (text_is(type, "index") && name)
        root_take(w,
                  sql && text_is(text_of(w, &c->value[2]), "job") ? OWNER_JOB_INDEX : OWNER_OTHER,
                  false, root);
    else if (text_is(type, "table") && name && sql)
        table_take(w, name, sql, root);
}

static void page_schema(struct page_owners_work *w, uint32_t number, const uint8_t *data)
{
    struct tree_page page;
    if (!tree_page_parse(w->pages, number, data, &page) || page.kind != PAGE_TABLE_LEAF)
        return;
    for (unsigned i = 0; i < page.cells; i++) {
        arena_reset(w->a);
        if (cell_parse(w->pages, &page, i, w->a, &w->cell))
            schema_row(w, &w->cell);
    }
}

static void schema_find(struct page_owners_work *w)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    for (uint32_t n = 1; n <= pages_count(w->pages); n++)
        if (page_read(w->pages, n, data))
            page_schema(w, n, data);
        else
            w->o->unreadable++;
    free(data);
}

/* ---- trees ---- */

static bool kind_fits(const struct page_tree *t, enum page_kind kind)
{
    return t->rowid ? kind == PAGE_TABLE_INNER || kind == PAGE_TABLE_LEAF
                    : kind == PAGE_INDEX_INNER || kind == PAGE_INDEX_LEAF;
}

/* False: something of the tree was not found. */
static bool tree_walk(struct page_owners_work *w, const struct page_tree *t, uint32_t number,
                      int depth)
{
    struct tree_page page;
    if (depth > DEPTH_MAX || number == 0 || number > pages_count(w->pages) ||
        w->o->of[number] != OWNER_NONE)
        return false;
    uint8_t *data = xmalloc(pages_size(w->pages));
    bool whole = page_read(w->pages, number, data) &&
                 tree_page_parse(w->pages, number, data, &page) && kind_fits(t, page.kind);
    if (whole) {
        bool leaf = page.kind == PAGE_TABLE_LEAF || page.kind == PAGE_INDEX_LEAF;
        w->o->of[number] = t->owner;
        for (unsigned i = 0; !leaf && i <= page.cells; i++)
            whole &= tree_walk(w, t, tree_page_below(w->pages, &page, i), depth + 1);
    }
    free(data);
    return whole;
}

/* Tables of ours first: a tree that is damaged may lead to pages of another. */
static void trees_walk(struct page_owners_work *w)
{
    for (size_t i = 0; i < w->trees.n; i++) {
        const struct page_tree *t = &w->trees.v[i];
        if (t->owner >= STORE_TABLE_COUNT)
            continue;
        w->o->found[t->owner] = true;
        w->o->torn[t->owner] |= !tree_walk(w, t, t->root, 0);
    }
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        w->o->torn[i] |= !w->o->found[i];
    tree_walk(w, &(struct page_tree){1, OWNER_OTHER, true}, 1, 0); /* the schema's */
    for (size_t i = 0; i < w->trees.n; i++)
        if (w->trees.v[i].owner >= STORE_TABLE_COUNT)
            tree_walk(w, &w->trees.v[i], w->trees.v[i].root, 0);
}

/* ---- free pages ---- */

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool free_take(struct page_owners_work *w, uint32_t number)
{
    bool good = number && number <= pages_count(w->pages) && w->o->of[number] == OWNER_NONE;
    if (good)
        w->o->of[number] = OWNER_FREE;
    return good;
}

/* A page of the list: the next one, how many it names, their numbers. */
static bool free_walk(struct page_owners_work *w, const uint8_t *head)
{
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    uint32_t at = get32(head + FREE_FIRST), count = 0;
    bool good = true;
    while (good && at) {
        good = free_take(w, at) && page_read(w->pages, at, data);
        uint32_t leaves = good ? get32(data + 4) : 0;
        good = good && 8 + 4 * (uint64_t)leaves <= pages_size(w->pages);
        for (uint32_t k = 0; good && k < leaves; k++)
            good = free_take(w, get32(data + 8 + 4 * (size_t)k));
        count += 1 + leaves;
        at = good ? get32(data) : 0;
    }
    free(data);
    return good && count == get32(head + FREE_COUNT);
}

static void free_find(struct page_owners_work *w)
{
    uint8_t *head = xmalloc(PAGE_SIZE_MAX);
    w->o->free_known = page_read(w->pages, 1, head) && memcmp(head, "SQLite format 3", 16) == 0 &&
                       free_walk(w, head);
    free(head);
}

/* ---- all of it ---- */

void page_owners_find(struct pages *p, struct page_owners *ret)
{
    struct page_owners_work w = {.pages = p, .o = ret, .a = arena_new()};
    *ret = (struct page_owners){.of = xmalloc((size_t)pages_count(p) + 1)};
    memset(ret->of, OWNER_NONE, (size_t)pages_count(p) + 1);
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++)
        shape_init(&ret->shape[t], (enum store_table)t);
    schema_find(&w);
    trees_walk(&w);
    free_find(&w);
    vec_done(&w.trees);
    arena_free(w.a);
}

void page_owners_done(struct page_owners *o)
{
    free(o->of);
}
