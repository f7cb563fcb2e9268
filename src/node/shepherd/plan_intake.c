#include "node/shepherd/plan_intake.h"

#include "base/alloc.h"
#include "node/shepherd/shepherd.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEEP_BYTES     (256u << 10) /* a larger mapping, after a large plan, is given back */
#define NO_ROOM_NAP_NS 20000000

static void unmap(struct plan_intake *in)
{
    if (in->data)
        munmap(in->data, in->mapped);
    in->data = NULL;
    in->mapped = 0;
}

/* False: there is no memory for it at the moment. */
static bool map(struct plan_intake *in)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           wanted = in->len > KEEP_BYTES ? in->len : KEEP_BYTES;
    if (in->len <= in->mapped)
        return true;
    unmap(in);
    wanted = (wanted + page - 1) / page * page;
    void *at = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    in->data = at;
    in->mapped = wanted;
    return true;
}

/* Up to `wanted` bytes in all. */
static enum plan_intake_result bytes_read(int fd, char *into, size_t wanted, size_t *have)
{
    while (*have < wanted) {
        ssize_t n = recv(fd, into + *have, wanted - *have, MSG_DONTWAIT);
        if (n > 0)
            *have += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return PLAN_NO_MORE;
        else if (errno == EAGAIN)
            return PLAN_NOT_YET;
    }
    return PLAN_WHOLE;
}

static enum plan_intake_result rest_skip(struct plan_intake *in, int fd)
{
    char piece[4096];
    enum plan_intake_result r = PLAN_WHOLE;
    while (in->skip > 0 && r == PLAN_WHOLE) {
        size_t wanted = in->skip < sizeof piece ? in->skip : sizeof piece, have = 0;
        r = bytes_read(fd, piece, wanted, &have);
        in->skip -= have;
    }
    return r;
}

static enum plan_intake_result head_read(struct plan_intake *in, int fd)
{
    while (in->have_head < sizeof in->head) {
        enum plan_intake_result r = rest_skip(in, fd);
        if (r == PLAN_WHOLE)
            r = bytes_read(fd, in->head, sizeof in->head, &in->have_head);
        if (r != PLAN_WHOLE)
            return r;
        in->len = step_plan_length(in->head);
        if (in->len > STEP_PLAN_MAX) {
            in->skip = in->len;
            in->len = in->have_head = 0;
        }
    }
    return PLAN_WHOLE;
}

enum plan_intake_result plan_intake_read(struct plan_intake *in, int fd)
{
    ASSERT(in->have_head <= sizeof in->head && in->have <= in->len);
    enum plan_intake_result r = head_read(in, fd);
    if (r != PLAN_WHOLE)
        return r;
    if (!map(in)) { /* one user's plan waits; the parent of everybody's shepherds stays */
        nanosleep(&(struct timespec){.tv_nsec = NO_ROOM_NAP_NS}, NULL);
        return PLAN_NOT_YET;
    }
    return bytes_read(fd, in->data, in->len, &in->have);
}

/* Dropping the pages is cheaper than wiping them: those that the child shares would be copied
 * first. */
void plan_intake_forget(struct plan_intake *in)
{
    if (in->mapped > KEEP_BYTES)
        unmap(in);
    else
        madvise(in->data, in->mapped, MADV_DONTNEED);
    in->len = in->have = in->have_head = 0;
}
