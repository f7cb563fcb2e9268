/* The process that watches the GPUs (see gpu_watch.h). It sleeps until it is asked or it is time to
 * look after the devices' health.
 *
 * First it opens the libraries and finds the devices, which may take minutes (a GPU without
 * persistence mode takes seconds to start); it says with each which it asks, so that the daemon
 * knows that it gets on, and where it hangs if it does.
 *
 * Clean is a device that its library finds well, on which no process computes that counts
 * (gpu_holders.h), whose file nobody who counts has open, and whose memory is back: at most a
 * little more in use than when it was first found clean. Before that is known, a small part of it
 * may be in use, for what drivers keep. What the library does not answer is no proof: then the
 * device is not clean. What answers mean is said in one table a library (gpu_code.h); how a device
 * is follows from it by the moves of agent/health.h, in the daemon. */
#include "base/alloc.h"
#include "node/hardware/gpu_parts.h"
#include "node/hardware/gpu_time.h"
#include "node/hardware/gpu_watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEALTH_MS  1000
#define OPENERS_MS 5000  /* an answer may take 15 s */
#define ABSENT_MS  10000 /* finding one by its name may start every GPU */

/* A process that has a device file open. */
struct opener {
    struct gpu_holder holder;
    struct device_number file;
};

struct helper_asked {
    struct device_look look;
    char *steps; /* that go on and may hold it; owned */
    enum gpu_holders_cut cut;
};

struct helper {
    struct gpu_helper h;
    VEC(struct helper_asked) look;
    VEC(struct opener) opener; /* while a look is answered */
    VEC(uid_t) others;         /* who has steps; for looks that are `apart` */
    struct str in, library;    /* the versions that were told */
    bool retried;              /* the libraries, while these looks are answered */
    bool began;
};

static const struct gpu_maker *const makers[] = {&gpu_nvidia, &gpu_amd};
#define MAKERS_N (sizeof makers / sizeof makers[0])

/* ---- health ---- */

static struct gpu_word health_of(struct helper *p, struct gpu *g)
{
    if (!g->maker)
        return gpu_word_of(DEVICE_WELL, "%s", "");
    g->maker->begin(&p->h);
    return g->maker->health(&p->h, g);
}

/* What is told once is not told again, but for doubts: how many there are in a row counts. */
static void health_say(struct gpu_helper *h, struct gpu *g, const struct gpu_word *word)
{
    bool news = !g->told_once || word->sign != g->told || word->sign == DEVICE_DOUBT;
    g->told_once = true;
    g->told = word->sign;
    if (news)
        gpu_sign_say(h, g, word->sign, word->why);
}

/* What is lost is looked for only when the daemon wants it back. What its library does not know any
 * more may be back while its job still runs, whose curve then goes on, but is not asked for each
 * second. */
static bool is_watched(const struct gpu *g)
{
    if (!g->maker || g->hangs || (g->told_once && g->told == DEVICE_LOST))
        return false;
    return !g->told_once || g->told != DEVICE_ABSENT || gpu_now_ms() >= g->absent_due_ms;
}

static void versions_say(struct helper *p)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < MAKERS_N; i++) {
        struct str one = STR_INIT;
        makers[i]->version(&p->h, &one);
        if (one.len)
            str_addf(&text, "%s%s", text.len ? "; " : "", str_text(&one));
        str_done(&one);
    }
    if (!text_is(str_text(&text), str_text(&p->library)))
        gpu_line_say(&p->h, "library %s", str_text(&text));
    str_done(&p->library);
    p->library = text;
}

static void health_look(struct helper *p, bool first)
{
    gpu_holders_round(p->h.holders);
    for (size_t i = 0; i < MAKERS_N; i++)
        makers[i]->tick(&p->h);
    for (size_t i = 0; i < p->h.gpu.n; i++) {
        struct gpu *g = &p->h.gpu.v[i];
        if (!is_watched(g))
            continue;
        if (first)
            gpu_asking(&p->h, g);
        struct gpu_word word = health_of(p, g);
        g->absent_due_ms = gpu_now_ms() + gpu_time(ABSENT_MS);
        health_say(&p->h, g, &word);
    }
    for (size_t i = 0; i < MAKERS_N && !first; i++)
        makers[i]->usage(&p->h);
    if (!first)
        gpu_usage_say(&p->h.usage, &p->h.out);
    versions_say(p);
    gpu_say_all(&p->h);
}

