/* A job has some 130 fields, of which a typical one uses 30: binding only those, with all others
 * NULL, halves the time of a put and the size of a row. Readers get zeros for NULLs.
 *
 * Indexes. What ended long ago is found by end time, user, state or name; such indexes cover
 * only jobs that are over (partial indexes), so that a job pays for them once, when it ends. When
 * a job was submitted stands in them, too: what a long past month asks for is decided in the index,
 * without a look at each job that ended since.
 * What lives is found by job_live, which holds nothing else. */
#include "store/sqlite/schema.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/sqlite/packed.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- text of the schema ---- */

static void add_name(struct str *out, const char *name)
{
    str_addc(out, '"');
    str_add(out, name);
    str_addc(out, '"');
}

/* A chain of comparisons: for a list of more than two, IN would build a temporary table for each
 * index at each put. */
static void job_states(struct str *out, const char *compare, const char *join)
{
    const char *before = "(";
    for (int32_t s = 0; s < JOB_STATE_COUNT; s++) {
        if (job_state_over((enum job_state)s))
            continue;
        str_addf(out, "%sstate%s'%s'", before, compare, enum_name(&job_state_names, s));
        before = join;
    }
    str_addc(out, ')');
}

void sql_job_live(struct str *out)
{
    job_states(out, "=", " OR ");
}

void sql_job_over(struct str *out)
{
    job_states(out, "<>", " AND ");
}

static const char *sql_type(enum field_type type)
{
    switch (type) {
    case FIELD_BOOL:
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return "INTEGER";
    case FIELD_TEXT:
    case FIELD_ENUM: return "TEXT";
    case FIELD_BLOB: return "BLOB";
    case FIELD_LIST: break;
    }
    die("a list in a table of the store");
}

static bool key_is_one_number(const struct sql_table *t)
{
    return t->nkey == 1 && t->key[0]->type != FIELD_TEXT;
}

static void add_key_names(struct str *out, const struct sql_table *t)
{
    for (size_t i = 0; i < t->nkey; i++) {
        str_add(out, i ? "," : "");
        add_name(out, t->key[i]->name);
    }
}

/* A single number is SQLite's own row id; any other key orders the table itself (WITHOUT ROWID), so
 * that no table has a second tree for its key. */
static void create_text(const struct sql_table *t, struct str *out)
{
    str_add(out, "CREATE TABLE IF NOT EXISTS ");
    add_name(out, t->row->name);
    for (size_t i = 0; i < t->row->fields->n; i++) {
        const struct field *f = &t->row->fields->field[i];
        str_add(out, i ? ",\n" : " (\n");
        add_name(out, f->name);
        str_addf(out, " %s", sql_type(f->type));
        if (key_is_one_number(t) && f == t->key[0])
            str_add(out, " PRIMARY KEY");
    }
    if (!key_is_one_number(t)) {
        str_add(out, ",\nPRIMARY KEY (");
        add_key_names(out, t);
        str_addc(out, ')');
    }
    str_add(out, key_is_one_number(t) ? ")" : ") WITHOUT ROWID");
}

void sql_put_text(const struct sql_table *t, struct str *out)
{
    ASSERT(t->nkey <= t->row->fields->n);
    str_add(out, "INSERT OR REPLACE INTO ");
    add_name(out, t->row->name);
    for (size_t i = 0; i < t->row->fields->n; i++) {
        str_add(out, i ? "," : " (");
        add_name(out, t->row->fields->field[i].name);
    }
    str_add(out, ") VALUES (?");
    for (size_t i = 1; i < t->row->fields->n; i++)
        str_add(out, ",?");
    str_addc(out, ')');
}

static void add_where_key(const struct sql_table *t, struct str *out)
{
    add_name(out, t->row->name);
    for (size_t i = 0; i < t->nkey; i++) {
        str_add(out, i ? " AND " : " WHERE ");
        add_name(out, t->key[i]->name);
        str_add(out, "=?");
    }
}

void sql_delete_text(const struct sql_table *t, struct str *out)
{
    str_add(out, "DELETE FROM ");
    add_where_key(t, out);
}

