/* SQLite reads a log up to the first frame whose sum is wrong, silently, as what a killed writer
 * left unfinished looks the same; the next commit is written over the rest. Beside a file that is
 * empty, or was made anew, it removes a log. */
#include "store/file/log.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/file/pages.h"
#include "store/sqlite/trouble.h"
#include "store/store.h"

#include <stdlib.h>
#include <sys/stat.h>

#define LOG_LEAST 512 /* no page is smaller */

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

/* The store's last commit, as SQLite reads it; false: it cannot, which has its own sentence. */
static bool last_of(struct store *s, uint64_t *ret_seq)
{
    ASSERT(ret_seq);
    bool known = s && store_last(s, ret_seq, NULL);
    if (s)
        store_close(s);
    return known;
}

static bool has_come(const char *path, uint64_t given_seq)
{
    uint64_t seq;
    return !last_of(store_open_sqlite(path, true, NULL), &seq) || seq >= given_seq;
}

bool store_log_goes_back(const char *path)
{
    uint64_t with, without;
    return size_of(path) > 0 && last_of(store_open_sqlite(path, true, NULL), &with) &&
           last_of(store_open_file(path, NULL), &without) && with < without;
}

static off_t log_size(const char *path)
{
    struct str log = STR_INIT;
    str_addf(&log, "%s-wal", path);
    off_t size = size_of(str_text(&log));
    str_done(&log);
    return size;
}

/* Of a link: SQLite looks for the log where the file is. */
bool store_log_is_astray(const char *path)
{
    struct stat st;
    char *real = realpath(path, NULL);
    bool astray = real && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
                  log_size(path) >= LOG_LEAST && log_size(real) < LOG_LEAST;
    free(real);
    return astray;
}

bool store_file_check(const char *path, uint64_t given_seq, struct err *ret_err)
{
    ASSERT(path);
    if (!sql_is_file(path, NULL))
        return true; /* which has its own sentence */
    if (store_log_is_astray(path))
        return sql_trouble(TROUBLE_LOG_ASTRAY, path, NULL, ret_err);
    if (size_of(path) == 0)
        return log_size(path) < LOG_LEAST || sql_trouble(TROUBLE_LOG_ALONE, path, NULL, ret_err);
    if (store_log_goes_back(path))
        return sql_trouble(TROUBLE_LOG_FOREIGN, path, NULL, ret_err);
    struct pages *p = pages_open(path, true, NULL);
    bool cut = p && pages_log_is_cut(p), is_short = p && pages_are_cut(p);
    if (p)
        pages_close(p);
    if (is_short)
        return sql_trouble(TROUBLE_DAMAGED, path, "its end is missing", ret_err);
    return !cut || has_come(path, given_seq) || sql_trouble(TROUBLE_LOG_CUT, path, NULL, ret_err);
}