/* ---- is it clean? ---- */

static bool has_file(const struct gpu *g, const struct device_number *file)
{
    for (size_t i = 0; i < g->nfiles; i++)
        if (g->file[i].major == file->major && g->file[i].minor == file->minor)
            return true;
    return false;
}

/* Instances of one GPU share its file: who has another opens it, too. */
static bool is_its_alone(const struct helper *p, const struct gpu *g,
                         const struct device_number *file)
{
    for (size_t i = 0; i < p->h.gpu.n; i++)
        if (p->h.gpu.v[i].index != g->index && has_file(&p->h.gpu.v[i], file))
            return false;
    return true;
}

static struct gpu_word cut_word(const struct helper_asked *asked)
{
    switch (asked->cut) {
    case GPU_HOLDERS_ALL: break;
    case GPU_HOLDERS_CUT_USER:
        return gpu_word_of(DEVICE_BLIND,
                           "user %u has too many files open to find out whether it is one",
                           (unsigned)asked->look.uid);
    case GPU_HOLDERS_CUT_SYSTEM:
        return gpu_word_of(DEVICE_BLIND,
                           "there are too many processes, or root has too many files open, to find "
                           "out whether one holds it");
    }
    return gpu_word_of(DEVICE_WELL, "%s", "");
}

static void openers_weigh(const struct helper *p, const struct gpu *g,
                          const struct helper_asked *asked, struct gpu_search *s)
{
    if (g->nfiles > 0 && s->unsure.sign == DEVICE_WELL)
        s->unsure = cut_word(asked);
    for (size_t i = 0; i < p->opener.n && !s->why.len; i++) {
        const struct device_number *file = &p->opener.v[i].file;
        if (!has_file(g, file))
            continue;
        s->how = asked->look.apart && is_its_alone(p, g, file) ? GPU_OPEN_APART : GPU_OPEN;
        gpu_search_weigh(s, &p->opener.v[i].holder);
    }
}

static void memory_weigh(struct helper *p, struct gpu *g, struct gpu_search *s)
{
    struct gpu_memory m = {0};
    if (s->memory_hidden || !g->maker)
        return;
    struct gpu_word word = g->maker->memory(&p->h, g, &m);
    if (word.sign != DEVICE_WELL)
        s->unsure = word;
    else if (m.known)
        gpu_search_memory_weigh(g, s, &m);
}

static void seen_say(struct helper *p, const struct helper_asked *asked,
                     const struct gpu_word *word)
{
    gpu_line_say(&p->h, "seen %d %llu %s %s", asked->look.index,
                 (unsigned long long)asked->look.use, device_sign_word(word->sign), word->why);
}

static struct gpu_word who_holds(struct helper *p, struct gpu *g, const struct helper_asked *asked)
{
    const struct device_look *look = &asked->look;
    struct gpu_held_use use = {look->job_id, look->uid, look->from_us};
    struct gpu_search s = {.use = &use, .steps = asked->steps, .unsure = {.sign = DEVICE_WELL}};
    if (g->maker)
        g->maker->search(&p->h, g, &s);
    openers_weigh(p, g, asked, &s);
    if (!s.why.len && s.unsure.sign == DEVICE_WELL)
        memory_weigh(p, g, &s);
    struct gpu_word word = s.why.len ? gpu_word_of(DEVICE_HELD, "%s", str_text(&s.why))
                           : s.unsure.sign != DEVICE_WELL
                               ? s.unsure
                               : gpu_word_of(s.shared ? DEVICE_SHARED : DEVICE_CLEAN, "%s", "");
    str_done(&s.why);
    vec_done(&s.known);
    return word;
}

static void one_look(struct helper *p, struct gpu *g, const struct helper_asked *asked)
{
    gpu_asking(&p->h, g);
    gpu_holders_forget(p->h.holders);
    g->hangs = false; /* somebody asks for it again */
    if (g->maker && g->told_once && g->told == DEVICE_LOST && !p->retried) {
        p->retried = true;
        g->maker->retry(&p->h);
    }
    struct gpu_word word = health_of(p, g);
    g->told_once = true;
    g->told = word.sign;
    if (word.sign == DEVICE_WELL)
        word = who_holds(p, g, asked);
    seen_say(p, asked, &word);
}

static void opener_take(void *ctx, const struct gpu_holder *holder,
                        const struct device_number *file)
{
    struct helper *p = ctx;
    struct opener o = {*holder, *file};
    vec_push(&p->opener, o);
}