void sql_find_text(const struct sql_table *t, struct str *out)
{
    str_add(out, "SELECT 1 FROM ");
    add_where_key(t, out);
}

void sql_select_text(const struct sql_table *t, struct str *out)
{
    ASSERT(t->row);
    str_add(out, "SELECT ");
    for (size_t i = 0; i < t->row->fields->n; i++) {
        str_add(out, i ? "," : "");
        if (t->column[i].present)
            add_name(out, t->column[i].f->name);
        else
            str_add(out, "NULL");
    }
    str_add(out, " FROM ");
    add_name(out, t->row->name);
}

void sql_order_text(const struct sql_table *t, struct str *out)
{
    str_add(out, " ORDER BY ");
    add_key_names(out, t);
}

/* ---- tables ---- */

/* Names that several values share cannot be read back: such values are stored by number. */
static uint64_t own_names(const struct enum_names *names)
{
    uint64_t own = 0;
    for (size_t i = 0; i < names->n && i < 64; i++) {
        bool shared = !names->name[i];
        for (size_t k = 0; k < i && !shared; k++)
            shared = names->name[k] && strcasecmp(names->name[k], names->name[i]) == 0;
        own |= shared ? 0 : UINT64_C(1) << i;
    }
    return own;
}

void sql_table_init(struct sql_table *t, enum store_table table)
{
    ASSERT(table < STORE_TABLE_COUNT);
    const struct fields *fields = store_table_rows[table].fields;
    *t = (struct sql_table){.row = &store_table_rows[table]};
    t->nkey = table_key(table, t->key);
    t->column = xcalloc(fields->n, sizeof t->column[0]);
    for (size_t i = 0; i < fields->n; i++) {
        struct db_column *c = &t->column[i];
        c->f = &fields->field[i];
        c->always = strcmp(c->f->name, "state") == 0;
        for (size_t k = 0; k < t->nkey; k++)
            c->always |= t->key[k] == c->f;
        c->own = c->f->type == FIELD_ENUM ? own_names(c->f->aux) : 0;
    }
}

void sql_table_done(struct sql_table *t)
{
    sqlite3_finalize(t->put);
    sqlite3_finalize(t->del);
    sqlite3_finalize(t->find);
    free(t->column);
}

/* Notes the columns the file has; returns how many of ours are missing, -1 on error. */
static int look_at_columns(sqlite3 *db, struct sql_table *t, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int missing = (int)t->row->fields->n,
        rc = sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, t->row->name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        ptrdiff_t i = fields_find(t->row->fields, (const char *)sqlite3_column_text(st, 0));
        if (i >= 0) {
            t->column[i].present = true;
            missing--;
        }
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        sql_failed(db, rc, "looking at its tables", ret_err);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ? missing : -1;
}

static bool add_columns(sqlite3 *db, struct sql_table *t, struct err *ret_err)
{
    bool good = true;
    for (size_t i = 0; i < t->row->fields->n && good; i++) {
        struct str sql = STR_INIT;
        if (t->column[i].present)
            continue;
        str_add(&sql, "ALTER TABLE ");
        add_name(&sql, t->row->name);
        str_add(&sql, " ADD COLUMN ");
        add_name(&sql, t->column[i].f->name);
        str_addf(&sql, " %s", sql_type(t->column[i].f->type));
        good = t->column[i].present = sql_exec(db, str_text(&sql), ret_err);
        str_done(&sql);
    }
    return good;
}

static bool make_table(sqlite3 *db, struct sql_table *t, struct err *ret_err)
{
    struct str sql = STR_INIT;
    create_text(t, &sql);
    bool good = sql_exec(db, str_text(&sql), ret_err);
    str_done(&sql);
    if (!good)
        return false;
    int missing = look_at_columns(db, t, ret_err);
    return missing >= 0 && (missing == 0 || add_columns(db, t, ret_err));
}

