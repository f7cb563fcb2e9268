#include "node/hardware/machine.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/grammar/gres.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/gpu_sentences.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS   120000 /* so long the makers' libraries may take */
#define REAP_MS   1000   /* and a child that was killed to end */
#define END_MS    10000  /* and one that has said all */
#define REAP_STEP 10

/* ---- simple facts ---- */

static int64_t file_number(const char *path, const char *key)
{
    char line[256];
    int64_t value = 0;
    size_t len = strlen(key);
    FILE *f = shortage_fopen(path);
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, len) == 0) {
            value = strtoll(line + len, NULL, 10);
            break;
        }
    }
    if (f)
        fclose(f);
    return value;
}

static void discover_system(struct machine *m, struct arena *a)
{
    struct utsname u;
    struct statvfs tmp;
    if (uname(&u) == 0) {
        m->hostname = arena_strndup(a, u.nodename, strcspn(u.nodename, "."));
        m->arch = arena_strdup(a, u.machine);
        m->os = arena_printf(a, "%s %s %s", u.sysname, u.release, u.version);
    }
    m->boot_us = file_number("/proc/stat", "btime ") * 1000000;
    m->memory_mib = file_number("/proc/meminfo", "MemTotal:") / 1024;
    if (statvfs("/tmp", &tmp) == 0)
        m->tmp_disk_mib = (int64_t)(tmp.f_blocks * (tmp.f_frsize / 1024) / 1024);
}

