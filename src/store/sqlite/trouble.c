/* SQLite's codes are few, and one of them (an error of the disk) stands for many things: what the
 * system said with it, and how the file system is, tell them apart. */
#include "store/sqlite/trouble.h"

#include "base/alloc.h"
#include "base/room.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- which trouble ---- */

#define NEAR_LIMIT 8192 /* more than SQLite writes at once */

static uint64_t size_of(const char *path, const char *suffix)
{
    struct stat st;
    struct str name = STR_INIT;
    str_addf(&name, "%s%s", path, suffix);
    bool there = stat(str_text(&name), &st) == 0;
    str_done(&name);
    return there ? (uint64_t)st.st_size : 0;
}

/* The size that no file of this process may pass, if the store or its log is at it; else 0. What
 * the system said then (EFBIG) is often gone when SQLite is asked for it. */
static uint64_t size_limit_reached(const char *path)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
        return 0;
    bool at_it = size_of(path, "") + NEAR_LIMIT > r.rlim_cur ||
                 size_of(path, "-wal") + NEAR_LIMIT > r.rlim_cur;
    return at_it ? r.rlim_cur : 0;
}

static bool room_is_missing(const char *path, int error)
{
    struct statvfs fs;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG || size_limit_reached(path) > 0)
        return true;
    return statvfs(path, &fs) == 0 && fs.f_bavail == 0;
}

static bool is_read_only(const char *path, int error)
{
    struct statvfs fs;
    return error == EROFS || (statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY));
}

/* For codes that stand for many: of opening, of reading and writing. */
static enum store_trouble trouble_of_disk(const char *path, int error)
{
    if (is_read_only(path, error))
        return TROUBLE_READ_ONLY;
    if (error == EACCES || error == EPERM ||
        (error == 0 && access(path, W_OK) != 0 && errno == EACCES))
        return TROUBLE_DENIED;
    return room_is_missing(path, error) ? TROUBLE_FULL : TROUBLE_DISK;
}

/* False: none that is known. */
static bool trouble_of(int rc, const char *path, int error, enum store_trouble *ret)
{
    switch (rc & 0xff) {
    case SQLITE_FULL: *ret = TROUBLE_FULL; return true;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: *ret = TROUBLE_LOCKED; return true;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        *ret = is_read_only(path, error) ? TROUBLE_READ_ONLY : TROUBLE_DENIED;
        return true;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: *ret = trouble_of_disk(path, error); return true;
    case SQLITE_CORRUPT: *ret = TROUBLE_DAMAGED; return true;
    case SQLITE_NOTADB: *ret = TROUBLE_NO_DATABASE; return true;
    default: return false;
    }
}

/* ---- in words ---- */

/* One line of /proc/locks: "1: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF". Opening the file
 * itself to ask would cost this process its own locks on it. */
static long holder_in(const char *line, const struct stat *file)
{
    char kind[16];
    long pid;
    unsigned major_of, minor_of;
    unsigned long inode;
    if (sscanf(line, "%*s %*s %*s %15s %ld %x:%x:%lu", kind, &pid, &major_of, &minor_of, &inode) !=
        5)
        return 0;
    bool same =
        major_of == major(file->st_dev) && minor_of == minor(file->st_dev) && inode == file->st_ino;
    return same && strcmp(kind, "WRITE") == 0 && pid != getpid() ? pid : 0;
}

static long holder_of(const char *path)
{
    char line[256];
    long pid = 0;
    struct stat st;
    FILE *locks = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && pid == 0 && fgets(line, sizeof line, locks))
        pid = holder_in(line, &st);
    if (locks)
        fclose(locks);
    return pid;
}

static void process_say(long pid, struct str *out)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *from = fopen(path, "re");
    if (from && !fgets(name, sizeof name, from))
        name[0] = '\0';
    if (from)
        fclose(from);
    name[strcspn(name, "\n")] = '\0';
    str_addf(out, "process %ld%s%s%s", pid, *name ? " (" : "", name, *name ? ")" : "");
}

/* In write-ahead mode the lock of who writes is on the file of the shared memory. */
static void locked_say(const char *path, struct str *out)
{
    struct str shm = STR_INIT;
    str_addf(&shm, "%s-shm", path);
    long pid = holder_of(path);
    pid = pid ? pid : holder_of(str_text(&shm));
    if (pid)
        process_say(pid, out);
    str_done(&shm);
}

static void detail_say(enum store_trouble t, const char *path, struct str *out)
{
    struct statvfs fs;
    uint64_t most = size_limit_reached(path);
    switch (t) {
    case TROUBLE_FULL:
        if (most > 0)
            str_addf(out, "no file of the controller's may be larger than %llu KiB: ulimit -f",
                     (unsigned long long)most / 1024);
        else if (statvfs(path, &fs) == 0)
            room_add(out, (uint64_t)fs.f_bavail * fs.f_frsize, (uint64_t)fs.f_blocks * fs.f_frsize,
                     fs.f_favail, fs.f_files);
        break;
    case TROUBLE_DENIED: str_addf(out, "uid %u", (unsigned)geteuid()); break;
    case TROUBLE_LOCKED: locked_say(path, out); break;
    case TROUBLE_READ_ONLY:
    case TROUBLE_DISK:
    case TROUBLE_DAMAGED:
    case TROUBLE_TABLE_GONE:
    case TROUBLE_NO_DATABASE:
    case TROUBLE_FOREIGN:
    case TROUBLE_NO_FILE:
    case TROUBLE_LOG_CUT:
    case TROUBLE_LOG_ALONE:
    case TROUBLE_LOG_FOREIGN:
    case TROUBLE_LOG_ASTRAY:
    case TROUBLE_COUNT: break;
    }
}

bool sql_trouble(enum store_trouble t, const char *path, const char *detail, struct err *ret_err)
{
    struct str text = STR_INIT;
    trouble_say(t, path, detail, &text);
    err_set(ret_err, store_trouble_rows[t].passes ? ERR_UNAVAILABLE : ERR_INTERNAL, "%s",
            str_text(&text));
    str_done(&text);
    return false;
}

/* SQLite would wait for the other end of a pipe, and calls a directory an error of the disk. */
bool sql_is_file(const char *path, struct err *ret_err)
{
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode) ||
           sql_trouble(TROUBLE_NO_FILE, path, S_ISDIR(st.st_mode) ? "a directory" : NULL, ret_err);
}

/* ---- errors ---- */

bool sql_failed(sqlite3 *db, int rc, const char *doing, struct err *ret_err)
{
    ASSERT(rc != SQLITE_OK);
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    const char *path = db ? sqlite3_db_filename(db, "main") : NULL;
    int error = db ? sqlite3_system_errno(db) : errno;
    enum store_trouble t;
    struct str detail = STR_INIT;
    if (text_empty(path))
        path = "the store";
    if (!trouble_of(rc, path, error, &t))
        return err_set(ret_err, ERR_INTERNAL, "%s failed %s: %s (SQLite %d)", path, doing, why, rc);
    detail_say(t, path, &detail);
    str_addf(&detail, "%s%s while %s", detail.len ? "; " : "", why, doing);
    sql_trouble(t, path, str_text(&detail), ret_err);
    str_done(&detail);
    return false;
}

bool sql_exec(sqlite3 *db, const char *sql, struct err *ret_err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return true;
    char doing[48] = "asking it \"";
    strncat(doing, sql, 24);
    strcat(doing, "…\"");
    return sql_failed(db, rc, doing, ret_err);
}