static bool looks_for_openers(const struct device_look *look)
{
    return look->from_us || look->apart;
}

/* Who has files of the devices open that are to be looked at: among the processes of their last
 * jobs' users, where these are known, and of all who have steps, if steps are kept apart; without
 * either an open file says nothing (gpu_holders.h). */
static void openers_find(struct helper *p)
{
    struct device_number file[GPU_FILES_MAX];
    uid_t *user = xcalloc(p->look.n + 1, sizeof *user);
    enum gpu_holders_cut *cut = xcalloc(p->look.n + 1, sizeof *cut);
    size_t n = 0, users = 0;
    vec_clear(&p->opener);
    for (size_t i = 0; i < p->look.n; i++) {
        if (p->look.v[i].look.from_us)
            user[users++] = p->look.v[i].look.uid;
        for (size_t k = 0; k < p->h.gpu.n && looks_for_openers(&p->look.v[i].look); k++) {
            const struct gpu *g = &p->h.gpu.v[k];
            for (size_t f = 0;
                 g->index == p->look.v[i].look.index && f < g->nfiles && n < GPU_FILES_MAX; f++)
                file[n++] = g->file[f];
        }
    }
    gpu_holders_each(
        p->h.holders,
        &(struct gpu_holders_ask){file, n, user, users, OPENERS_MS, p->others.v, p->others.n}, cut,
        opener_take, p);
    for (size_t i = 0, at = 0; i < p->look.n; i++)
        p->look.v[i].cut = p->look.v[i].look.from_us ? cut[at++] : GPU_HOLDERS_ALL;
    free(user);
    free(cut);
}

static void looks_answer(struct helper *p)
{
    p->retried = false;
    gpu_holders_round(p->h.holders);
    openers_find(p);
    for (size_t i = 0; i < p->look.n; i++)
        for (size_t k = 0; k < p->h.gpu.n; k++)
            if (p->h.gpu.v[k].index == p->look.v[i].look.index)
                one_look(p, &p->h.gpu.v[k], &p->look.v[i]);
    for (size_t i = 0; i < p->look.n; i++)
        free(p->look.v[i].steps);
    str_add(&p->h.out, "done\n");
    vec_clear(&p->look);
    vec_clear(&p->others);
    gpu_say_all(&p->h);
}

/* ---- devices ---- */

static void files_read(struct gpu *g, const char *text)
{
    for (const char *at = text; *at && g->nfiles < GPU_FILES_OF_ONE;) {
        char *end;
        unsigned long major = strtoul(at, &end, 10);
        if (end == at || *end != ':')
            return;
        unsigned long minor = strtoul(end + 1, &end, 10);
        g->file[g->nfiles++] = (struct device_number){(uint32_t)major, (uint32_t)minor};
        at = *end == '+' ? end + 1 : end;
        if (*end != '+')
            return;
    }
}

/* AMD's are called "GPU-" and 16 hexadecimal digits. One that did not answer when it was found, or
 * has no number of its own, has files alone. */
static const struct gpu_maker *maker_of(const struct gpu *g)
{
    bool amd = text_starts(g->uuid, "GPU-") && strlen(g->uuid) == 20 &&
               strspn(g->uuid + 4, "0123456789abcdefABCDEF") == 16;
    if (!text_is(g->uuid, "-"))
        return amd ? &gpu_amd : &gpu_nvidia;
    if (g->nfiles && g->file[0].major == DRM_MAJOR)
        return &gpu_amd;
    return !text_is(g->pci, "-") && g->nfiles && g->file[0].major == NVIDIA_MAJOR ? &gpu_nvidia
                                                                                  : NULL;
}

static void device_take(struct helper *p, struct gpu *g, const char *files)
{
    files_read(g, files);
    g->maker = maker_of(g);
    g->nvidia.is_mig = text_starts(g->uuid, "MIG-");
    g->meter.since_us = (unsigned long long)time(NULL) * 1000000;
    vec_push(&p->h.gpu, *g);
}

static void begin(struct helper *p)
{
    p->began = true;
    gpu_asking(&p->h, NULL);
    for (size_t i = 0; i < p->h.gpu.n; i++)
        if (p->h.gpu.v[i].maker && !p->h.gpu.v[i].hangs)
            p->h.gpu.v[i].maker->begin(&p->h);
    health_look(p, true);
    str_add(&p->h.out, "ready\n");
    gpu_say_all(&p->h);
}

