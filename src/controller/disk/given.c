#include "controller/disk/given.h"

#include "base/alloc.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDS_SKIPPED 10000                       /* where nobody knows what was given out since */
#define RECORD      "%020llu %020llu %020llu\n" /* of one length, so that it is written over */
#define RECORD_MAX  96

bool given_read(const char *path, struct given *ret, struct err *ret_err)
{
    char text[RECORD_MAX] = {0};
    unsigned long long seq, next, inode = 0;
    *ret = (struct given){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return true;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0 && n < 0 && errno == EISDIR) /* not what was written */
        n = 0;
    if (n < 0)
        err_set(ret_err, ERR_UNAVAILABLE,
                "cannot read %s, which tells the store from an older one: %s", path,
                strerror(errno));
    if (fd >= 0)
        close(fd);
    if (n > 0 && sscanf(text, "%20llu %20llu %20llu", &seq, &next, &inode) >= 2 &&
        seq <= LIMIT_COUNTED && next <= LIMIT_COUNTED) /* else not what was written */
        *ret = (struct given){seq, next, inode};
    return n >= 0;
}

bool given_is_known(const struct given *g)
{
    return g->seq || g->next_job_id;
}

uint64_t given_inode(const char *db)
{
    struct stat st;
    return stat(db, &st) == 0 ? st.st_ino : 0;
}

bool given_is_of(const struct given *g, const char *db, uint64_t seq)
{
    ASSERT(db[0]);
    if (g->seq == seq || g->seq + 1 == seq)
        return true;
    return g->seq < seq && g->inode && g->inode == given_inode(db);
}

int given_open(const char *path, struct err *ret_err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
    return fd;
}

bool given_write(int fd, const struct given *g)
{
    ASSERT(fd >= 0);
    char text[RECORD_MAX];
    int n = snprintf(text, sizeof text, RECORD, (unsigned long long)g->seq,
                     (unsigned long long)g->next_job_id, (unsigned long long)g->inode);
    return pwrite(fd, text, (size_t)n, 0) == n;
}

bool given_raise(const char *path, const char *to, uint64_t seq, uint64_t next, struct err *ret_err)
{
    ASSERT(path[0] && to[0]);
    struct given g = {0};
    if (!given_read(path, &g, ret_err))
        return false;
    bool known = given_is_known(&g);
    g.seq = g.seq > seq ? g.seq : seq + 1;
    next = known ? next : next + IDS_SKIPPED;
    g.next_job_id = g.next_job_id > next ? g.next_job_id : next;
    int fd = given_open(to, ret_err);
    if (fd < 0)
        return false;
    bool ok = (given_write(fd, &g) && fsync(fd) == 0) ||
              err_set(ret_err, ERR_UNAVAILABLE, "cannot write %s: %s", to, strerror(errno));
    close(fd);
    return ok;
}
