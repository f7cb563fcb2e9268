/* A library to be loaded before libc: a daemon that asks the system for room (memory, a descriptor, a process or thread) is refused. tests/heavy/rooms.py says
 * how:
 *
 *   ROOM_ROLE   word of the daemon's command line ("controller", "node"), or its program's name; other processes are left alone
 *   ROOM_LOG    each place that asks leaves lines there, as it asks for the 1st, 2nd, 4th, 8th … time: class, call, place, how often, the frames
 *   ROOM_AT     "CALL PLACE TIMES": that call, there, as it asks for that time, is refused; absent = none is
 *   ROOM_MS     and for so long after it whatever is of its class (0)
 *   ROOM_EACH   of each process of the role, copies among them; else of the first leader of a session alone
 *
 * A place is a hash of how the call was come to: of the last digits of the return addresses, which are the same wherever a library was put. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PLACES_MAX 65536 /* a power of two */
#define DEPTH      10    /* frames that make a place */
#define FRAMES_MAX 24

enum class { MEMORY, DESCRIPTORS, PROCESSES };

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static const char *const class_names[] = {"memory", "descriptors", "processes"};
static atomic_flag lock = ATOMIC_FLAG_INIT;
static bool ready, ours, each;
static pid_t counts;
static const char *log_path;
static char at_call[32];
static uint32_t at_place;
static unsigned long at_times;
static int64_t for_us, until_us;
static enum class short_of;
static struct {
    uint32_t place;
    unsigned long n;
} places[PLACES_MAX];
static __thread bool inside;

/* ---- whose calls ---- */

static bool is_role(const char *word, const char *role)
{
    const char *slash = strrchr(word, '/');
    return !strcmp(word, role) || (slash && !strcmp(slash + 1, role));
}

__attribute__((constructor)) static void begin(void)
{
    const char *role = getenv("ROOM_ROLE"), *where = getenv("ROOM_AT"), *ms = getenv("ROOM_MS");
    static char line[4096];
    void *frames[2];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    backtrace(frames, 2); /* what it needs is there from now on */
    each = getenv("ROOM_EACH") != NULL;
    log_path = getenv("ROOM_LOG") ? strdup(getenv("ROOM_LOG"))
                                  : NULL; /* a shepherd wipes its environment */
    for_us = ms ? strtol(ms, NULL, 10) * 1000 : 0;
    if (where && sscanf(where, "%31s %x %lu", at_call, &at_place, &at_times) != 3)
        at_call[0] = '\0';
    for (ssize_t i = 0; role && i < n; i += (ssize_t)strlen(line + i) + 1)
        if (is_role(line + i, role))
            ours = true;
    ready = true;
}

static bool watched(void)
{
    pid_t me;
    if (!ready || !ours || inside)
        return false;
    me = getpid();
    if (counts == me)
        return true;
    if (counts && !each)
        return false;
    if (!each && getsid(0) != me)
        return false;
    counts = me; /* of a copy nothing was counted, and a thread that it has not may hold the lock */
    atomic_flag_clear(&lock);
    memset(places, 0, sizeof places);
    until_us = 0;
    return true;
}

/* ---- what is refused ---- */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void note(enum class class, const char *call, uint32_t place, unsigned long times,
                 void *const *frames, int n)
{
    char text[2048];
    Dl_info in;
    int fd = log_path ? (int)syscall(SYS_openat, AT_FDCWD, log_path,
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                      : -1;
    if (fd < 0)
        return;
    int len = snprintf(text, sizeof text, "%s %s %x %lu", class_names[class], call, place, times);
    for (int i = 0; i < n && len < (int)sizeof text - 200; i++) {
        const char *name = dladdr(frames[i], &in) && in.dli_fname ? in.dli_fname : "?";
        const char *slash = strrchr(name, '/');
        len +=
            snprintf(text + len, sizeof text - (size_t)len, " %.60s+%lx", slash ? slash + 1 : name,
                     (unsigned long)((char *)frames[i] - (char *)in.dli_fbase));
    }
    text[len++] = '\n';
    syscall(SYS_write, fd, text, (size_t)len);
    syscall(SYS_close, fd);
}

static unsigned long counted(uint32_t place)
{
    uint32_t i = place & (PLACES_MAX - 1);
    for (int tries = 0; tries < PLACES_MAX; tries++, i = (i + 1) & (PLACES_MAX - 1))
        if (!places[i].n || places[i].place == place) {
            places[i].place = place;
            return ++places[i].n;
        }
    return 0;
}

/* `from` is where the call goes back to. */
static bool refused(enum class class, const char *call, const void *from)
{
    void *frames[FRAMES_MAX];
    uint32_t place = 2166136261u;
    bool no;
    int before = errno, first = 0;
    if (!watched())
        return false;
    inside = true;
    int n = backtrace(frames, FRAMES_MAX);
    while (first < n && frames[first] != from)
        first++;
    if (first == n)
        first = 0, n = 1, frames[0] = (void *)from;
    for (int i = first; i < n && i < first + DEPTH; i++)
        place = (place ^ ((uint32_t)(uintptr_t)frames[i] & 0xfff)) * 16777619u;
    while (atomic_flag_test_and_set(&lock))
        ;
    unsigned long times = counted(place);
    no = until_us && class == short_of && now_us() < until_us;
    if (times == at_times && place == at_place && !strcmp(call, at_call)) {
        no = true;
        short_of = class;
        until_us = now_us() + for_us;
    }
    atomic_flag_clear(&lock);
    if ((times & (times - 1)) == 0)
        note(class, call, place, times, frames + first, n - first);
    inside = false;
    errno = before;
    return no;
}

#define ASK(class, call, no, error)                                                                \
    do {                                                                                           \
        if (refused(class, call, __builtin_return_address(0))) {                                   \
            errno = error;                                                                         \
            return no;                                                                             \
        }                                                                                          \
    } while (0)

/* ---- memory ---- */

void *malloc(size_t size)
{
    ASK(MEMORY, "malloc", NULL, ENOMEM);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    ASK(MEMORY, "calloc", NULL, ENOMEM);
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
    ASK(MEMORY, "realloc", NULL, ENOMEM);
    return __libc_realloc(ptr, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    ASK(MEMORY, "aligned_alloc", NULL, ENOMEM);
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    ASK(MEMORY, "posix_memalign", ENOMEM, errno);
    *out = __libc_memalign(align, size);
    return *out ? 0 : ENOMEM;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    ASK(MEMORY, "mmap", MAP_FAILED, ENOMEM);
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
    ASK(MEMORY, "mmap", MAP_FAILED, ENOMEM);
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

/* ---- descriptors ---- */

#define MODE_OF(how)                                                                               \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t how = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                         \
    va_end(args)

int open(const char *path, int flags, ...)
{
    MODE_OF(how);
    ASK(DESCRIPTORS, "open", -1, EMFILE);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, how);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(how);
    ASK(DESCRIPTORS, "open", -1, EMFILE);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, how);
}

int openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(how);
    ASK(DESCRIPTORS, "openat", -1, EMFILE);
    return (int)syscall(SYS_openat, dir, path, flags, how);
}

