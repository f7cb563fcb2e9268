/* A damaged store as `remuda repair` reads it: any bytes are a file or a log. Each page is taken
 * apart, each row that parses is held against each table. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/file/pages.h"
#include "store/file/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 512

const char *const fuzz_words[] = {
    "\x0d",
    "\x0a",
    "\x05",
    "\x02",
    "SQLite format 3",
    "COMPLETED",
    "PENDING",
    "next_job_id",
    "\x81\x23",
    "\x17",
    "\x01\x02\x03",
    "CREATE TABLE \"job\" (\"id\" INTEGER PRIMARY KEY",
    ", \"name\" TEXT",
    ")",
    NULL,
};

static struct shape shapes[STORE_TABLE_COUNT];

static void record_try(const struct shape *s, const struct cell *c, struct arena *a)
{
    struct str text = STR_INIT;
    void *record = arena_alloc(a, store_table_rows[s->table].fields->size);
    if (shape_read(s, c, c->n % 2, a, record) &&
        record_check(store_table_rows[s->table].fields, record, NULL))
        CHECK(record_equal(store_table_rows[s->table].fields, record, record));
    str_done(&text);
}

static void page_try(struct pages *p, uint32_t number, struct arena *a)
{
    static uint8_t data[PAGE_SIZE_MAX];
    static struct cell cell;
    struct tree_page page;
    if (!page_read(p, number, data) || !tree_page_parse(p, number, data, &page))
        return;
    for (unsigned i = 0; i <= page.cells; i++)
        CHECK(tree_page_below(p, &page, i) <= pages_count(p));
    for (unsigned i = 0; page.kind != PAGE_TABLE_INNER && i < page.cells && i < 64; i++) {
        arena_reset(a);
        for (size_t t = 0; cell_parse(p, &page, i, a, &cell) && t < STORE_TABLE_COUNT; t++)
            record_try(&shapes[t], &cell, a);
    }
}

static void file_try(const char *path)
{
    struct arena *a = arena_new();
    struct pages *p = pages_open(path, true, NULL);
    for (uint32_t n = 1; p && n <= pages_count(p); n++)
        page_try(p, n, a);
    if (p)
        pages_close(p);
    arena_free(a);
}

/* A head with small pages, so that an input is several of them; the first page begins behind it. */
static void database_try(const uint8_t *data, size_t size)
{
    uint8_t head[100] = "SQLite format 3";
    head[16] = PAGE >> 8;
    char *path = xasprintf("/tmp/remuda-pages-fuzz-%d", (int)getpid()),
         *log = xasprintf("%s-wal", path);
    FILE *f = fopen(path, "w"), *w = fopen(log, "w");
    CHECK(f && w);
    fwrite(head, 1, sizeof head, f);
    fwrite(data, 1, size, f);
    fwrite(data, 1, size, w);
    for (size_t i = sizeof head + size; i % PAGE; i++)
        fputc(0, f);
    fclose(f);
    fclose(w);
    file_try(path);
    unlink(path);
    unlink(log);
    free(path);
    free(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *sql = xstrndup((const char *)data, size);
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++) {
        shape_init(&shapes[t], (enum store_table)t);
        shape_from_sql(&shapes[t], sql);
        CHECK(shapes[t].n <= VALUES_MAX && shapes[t].keys <= shapes[t].n);
    }
    free(sql);
    database_try(data, size);
    return 0;
}