const char *machine_gres_of(const struct device_list *devices, struct arena *a)
{
    struct gres_list list = {.item = arena_alloc(a, (devices->n + 1) * sizeof(struct gres_item))};
    struct str text = STR_INIT;
    for (size_t i = 0; i < devices->n; i++) {
        const struct device *d = &devices->v[i];
        size_t k = 0;
        while (k < list.n &&
               !(text_is(list.item[k].kind, d->kind) && text_is(list.item[k].type, d->type)))
            k++;
        if (k == list.n)
            list.item[list.n++] = (struct gres_item){d->kind, d->type, 0};
        list.item[k].count++;
    }
    gres_format(&list, &text);
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

/* The files are of use only if those of all are known: else a job could open what is not hidden. */
static void devices_say(struct machine *m, const struct gpu_found *found, const struct str *counted,
                        struct arena *a, struct str *remarks)
{
    struct device_list list = {.v = arena_alloc(a, (found->gpu.n + 1) * sizeof(struct device)),
                               .n = found->gpu.n};
    struct str text = STR_INIT, files = STR_INIT;
    bool files_known = true;
    for (size_t i = 0; i < list.n; i++) {
        const struct gpu_row *row = &found->gpu.v[i];
        list.v[i] = row->d;
        if (!text_is(row->d.kind, "gpu"))
            continue;
        files_known &= row->files != NULL;
        list_addf(&files, "%d=%s", row->d.index, row->files ? row->files : "");
    }
    devices_format(&list, &text);
    if (list.n > 0) {
        m->devices = arena_strdup(a, str_text(&text));
        m->gres = machine_gres_of(&list, a);
    }
    if (counted->len)
        m->gres = m->gres ? arena_printf(a, "%s,%s", m->gres, str_text(counted))
                          : arena_strdup(a, str_text(counted));
    if (files.len > 0 && files_known)
        m->device_files = arena_strdup(a, str_text(&files));
    else if (files.len > 0)
        remark_add(remarks, SAY_NO_FILES);
    m->closed_files = found->closed;
    m->names_all = gpus_names(found, false, a);
    m->names_alone = gpus_names(found, true, a);
    str_done(&text);
    str_done(&files);
}

/* No such file: nothing is said. */
static bool conf_read(const struct machine_ask *ask, struct arena *a, struct gres_conf *ret,
                      struct err *ret_err)
{
    struct str text = STR_INIT;
    FILE *f = ask->gres_conf ? shortage_fopen(ask->gres_conf) : NULL;
    char piece[4096];
    size_t n;
    *ret = (struct gres_conf){0};
    while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
        str_addn(&text, piece, n);
    bool ok = !f || gres_conf_parse(str_text(&text), ask->gres_conf, ask->node, a, ret, ret_err);
    if (f)
        fclose(f);
    str_done(&text);
    return ok;
}

static void makers_ask(const struct gres_conf *conf, struct gpu_found *found, struct arena *a,
                       struct str *trouble, struct str *search)
{
    static const char *const detects[] = {
        [DETECT_UNSET] = "", [DETECT_OFF] = "off", [DETECT_NVML] = "nvml", [DETECT_RSMI] = "rsmi"};
    if (conf->detect == DETECT_UNSET || conf->detect == DETECT_NVML)
        discover_nvidia(found, a, trouble, search);
    else
        remark_add(search,
                   arena_printf(a, SAY_NOT_ASKED, detects[conf->detect], "NVIDIA's library"));
    if (conf->detect == DETECT_UNSET || conf->detect == DETECT_RSMI)
        discover_amd(found, a, trouble, search);
    else
        remark_add(search, arena_printf(a, SAY_NOT_ASKED, detects[conf->detect], "AMD's driver"));
}

static bool has_gpu(const struct gpu_found *found)
{
    for (size_t i = 0; i < found->gpu.n; i++)
        if (text_is(found->gpu.v[i].d.kind, "gpu"))
            return true;
    return false;
}

static void discover_devices(struct machine *m, const struct machine_ask *ask, struct arena *a,
                             struct str *remarks)
{
    struct gpu_found found = {0}, driver = {0};
    struct gres_conf conf;
    struct str counted = STR_INIT, trouble = STR_INIT, search = STR_INIT;
    struct err err = {0};
    if (conf_read(ask, a, &conf, &err)) {
        makers_ask(&conf, &found, a, &trouble, &search);
        gpus_number(&found, ask->known, ask->known_files, m->cpu_numbers, a);
        if (conf.remarks)
            remark_add(remarks, conf.remarks);
        if (conf.n > 0)
            nvidia_listed(&driver, a);
        if (gres_conf_apply(&found, &driver, &conf, ask->gres_conf, (int32_t)m->threads_per_core, a,
                            &counted, &err)) {
            gpus_number_lines(&found, ask->known, ask->known_files, a);
            gpus_link(&found, a);
        }
    }
    if (err.code)
        m->error = arena_strdup(a, err.text);
    else
        devices_say(m, &found, &counted, a, remarks);
    if (trouble.len)
        m->device_trouble = arena_strdup(a, str_text(&trouble));
    if (search.len && !has_gpu(&found))
        m->device_search = arena_strdup(a, str_text(&search));
    vec_done(&found.gpu);
    vec_done(&driver.gpu);
    str_done(&counted);
    str_done(&trouble);
    str_done(&search);
}

/* ---- from the child to the parent ---- */

void machine_write(const struct machine *m, FILE *to)
{
#define PRINT_I64(member)    fprintf(to, #member "=%lld\n", (long long)m->member)
#define PRINT_TEXT(member)   (m->member ? fprintf(to, #member "=%s\n", m->member) : 0)
#define X(type, member, doc) (void)PRINT_##type(member);
    MACHINE(X)
#undef X
}

static void machine_take_line(struct machine *m, const char *line, struct arena *a)
{
    const char *value = strchr(line, '=');
    if (!value++)
        return;
#define READ_I64(member)  m->member = strtoll(value, NULL, 10)
#define READ_TEXT(member) m->member = arena_strdup(a, value)
#define X(type, member, doc)                                                                       \
    if (strncmp(line, #member "=", sizeof #member) == 0)                                           \
        READ_##type(member);
    MACHINE(X)
#undef X
}

void machine_parse(const char *text, struct machine *ret, struct arena *a)
{
    struct span rest = span_of(text), line;
    while (span_next(&rest, '\n', &line))
        machine_take_line(ret, arena_strndup(a, line.data, line.len), a);
}

static _Noreturn void discover_all(int fd, const struct machine_ask *ask)
{
    struct machine m = {0};
    struct arena *a = arena_new();
    struct str remarks = STR_INIT;
    FILE *to = fdopen(fd, "w");
    if (!to)
        _exit(1);
    discover_system(&m, a);
    discover_topology(&m, a, &remarks);
    machine_write(&m, to);
    fflush(to); /* what is known so far survives a crash below */
    discover_devices(&m, ask, a, &remarks);
    m.remarks = remarks.len ? str_text(&remarks) : NULL;
    machine_write(&m, to);
    fclose(to); /* before the end, which waits for threads that wait for a device */
    _exit(0);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static int64_t wait_ms(void)
{
    const char *text = getenv("REMUDA_DISCOVER_MS"); /* of tests */
    return text ? strtoll(text, NULL, 10) : WAIT_MS;
}

/* All that the child says. False if it did not end in time. */
static bool child_read(int fd, struct str *out)
{
    for (int64_t until = now_ms() + wait_ms(), left; (left = until - now_ms()) > 0;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char piece[4096];
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
        if (n > 0)
            str_addn(out, piece, (size_t)n);
    }
    return false;
}

/* How it ended. One that hangs in the kernel, or a thread of which does, does not, and is left
 * behind. */
static int child_reap(pid_t pid, bool in_time)
{
    int status = in_time ? 0 : 1;
    if (!in_time)
        kill(pid, SIGKILL);
    for (int64_t until = now_ms() + (in_time ? END_MS : REAP_MS); now_ms() < until;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            break;
        if (ended == 0)
            nanosleep(&(struct timespec){.tv_nsec = REAP_STEP * 1000000L}, NULL);
    }
    return status;
}

void machine_discover(struct machine *ret, const struct machine_ask *ask, struct arena *a)
{
    int pipes[2];
    struct str text = STR_INIT;
    memset(ret, 0, sizeof *ret);
    if (pipe(pipes) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        discover_all(pipes[1], ask);
    }
    close(pipes[1]);
    bool in_time = pid > 0 && child_read(pipes[0], &text);
    int status = pid > 0 ? child_reap(pid, in_time) : 1;
    close(pipes[0]);
    machine_parse(str_text(&text), ret, a);
    str_done(&text);
    if (pid > 0 && !in_time)
        ret->device_trouble = SAY_HANGS;
    else if (status != 0)
        ret->device_trouble = SAY_CRASHES;
}

void machine_config_line(const struct machine *m, struct str *out)
{
    str_addf(out,
             "NodeName=%s CPUs=%lld Sockets=%lld CoresPerSocket=%lld ThreadsPerCore=%lld "
             "RealMemory=%lld",
             m->hostname, (long long)m->cpus, (long long)m->sockets, (long long)m->cores_per_socket,
             (long long)m->threads_per_core, (long long)m->memory_mib);
    if (m->gres)
        str_addf(out, " Gres=%s", m->gres);
}
