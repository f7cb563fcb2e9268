/* What cannot be opened is no error: the file may be another node's. Nothing waits: a FIFO is
 * opened without its writer, and what hangs with its file system is given up by the daemon; few
 * of a user do. */
#include "node/shepherd/output_end.h"

#include "base/str.h"
#include "io/process/become.h"
#include "io/process/readers.h"
#include "model/message.h"
#include "node/step/output_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOCK_SLACK_S 60 /* of a file server */

static size_t end_read(const char *path, uint64_t since_s, char bytes[OUTPUT_END_BYTES])
{
    struct stat st;
    ssize_t n = 0;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_mtime + CLOCK_SLACK_S >= (time_t)since_s)
        n = pread(fd, bytes, OUTPUT_END_BYTES,
                  st.st_size > (off_t)OUTPUT_END_BYTES ? st.st_size - (off_t)OUTPUT_END_BYTES : 0);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

int output_end_print(int argc, char **argv)
{
    static char out[OUTPUT_END_BYTES], err[OUTPUT_END_BYTES];
    struct output_end_head head = {0};
    uint64_t since_s, uid, gid;
    if (argc < 6 || argc > 7 || !text_to_u64(argv[2], UINT32_MAX, &uid) ||
        !text_to_u64(argv[3], UINT32_MAX, &gid) || !text_to_u64(argv[4], INT64_MAX, &since_s))
        return 2;
    if (!process_become((uid_t)uid, (gid_t)gid) || !reader_place_take())
        return 1;
    head.out = (uint32_t)end_read(argv[5], since_s, out);
    if (argc > 6)
        head.err = (uint32_t)end_read(argv[6], since_s, err);
    fwrite(&head, sizeof head, 1, stdout);
    fwrite(out, 1, head.out, stdout);
    fwrite(err, 1, head.err, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