/* SQLite keeps the text an index was made with. */
static bool index_is_made_so(sqlite3 *db, const char *name, const char *sql, bool *ret_same,
                             struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_master WHERE type='index' AND name=?",
                                -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    *ret_same = rc == SQLITE_ROW && text_is((const char *)sqlite3_column_text(st, 0), sql);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        sql_failed(db, rc, "looking at its indexes", ret_err);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

/* An index of another release (the states that count as over may differ) is made anew. */
static bool make_index(sqlite3 *db, const char *name, const char *sql, struct err *ret_err)
{
    bool same = false;
    struct str drop = STR_INIT;
    str_addf(&drop, "DROP INDEX IF EXISTS %s", name);
    bool good = index_is_made_so(db, name, sql, &same, ret_err) &&
                (same || (sql_exec(db, str_text(&drop), ret_err) && sql_exec(db, sql, ret_err)));
    str_done(&drop);
    return good;
}

static bool make_indexes(sqlite3 *db, struct err *ret_err)
{
    static const struct {
        const char *name, *on;
        bool over, live;
    } indexes[] = {
        {"job_live", "job(id)", false, true},
        {"job_by_end", "job(end_us, submit_us)", true, false},
        {"job_by_user", "job(user_id, end_us, submit_us)", true, false},
        {"job_by_state", "job(state, end_us)", true, false},
        {"job_by_name", "job(name)", true, false},
        {"job_by_array", "job(array_job_id) WHERE array_job_id IS NOT NULL", false, false},
        {"job_by_het", "job(het_job_id) WHERE het_job_id IS NOT NULL", false, false},
        {"job_by_cron", "job(id) WHERE cron IS NOT NULL", false, false},
        {"job_run_by_end", "job_run(end_us)", false, false},
        {"job_part_by_end", "job_part(end_us)", false, false},
        {"node_spell_live", "node_spell(name, start_us) WHERE end_us IS NULL", false, false},
    };
    bool good = true;
    for (size_t i = 0; i < ARRAY_LEN(indexes) && good; i++) {
        struct str sql = STR_INIT;
        str_addf(&sql, "CREATE INDEX %s ON %s", indexes[i].name, indexes[i].on);
        if (indexes[i].over || indexes[i].live)
            str_add(&sql, " WHERE ");
        if (indexes[i].live)
            sql_job_live(&sql);
        if (indexes[i].over)
            sql_job_over(&sql);
        good = make_index(db, indexes[i].name, str_text(&sql), ret_err);
        str_done(&sql);
    }
    return good;
}

static bool make_all(sqlite3 *db, struct sql_table table[STORE_TABLE_COUNT], struct err *ret_err)
{
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        if (!make_table(db, &table[i], ret_err))
            return false;
    return make_indexes(db, ret_err) &&
           sql_exec(db,
                    "INSERT OR IGNORE INTO meta (key, value) VALUES ('" META_EPOCH
                    "', '0'), ('" META_SEQ "', '0'), "
                    "('" META_SCHEMA "', '" SCHEMA_VERSION "')",
                    ret_err) &&
           sql_packed_make(db, ret_err) && sql_tables_note(db, ret_err);
}

bool sql_schema_make(sqlite3 *db, struct sql_table table[STORE_TABLE_COUNT], bool read_only,
                     struct err *ret_err)
{
    if (read_only) {
        for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
            if (look_at_columns(db, &table[i], ret_err) < 0)
                return false;
        return true;
    }
    if (!sql_exec(db, "BEGIN IMMEDIATE", ret_err))
        return false;
    if (make_all(db, table, ret_err) && sql_exec(db, "COMMIT", ret_err))
        return true;
    sql_exec(db, "ROLLBACK", NULL);
    return false;
}

/* ---- values ---- */

static int bind_enum(const struct db_column *c, sqlite3_stmt *st, int i, int32_t value)
{
    const struct enum_names *names = c->f->aux;
    if (value >= 0 && value < 64 && c->own >> value & 1)
        return sqlite3_bind_text(st, i, names->name[value], -1, SQLITE_STATIC);
    return sqlite3_bind_int(st, i, value);
}

static int bind_field(const struct db_column *c, sqlite3_stmt *st, int i, const void *record)
{
    const void *p = field_ptr(c->f, record);
    switch (c->f->type) {
    case FIELD_BOOL:
        return *(const bool *)p || c->always ? sqlite3_bind_int(st, i, *(const bool *)p)
                                             : SQLITE_OK;
    case FIELD_I32:
        return *(const int32_t *)p || c->always ? sqlite3_bind_int(st, i, *(const int32_t *)p)
                                                : SQLITE_OK;
    case FIELD_U32:
        return *(const uint32_t *)p || c->always ? sqlite3_bind_int64(st, i, *(const uint32_t *)p)
                                                 : SQLITE_OK;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB:
        return *(const int64_t *)p || c->always ? sqlite3_bind_int64(st, i, *(const int64_t *)p)
                                                : SQLITE_OK;
    case FIELD_TEXT: {
        const char *text = *(const char *const *)p;
        return text ? sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC) : SQLITE_OK;
    }
    case FIELD_ENUM:
        return *(const int32_t *)p || c->always ? bind_enum(c, st, i, *(const int32_t *)p)
                                                : SQLITE_OK;
    case FIELD_BLOB: {
        const struct blob *b = p;
        return b->len ? sqlite3_bind_blob64(st, i, b->data, b->len, SQLITE_STATIC) : SQLITE_OK;
    }
    case FIELD_LIST: break;
    }
    die("a list in a table of the store");
}

