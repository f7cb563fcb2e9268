/* Of a process that the kernel killed nothing is left but two lines in the kernel's log:
 *   oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=GROUP,task_memcg=GROUP,task=NAME,pid=PID,
 *     uid=UID
 *   Memory cgroup out of memory: Killed process PID (NAME) total-vm:…kB, anon-rss:…kB,
 *     file-rss:…kB, shmem-rss:…kB, …
 * The first says in which group, the second how large it was. Ordinary users may not read that log
 * on most systems; then the largest process of the last samples is named. */
#include "node/shepherd/watch/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB          INT64_C(1048576)
#define RECORD_BYTES 8192
#define LOG_MAX      (8u << 20)

static bool value_after(struct span line, const char *key, struct span *ret)
{
    const char *at = memmem(line.data, line.len, key, strlen(key));
    if (!at)
        return false;
    at += strlen(key);
    ret->data = at;
    ret->len = (size_t)(line.data + line.len - at);
    const char *comma = memchr(at, ',', ret->len);
    ret->len = comma ? (size_t)(comma - at) : ret->len;
    return true;
}

static int64_t number_after(struct span line, const char *key)
{
    struct span value;
    return value_after(line, key, &value) ? strtoll(value.data, NULL, 10) : 0;
}

static bool ends_with(struct span text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* The group, or one of its tasks'. */
static bool is_in(struct span path, const char *group)
{
    const char *task = memmem(path.data, path.len, "/task_", 6);
    if (task)
        path.len = (size_t)(task - path.data);
    return ends_with(path, group);
}

/* OOM_OF_STEP, or one further up: "/remuda.n1.1/7.1/7.1.0" is in "/remuda.n1.1/7.1". */
static enum oom_limit limit_of(struct span line, const char *group)
{
    struct span limited;
    char job[512];
    const char *slash = strrchr(group, '/');
    snprintf(job, sizeof job, "%.*s", slash ? (int)(slash - group) : 0, group);
    if (!value_after(line, "oom_memcg=", &limited))
        return OOM_OF_MACHINE;
    if (is_in(limited, group))
        return OOM_OF_STEP;
    return *job && is_in(limited, job) ? OOM_OF_JOB : OOM_OF_MACHINE;
}

static void victim_read(struct span line, struct oom_victim *ret)
{
    struct span pid, name;
    if (!value_after(line, "Killed process ", &pid) || strtoll(pid.data, NULL, 10) != ret->pid)
        return;
    name = (struct span){memchr(line.data, '(', line.len), 0};
    const char *end =
        name.data ? memmem(name.data, (size_t)(line.data + line.len - name.data), ") total-vm:", 11)
                  : NULL;
    if (end)
        snprintf(ret->name, sizeof ret->name, "%.*s", (int)(end - name.data - 1), name.data + 1);
    ret->rss_bytes = 1024 * (number_after(line, "anon-rss:") + number_after(line, "file-rss:") +
                             number_after(line, "shmem-rss:"));
}

bool oom_log_find(const char *log, const char *group, struct oom_victim *ret,
                  enum oom_limit *ret_limit)
{
    struct span rest = span_of(log), line, path;
    memset(ret, 0, sizeof *ret);
    while (span_next(&rest, '\n', &line)) {
        if (value_after(line, "task_memcg=", &path) && is_in(path, group)) {
            struct span task;
            memset(ret, 0, sizeof *ret);
            ret->pid = number_after(line, ",pid=");
            if (value_after(line, ",task=", &task))
                snprintf(ret->name, sizeof ret->name, "%.*s", (int)task.len, task.data);
            *ret_limit = limit_of(line, group);
        } else if (ret->pid) {
            victim_read(line, ret);
        }
    }
    return ret->pid != 0;
}

/* One read gives one record, "PRIORITY,NUMBER,TIME,-;TEXT\n"; older ones may be overwritten while
 * we read. */
bool oom_log_look(const char *group, struct oom_victim *ret, enum oom_limit *ret_limit)
{
    struct str text = STR_INIT;
    char record[RECORD_BYTES];
    ssize_t n;
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && text.len < LOG_MAX &&
           ((n = read(fd, record, sizeof record)) > 0 || (n < 0 && errno == EPIPE)))
        if (n > 0 && (memmem(record, (size_t)n, "oom", 3) ||
                      memmem(record, (size_t)n, "Killed process", 14)))
            str_addn(&text, record, (size_t)n);
    if (fd >= 0)
        close(fd);
    bool found = oom_log_find(str_text(&text), group, ret, ret_limit);
    str_done(&text);
    return found;
}

/* ---- words ---- */

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

int64_t oom_suggest_mib(int64_t needed_bytes, int64_t limit_bytes, bool was_held)
{
    int64_t most = needed_bytes > limit_bytes ? needed_bytes : limit_bytes;
    int64_t wanted = was_held ? most + most / 2 : most + most / 5;
    int64_t mib = round_up(wanted, MIB) / MIB;
    int64_t step = mib <= 1024 ? 100 : mib <= 16384 ? 1024 : 4096;
    return round_up(mib, step);
}

static void size_add(int64_t bytes, struct str *out)
{
    if (bytes < 10240 * MIB)
        str_addf(out, "%lld MiB", (long long)((bytes + MIB / 2) / MIB));
    else
        str_addf(out, "%lld GiB", (long long)((bytes + 512 * MIB) / (1024 * MIB)));
}

static void use_add(int64_t used_bytes, int64_t limit_bytes, const struct oom_victim *victim,
                    struct str *out)
{
    size_add(used_bytes, out);
    str_add(out, " in use");
    if (limit_bytes > 0) {
        str_add(out, " of ");
        size_add(limit_bytes, out);
    }
    if (victim->pid) {
        str_addf(out, "; process %lld (%s, ", (long long)victim->pid, victim->name);
        size_add(victim->rss_bytes, out);
        str_add(out, ") was ended");
    }
}

void oom_sentence(int64_t used_bytes, int64_t limit_bytes, bool of_job, bool was_held,
                  const struct oom_victim *victim, struct str *out)
{
    int64_t mib = oom_suggest_mib(used_bytes, limit_bytes, was_held);
    str_addf(out, "exceeded its %smemory limit: ", of_job ? "job's " : "");
    use_add(used_bytes, limit_bytes, victim, out);
    str_addf(out, "; ask for more, for example --mem=%lld%s",
             (long long)(mib % 1024 ? mib : mib / 1024), mib % 1024 ? "M" : "G");
}

void oom_machine_sentence(int64_t used_bytes, int64_t limit_bytes, const struct oom_victim *victim,
                          struct str *out)
{
    str_add(out, "was within its memory limit, but the machine ran out of memory: ");
    use_add(used_bytes, limit_bytes, victim, out);
}
