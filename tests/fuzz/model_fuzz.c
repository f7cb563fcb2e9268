/* Texts that jobs and nodes carry: dependencies, arrays, job references, gres, devices,
 * allocations. Each is read or refused with a sentence; what was read is written in a form that
 * reads to the same. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/grammar/container.h"
#include "model/grammar/gpu_idle.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"
#include "model/job/array.h"
#include "model/job/dependency.h"
#include "model/job/job.h"
#include "model/limits.h"
#include "model/record/gpu_use.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "afterok",   "after",     "singleton", ":",
    "10",        "+5",        "_",         "*",
    ",",         "?",         "[1-9:2]",   "%4",
    "0-7",       ".batch",    "gpu",       "v100",
    "(IDX:0,1)", "gres/",     "none",      "2K",
    "gpu1 ",     "cpus=0-3 ", "mem=100 ",  "tasks=2 ",
    "gpu=0,2 ",  "nic=#2",    ";",         "gpu:v100:0:16384:0-7:u",
    "1g",        "a|b",       "(failed)",  "docker://",
    "@sha256:",  "nvcr.io#",  ":ro+",      "x-create=auto",
    "/a:/b",     ":create",   NULL,
};

static void refusal_check(const struct err *e)
{
    CHECK(e->code != ERR_NONE && e->text[0]);
}

/* Reads and writes in one: false if refused. */
typedef bool (*rewriter)(const char *text, struct arena *a, struct str *out, struct err *e);

/* What is written is read again and written the same. */
static void rewrite_check(rewriter rewrite, const char *text, struct arena *a)
{
    struct str once = STR_INIT, twice = STR_INIT;
    struct err e = {0};
    if (rewrite(text, a, &once, &e)) {
        CHECK(rewrite(str_text(&once), a, &twice, NULL));
        CHECK(strcmp(str_text(&once), str_text(&twice)) == 0);
    } else {
        refusal_check(&e);
        CHECK(once.len == 0);
    }
    str_done(&once);
    str_done(&twice);
}

static bool gres_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct gres_list list;
    bool ok = gres_parse(text, a, &list, e);
    if (ok)
        gres_format(&list, out);
    return ok;
}

/* What a node says of its GPUs: what is taken is written as it was. */
static bool use_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct gpu_use u[GPU_USE_MAX];
    size_t n = gpu_use_read(text, u, GPU_USE_MAX);
    (void)a;
    for (size_t i = 0; i < n; i++)
        gpu_use_format(&u[i], out);
    return n || (err_set(e, ERR_INVALID, "nothing in it"), false);
}

static void idle_check(const char *text)
{
    struct gpu_idle p;
    struct err e = {0};
    if (!gpu_idle_parse(text, &p, &e)) {
        refusal_check(&e);
        return;
    }
    for (int i = 0; i < GPU_IDLE_STAGE_COUNT; i++)
        CHECK(!(p.stages >> i & 1) || p.after_us[i] > 0);
    CHECK(!(p.stages & GPU_IDLE_ENDS) || (p.stages & ~GPU_IDLE_ENDS));
}

/* --gpus is written in the full form, which --gres reads. */
static void gpus_check(const char *text, struct arena *a)
{
    struct gres_list list;
    struct str out = STR_INIT;
    if (gres_parse_gpus(text, a, &list, NULL)) {
        gres_format(&list, &out);
        CHECK(gres_parse(str_text(&out), a, &list, NULL));
    }
    str_done(&out);
}

static bool devices_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct device_list list;
    bool ok = devices_parse(text, a, &list, e);
    if (ok)
        devices_format(&list, out);
    return ok;
}

static bool alloc_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct alloc al;
    bool ok = alloc_parse(text, a, &al, e);
    if (ok)
        alloc_format(&al, out);
    return ok;
}

/* Whatever holds of the conditions, what was written is worth the same. */
static void dependency_worth(const char *shown, struct dependency_list *list, struct arena *a)
{
    struct dependency_list again;
    CHECK(dependency_parse(shown, a, &again, NULL) && again.n == list->n);
    for (unsigned round = 0; round < 8; round++) {
        for (size_t i = 0; i < list->n; i++)
            list->v[i].now = again.v[i].now = (i * 7 + round * 5) % 3 == 1;
        struct dep_truth one = dependency_truth(list), other = dependency_truth(&again);
        CHECK(one.now == other.now && one.final == other.final);
    }
}