int sql_bind_record(const struct sql_table *t, sqlite3_stmt *st, const void *record)
{
    ASSERT(record);
    int rc = SQLITE_OK;
    for (size_t i = 0; i < t->row->fields->n && rc == SQLITE_OK; i++)
        rc = bind_field(&t->column[i], st, (int)i + 1, record);
    return rc;
}

int sql_bind_key(const struct sql_table *t, sqlite3_stmt *st, const void *record)
{
    ASSERT(t->nkey > 0);
    int rc = SQLITE_OK;
    for (size_t i = 0; i < t->nkey && rc == SQLITE_OK; i++)
        rc =
            bind_field(&(struct db_column){.f = t->key[i], .always = true}, st, (int)i + 1, record);
    return rc;
}

/* A name that this release does not know is no value of the enumeration: who takes rows in sees it
 * (model/fields.h: record_check). */
static int32_t read_enum(const struct db_column *c, sqlite3_stmt *st, int i)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    int32_t value;
    int64_t number;
    if (text && enum_value(c->f->aux, text, &value))
        return value;
    return text && text_to_i64(text, INT32_MIN, INT32_MAX, &number) ? (int32_t)number : -1;
}

static void read_field(const struct db_column *c, sqlite3_stmt *st, int i, void *record)
{
    void *p = field_ptr(c->f, record);
    switch (c->f->type) {
    case FIELD_BOOL: *(bool *)p = sqlite3_column_int(st, i) != 0; return;
    case FIELD_I32: *(int32_t *)p = sqlite3_column_int(st, i); return;
    case FIELD_U32: *(uint32_t *)p = (uint32_t)sqlite3_column_int64(st, i); return;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: *(int64_t *)p = sqlite3_column_int64(st, i); return;
    case FIELD_TEXT: *(const char **)p = (const char *)sqlite3_column_text(st, i); return;
    case FIELD_ENUM: *(int32_t *)p = read_enum(c, st, i); return;
    case FIELD_BLOB: {
        const void *data = sqlite3_column_blob(st, i);
        *(struct blob *)p = (struct blob){data, (size_t)sqlite3_column_bytes(st, i)};
        return;
    }
    case FIELD_LIST: break;
    }
    die("a list in a table of the store");
}

void sql_read_record(const struct sql_table *t, sqlite3_stmt *st, void *record)
{
    ASSERT(record);
    for (size_t i = 0; i < t->row->fields->n; i++)
        if (sqlite3_column_type(st, (int)i) != SQLITE_NULL)
            read_field(&t->column[i], st, (int)i, record);
}
