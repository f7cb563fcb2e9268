/* What a node reads of processes that may be anybody's, or were changed by somebody: notes, names
 * of steps' directories, plans, the file of srun --multi-prog, file name patterns, what is asked of
 * binding. */
#include "fuzz.h"

#include "agent/note.h"
#include "base/alloc.h"
#include "base/plain.h"
#include "model/grammar/script_args.h"
#include "model/job/alloc.h"
#include "model/job/pattern.h"
#include "node/step/bind/bind.h"
#include "node/step/dir.h"
#include "node/step/multi_prog.h"
#include "node/step/plan.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "started ",
    "exited ",
    "gone ",
    "job=7 ",
    "attempt=1 ",
    "step=-1 ",
    "pid=99 ",
    "status=256 ",
    "detail=x",
    "42.1.0",
    "batch",
    "%t",
    "%4j",
    "%%",
    "\\",
    "0-3 ",
    "* ",
    "'%o' ",
    "\"a b\"",
    "\n",
    "\t",
    "#",
    "\xe2\x80\xae",
    "\x1b[2J",
    "map_cpu",
    ":",
    "mask_cpu:",
    "map_gpu:",
    "map_mem:",
    "closest",
    "single:",
    "per_task:",
    "verbose,",
    "0x7",
    ",",
    "cyclic:block",
    NULL,
};

static void note_check(struct span line)
{
    struct note once, twice;
    struct str text = STR_INIT;
    if (note_parse(line, &once)) {
        note_format(&once, &text);
        CHECK(text.len > 0 && text.data[text.len - 1] == '\n');
        CHECK(note_parse((struct span){text.data, text.len - 1}, &twice));
    }
    str_done(&text);
}

static void plan_check(const char *data, size_t len)
{
    struct step_plan p;
    size_t n;
    if (!step_plan_decode(data, len, &p))
        return;
    free(plan_texts(p.env, 2, &n));
    free(plan_texts(p.args, 0, &n));
    if (p.node)
        CHECK(strlen(p.node) < len);
}

/* A plan is binary; so that most are nearly whole, each also begins with a good head. */
static void plans_check(const uint8_t *data, size_t size)
{
    char *exact = xmalloc(size + 9);
    uint32_t head[2] = {size ? data[0] % 64u : 0, (uint32_t)size};
    memcpy(exact, head, sizeof head);
    memcpy(exact + sizeof head, data, size);
    exact[size + 8] = '\0';
    plan_check(exact, size + 9);
    plan_check(exact + sizeof head, size);
    free(exact);
}

static void texts_check(const char *text, size_t size)
{
    const struct pattern_env env = {.job_id = 7,
                                    .array_job_id = 5,
                                    .array_task_id = 3,
                                    .step_id = 0,
                                    .node = "n1",
                                    .user = "u",
                                    .job_name = text};
    struct str out = STR_INIT;
    uint64_t job;
    uint32_t attempt;
    int64_t step;
    if (step_dir_name_parse(text, &job, &attempt, &step)) {
        step_dir_name(job, attempt, step, &out);
        CHECK(step_dir_name_parse(str_text(&out), &job, &attempt, &step));
    }
    str_clear(&out);
    pattern_expand(text, &env, &out);
    CHECK(out.len <= PATTERN_NAME_MAX);
    str_clear(&out);
    multi_prog_words((struct span){text, size}, 2, &out);
    str_clear(&out);
    script_args_unpack(text, &out);
    str_clear(&out);
    str_add_plain(&out, text);
    CHECK(text_is_plain(str_text(&out)));
    str_done(&out);
}

/* A line for each task, whatever is asked for. */
static void binding_check(const char *text)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    struct bind_result r;
    struct job_spec spec = {
        .cpu_bind = text, .gpu_bind = text, .mem_bind = text, .req.distribution = text};
    int lines = 0;
    CHECK(alloc_parse("a cpus=0-7 mem=1 gpu:v100=0-3 tasks=3 ids=0-2", a, &al, NULL));
    spec.req.cpus_per_task = (int32_t)strlen(text) * 1000;
    struct bind_ask ask = {.here = alloc_find(&al, "a"),
                           .spec = &spec,
                           .cpu_numbers = "0,2,4,6,1,3,5,7",
                           .threads_per_core = 1,
                           .cores_per_socket = 4,
                           .devices = "gpu:v100:0:0:0-3;gpu:v100:1:0:4-7"};
    bind_tasks(&ask, a, &r);
    for (const char *c = r.tasks; *c; c++)
        lines += *c == '\n';
    CHECK(lines == 3);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    note_check((struct span){(const char *)data, size});
    plans_check(data, size);
    texts_check(text, strlen(text));
    binding_check(text);
    free(text);
    return 0;
}