/* Without the "(unfulfilled)" or "(failed)" after each; what is written means the same. */
static bool dependency_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct dependency_list list;
    struct str shown = STR_INIT, words = STR_INIT;
    if (!dependency_parse(text, a, &list, e))
        return false;
    dependency_format(&list, &shown);
    dependency_say(&list, &words);
    CHECK(list.n <= LIMIT_DEPENDENCIES && (list.n == 0) == (shown.len == 0));
    dependency_worth(str_text(&shown), &list, a);
    for (const char *at = str_text(&shown); *at;) {
        size_t said = text_starts(at, "(unfulfilled)") ? strlen("(unfulfilled)")
                      : text_starts(at, "(failed)")    ? strlen("(failed)")
                                                       : 0;
        if (!said)
            str_addc(out, *at++);
        at += said;
    }
    str_done(&shown);
    str_done(&words);
    return true;
}

/* Each byte is a word of the grammar: bytes alone find little of it. */
static void dependency_words_check(const uint8_t *data, size_t size, struct arena *a)
{
    static const char *const words[] = {
        "(",          ")",     "!",           ",",   "?",       "after:",   "afterany:",
        "afterok:",   "exit:", "numrun:",     "on:", "before:", "numdone:", "singleton",
        "aftercorr:", "1",     "23",          "_4",  "_each",   "_*",       "+5",
        ">=",         "==",    "!=",          "<",   "all",     "(failed)", "(unfulfilled)",
        ":",          " ",     "afternotok:", "7>3",
    };
    struct str text = STR_INIT;
    for (size_t i = 0; i < size && i < 300; i++)
        str_add(&text, words[data[i] % ARRAY_LEN(words)]);
    rewrite_check(dependency_rewrite, str_text(&text), a);
    str_done(&text);
}

static bool array_rewrite(const char *text, struct arena *a, struct str *out, struct err *e)
{
    struct idset ids = IDSET_INIT;
    uint32_t limit;
    bool ok = array_parse(text, LIMIT_ARRAY_INDEX, &ids, &limit, e);
    if (ok) {
        idset_format(&ids, out);
        if (limit)
            str_addf(out, "%%%u", limit);
    }
    idset_done(&ids);
    return ok;
}

static void ref_check(const char *text)
{
    struct job_ref ref;
    struct err e = {0};
    if (!job_ref_parse(text, &ref, &e)) {
        refusal_check(&e);
        return;
    }
    CHECK(ref.job_id > 0 && (ref.task_id == NO_TASK || ref.tasks.count == 0));
    job_ref_done(&ref);
}

/* Nothing that is taken can end a line, a word or a quoted text where it is handed on. */
static void container_word_check(const char *word)
{
    CHECK(!word || (word[0] && !strpbrk(word, " \t\r\n\"'\\`")));
}

/* An image's name in full is the same image. */
static void image_check(const struct container_image *i, struct arena *a)
{
    struct container_wish *again = arena_alloc(a, sizeof *again);
    const char *words[] = {i->path, i->user, i->registry, i->name, i->tag, i->digest};
    for (size_t k = 0; k < ARRAY_LEN(words); k++)
        container_word_check(words[k]);
    if (!i->name)
        return;
    const char *full = container_image_enroot(i, a);
    CHECK(container_ask_read(&(struct container_ask){.image = full}, a, again, NULL));
    CHECK(strcmp(full, container_image_enroot(&again->image, a)) == 0);
    full = container_image_reference(i, a);
    CHECK(container_ask_read(&(struct container_ask){.image = full}, a, again, NULL));
    CHECK(strcmp(full, container_image_reference(&again->image, a)) == 0);
}

/* The same text as each of the options. */
static void container_check(const char *text, struct arena *a)
{
    const struct container_ask asks[] = {{.image = text},
                                         {.image = "a", .mounts = text},
                                         {.image = "a", .env = text},
                                         {.image = "a", .name = text},
                                         {.image = "a", .workdir = text}};
    struct container_wish *w = arena_alloc(a, sizeof *w);
    for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
        struct err e = {0};
        if (!container_ask_read(&asks[i], a, w, &e)) {
            refusal_check(&e);
            continue;
        }
        image_check(&w->image, a);
        container_word_check(w->name);
        for (size_t k = 0; k < w->mounts; k++) {
            container_word_check(w->mount[k].from);
            container_word_check(w->mount[k].to);
            container_word_check(w->mount[k].flags);
        }
    }
}

#define FEW_HOSTS 500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size);
    if (hostlist_count(text, FEW_HOSTS) > FEW_HOSTS && size % 16) {
        arena_free(a);
        return -1; /* a hundred thousand names take as long as a thousand other inputs */
    }
    rewrite_check(gres_rewrite, text, a);
    gpus_check(text, a);
    rewrite_check(devices_rewrite, text, a);
    rewrite_check(alloc_rewrite, text, a);
    rewrite_check(use_rewrite, text, a);
    idle_check(text);
    rewrite_check(dependency_rewrite, text, a);
    dependency_words_check(data, size, a);
    rewrite_check(array_rewrite, text, a);
    ref_check(text);
    container_check(text, a);
    arena_free(a);
    return 0;
}