/* ---- the loop ---- */

/* "sample 0 3": each is answered, by "sampled INDEX NUMBER:VALUE …". */
static void samples_answer(struct helper *p, const char *line)
{
    char *end;
    for (long index = strtol(line, &end, 10); end != line; index = strtol(line, &end, 10)) {
        line = end;
        for (size_t i = 0; i < p->h.gpu.n; i++) {
            struct gpu *g = &p->h.gpu.v[i];
            if (g->index != index || !is_watched(g) || g->told != DEVICE_WELL)
                continue;
            str_addf(&p->h.out, "sampled %d", g->index);
            g->maker->sample(&p->h, g, &p->h.out);
            str_add(&p->h.out, "\n");
        }
    }
    gpu_say_all(&p->h);
}

/* "0 3", of those that are to be looked at */
static void apart_take(struct helper *p, const char *line)
{
    char *end;
    for (long index = strtol(line, &end, 10); end != line; index = strtol(line, &end, 10)) {
        line = end;
        for (size_t i = 0; i < p->look.n; i++)
            p->look.v[i].look.apart |= p->look.v[i].look.index == index;
    }
}

/* "1000 1001" */
static void users_take(struct helper *p, const char *line)
{
    char *end;
    for (unsigned long uid = strtoul(line, &end, 10); end != line; uid = strtoul(line, &end, 10)) {
        line = end;
        vec_push(&p->others, (uid_t)uid);
    }
}

static void line_take(struct helper *p, const char *line)
{
    struct device_look look = {0};
    struct gpu g = {0};
    unsigned long long use, job;
    long long from;
    char files[256];
    int at = 0, hangs;
    if (sscanf(line, "device %d %95s %31s %d %255s", &g.index, g.uuid, g.pci, &hangs, files) == 5) {
        g.hangs = hangs != 0;
        device_take(p, &g, files);
    } else if (sscanf(line, "look %d %llu %llu %u %lld %n", &look.index, &use, &job, &look.uid,
                      &from, &at) == 5) {
        look.use = use;
        look.job_id = job;
        look.from_us = from;
        vec_push(&p->look,
                 ((struct helper_asked){
                     .look = look, .steps = xstrdup(text_is(line + at, "-") ? "" : line + at)}));
    } else if (text_starts(line, "apart")) {
        apart_take(p, line + strlen("apart"));
    } else if (text_starts(line, "users")) {
        users_take(p, line + strlen("users"));
    } else if (text_starts(line, "steps ")) {
        gpu_holders_steps_at(p->h.holders, line + strlen("steps "));
    } else if (text_starts(line, "sample ")) {
        samples_answer(p, line + strlen("sample "));
    } else if (text_is(line, "begin")) {
        begin(p);
    } else if (text_is(line, "go")) {
        looks_answer(p);
    }
}

static void lines_take(struct helper *p)
{
    char piece[4096], *end;
    ssize_t n = recv(GPU_PARENT_FD, piece, sizeof piece, 0);
    if (n <= 0)
        exit(0);
    str_addn(&p->in, piece, (size_t)n);
    while (p->in.len > 0 && (end = memchr(p->in.data, '\n', p->in.len))) {
        size_t len = (size_t)(end - p->in.data);
        *end = '\0';
        line_take(p, p->in.data);
        memmove(p->in.data, end + 1, p->in.len - len - 1);
        p->in.len -= len + 1;
    }
}

static bool has_watched(const struct helper *p)
{
    for (size_t i = 0; i < p->h.gpu.n; i++)
        if (p->h.gpu.v[i].maker)
            return p->began;
    return false;
}

int gpu_watch_main(void)
{
    struct helper p = {.h.holders = gpu_holders_new()};
    p.h.usage.holders = p.h.holders;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "remudad-gpus");
    for (int64_t due_ms = 0;;) {
        struct pollfd fd = {.fd = GPU_PARENT_FD, .events = POLLIN};
        int64_t left_ms = due_ms - gpu_now_ms();
        if (poll(&fd, 1, !has_watched(&p) ? -1 : left_ms > 0 ? (int)left_ms : 0) > 0)
            lines_take(&p);
        if (!has_watched(&p) || gpu_now_ms() < due_ms)
            continue;
        health_look(&p, false);
        due_ms = gpu_now_ms() + gpu_time(HEALTH_MS);
    }
}
