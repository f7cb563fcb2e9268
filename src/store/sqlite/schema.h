/* The SQL schema, made from the field tables: names as they are, numbers, booleans and times
 * INTEGER (times in µs since 1970 UTC), texts and names of enums TEXT, blobs BLOB. Zeros are NULL,
 * except in keys and in columns called "state". */
#ifndef REMUDA_STORE_SQLITE_SCHEMA_H
#define REMUDA_STORE_SQLITE_SCHEMA_H

#include "base/err.h"
#include "store/sqlite/trouble.h"
#include "store/store_ops.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_column {
    const struct field *f;
    bool always;  /* written even when zero */
    bool present; /* the file has it; a read-only handle may look at the file of an older release */
    uint64_t own; /* ENUM: bit set for each value that alone has its name */
};

/* How a table is written and read. */
struct sql_table {
    const struct store_table_row *row;
    const struct field *key[KEY_FIELDS_MAX];
    size_t nkey;
    struct db_column *column;       /* as many as row->fields->n; owned */
    sqlite3_stmt *put, *del, *find; /* find: NULL until needed */
};

/* SQL of the states of jobs that are not over, and of those that are. */
void sql_job_live(struct str *out);
/* Appends a condition: the state of the row is one of those in which a job is over. */
void sql_job_over(struct str *out);

/* Statements are made when they are first used, and freed by sql_table_done. */
void sql_table_init(struct sql_table *t, enum store_table table);
void sql_table_done(struct sql_table *t); /* prepared statements, too */
/* Makes tables and indexes, adds missing columns (unless read_only), and notes which columns there
 * are. One transaction. */
bool sql_schema_make(sqlite3 *db, struct sql_table table[STORE_TABLE_COUNT], bool read_only,
                     struct err *ret_err);

/* Is any table of a store there? */
bool sql_tables_any(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT]);
/* Are the tables there that the store had? A file without any is one that is to be made. False with
 * ret_err: one was lost, or it is a database of something else. */
bool sql_tables_check(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                      struct err *ret_err);
/* Writes down which there are. */
bool sql_tables_note(sqlite3 *db, struct err *ret_err);

/* Appends the statement; parameters are numbered as fields are in their table. Of the others as the
 * key is. */
void sql_put_text(const struct sql_table *t, struct str *out);
void sql_delete_text(const struct sql_table *t, struct str *out); /* "DELETE FROM … WHERE key=?" */
void sql_find_text(const struct sql_table *t, struct str *out);   /* the same with SELECT 1 */
/* SELECT of all columns in the order of the fields, without WHERE. */
void sql_select_text(const struct sql_table *t, struct str *out);
void sql_order_text(const struct sql_table *t, struct str *out); /* " ORDER BY" its key */

/* Binds the non-zero fields; others must be NULL (sqlite3_clear_bindings). Texts and blobs must
 * live until the statement is reset. */
int sql_bind_record(const struct sql_table *t, sqlite3_stmt *st, const void *record);
/* From parameter 1 on; SQLite's result code. The record must outlive the step. */
int sql_bind_key(const struct sql_table *t, sqlite3_stmt *st, const void *record);
/* Fills a zeroed record from the row; texts and blobs point into the statement. A name that its
 * enumeration does not have becomes -1. */
void sql_read_record(const struct sql_table *t, sqlite3_stmt *st, void *record);

#endif