int openat64(int dir, const char *path, int flags, ...)
{
    MODE_OF(how);
    ASK(DESCRIPTORS, "openat", -1, EMFILE);
    return (int)syscall(SYS_openat, dir, path, flags, how);
}

/* The next one's of that name; of the type of ours. */
#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
    bool was = inside;
    inside = true; /* what it needs to find it */
    void *it = dlsym(RTLD_NEXT, name);
    inside = was;
    return it;
}

FILE *fopen(const char *path, const char *how)
{
    ASK(DESCRIPTORS, "fopen", NULL, EMFILE);
    return REAL(fopen)(path, how);
}

FILE *fopen64(const char *path, const char *how)
{
    ASK(DESCRIPTORS, "fopen", NULL, EMFILE);
    return REAL(fopen64)(path, how);
}

DIR *opendir(const char *path)
{
    ASK(DESCRIPTORS, "opendir", NULL, EMFILE);
    return REAL(opendir)(path);
}

int pipe(int ends[2])
{
    ASK(DESCRIPTORS, "pipe", -1, EMFILE);
    return (int)syscall(SYS_pipe2, ends, 0);
}

int pipe2(int ends[2], int flags)
{
    ASK(DESCRIPTORS, "pipe", -1, EMFILE);
    return (int)syscall(SYS_pipe2, ends, flags);
}

int socket(int domain, int type, int protocol)
{
    ASK(DESCRIPTORS, "socket", -1, EMFILE);
    return (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    ASK(DESCRIPTORS, "socketpair", -1, EMFILE);
    return (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

int accept(int fd, struct sockaddr *from, socklen_t *len)
{
    ASK(DESCRIPTORS, "accept", -1, EMFILE);
    return (int)syscall(SYS_accept4, fd, from, len, 0);
}

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
    ASK(DESCRIPTORS, "accept", -1, EMFILE);
    return (int)syscall(SYS_accept4, fd, from, len, flags);
}

int epoll_create1(int flags)
{
    ASK(DESCRIPTORS, "epoll_create", -1, EMFILE);
    return (int)syscall(SYS_epoll_create1, flags);
}

int eventfd(unsigned count, int flags)
{
    ASK(DESCRIPTORS, "eventfd", -1, EMFILE);
    return (int)syscall(SYS_eventfd2, count, flags);
}

int timerfd_create(int clock, int flags)
{
    ASK(DESCRIPTORS, "timerfd", -1, EMFILE);
    return (int)syscall(SYS_timerfd_create, clock, flags);
}

int signalfd(int fd, const sigset_t *set, int flags)
{
    ASK(DESCRIPTORS, "signalfd", -1, EMFILE);
    return (int)syscall(SYS_signalfd4, fd, set, 8, flags);
}

int inotify_init1(int flags)
{
    ASK(DESCRIPTORS, "inotify", -1, EMFILE);
    return (int)syscall(SYS_inotify_init1, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    ASK(DESCRIPTORS, "memfd", -1, EMFILE);
    return (int)syscall(SYS_memfd_create, name, flags);
}

int dup(int fd)
{
    ASK(DESCRIPTORS, "dup", -1, EMFILE);
    return (int)syscall(SYS_dup, fd);
}

/* ---- processes ---- */

pid_t fork(void)
{
    ASK(PROCESSES, "fork", -1, EAGAIN);
    return REAL(fork)();
}

int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *), void *ctx)
{
    ASK(PROCESSES, "thread", EAGAIN, errno);
    return REAL(pthread_create)(out, attr, run, ctx);
}

int posix_spawn(pid_t *out, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    ASK(PROCESSES, "spawn", EAGAIN, errno);
    return REAL(posix_spawn)(out, path, actions, attr, argv, envp);
}

/* What has no function of its own in libc. */
long syscall(long number, ...)
{
    va_list args;
    long a[6], rc;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_pidfd_open)
        ASK(DESCRIPTORS, "pidfd", -1, EMFILE);
    if (number == SYS_clone3)
        ASK(PROCESSES, "clone3", -1, EAGAIN);
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (rc < 0 && rc > -4096) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
}
