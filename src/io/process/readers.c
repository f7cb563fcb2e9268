/* Nothing that other users can take from him says how many there are: a reader gives itself a name,
 * which the kernel shows beside its user, and then counts who is called so. The last of any five to
 * have that name sees all five, so no five go on. Of those that come at once the latest give up,
 * and the others wait until they have. */
#include "io/process/readers.h"

#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define READER_NAME "remuda-reader"
#define PLACE_MS    1000
#define LOOK_MS     5

/* Is that process a reader of the user's that has not ended? Whose the file in /proc is does not
 * say it: one that nobody may look into is root's there. */
static bool is_reader(const char *pid, uid_t uid)
{
    static const char name[] = "Name:\t" READER_NAME "\n";
    char path[64], whose[32], text[2048];
    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    snprintf(whose, sizeof whose, "\nUid:\t%u\t", (unsigned)uid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strncmp(text, name, sizeof name - 1) == 0 && strstr(text, whose) &&
           !strstr(text, "\nState:\tZ") && !strstr(text, "\nState:\tX");
}

/* How many there are, of which *ret_before began before this process (numbers of processes go
 * round: then it gives up where it need not). */
static unsigned readers_count(unsigned *ret_before)
{
    DIR *all = opendir("/proc");
    const struct dirent *e;
    unsigned n = 0;
    uint64_t pid;
    *ret_before = 0;
    while (all && (e = readdir(all)))
        if (text_to_u64(e->d_name, INT32_MAX, &pid) && is_reader(e->d_name, geteuid())) {
            n++;
            *ret_before += pid < (uint64_t)getpid();
        }
    if (all)
        closedir(all);
    return n;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool reader_place_take(void)
{
    int64_t until_ms = now_ms() + PLACE_MS;
    unsigned n, before;
    if (prctl(PR_SET_NAME, READER_NAME) != 0)
        return false;
    while ((n = readers_count(&before)) > READERS_MAX) {
        if (before >= READERS_MAX || now_ms() > until_ms)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    return n > 0; /* it sees itself, or nothing is to be seen */
}
