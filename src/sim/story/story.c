/* Stories: files tests/story/NAME.story. Lines of a script, then "----", then the trace that must
 * come out.
 *
 *   nodes n[1-3] cpus=4 mem=4000 gres=gpu:v100:2      KillWait=2 (any setting line)      partition
 *     NAME Key=Value…
 *   submit nodes=2 tasks=2 cpus=1 mem=100 gres=gpu:1 limit=1:00 runs=30 exit=1 array=0-3%2
 *     depends=afterok:1 begin=60 hold stubborn oom norequeue name=x
 *   submit tasks=1 : tasks=2 partition=high            (a heterogeneous job of up to four
 *     components)
 *   at 30                                              hold 1 | release 1 | cancel 1_2 | requeue 1
 *     | requeuehold 1 | suspend 1 | resume 1
 *   limit 1 2:00                                       drain n1 | resume-node n1 | down n1 | lose
 *     n1 100 | cut n1 5 | crash 3 | crash-agent n1 3
 *   backup, restore 5 (the controller dies, and is back in so many seconds with the store as it was
 *     at the last backup)
 *   break-gpu n1 0, mend-gpu n1 0 (resume-node has it looked at); stuck=30 of submit: so long its
 *     GPUs are held after its end
 *   reserve NAME start=60 length=5:00 nodes=n[1-2] | count=2 | cores=4 | licenses=x:1, flags=DAILY
 *     users=root         unreserve NAME
 *   alloc WORDS as of submit                           finish 1 [exit code]
 *   step JOB tasks=4 nodes=2 cpus=1 mem=100 gres=gpu:1 limit=1:00 runs=30 exit=1 exact overlap
 *     immediate nokill stubborn
 *   hangup 1 (the first of the commands of `alloc` and `step` lines)
 *   run 600
 *   stream KIND[,seed=2] crash=1-12:00:00 (stream.h: a whole workload in a world of its own)
 * Times are seconds; limits are written as --time. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "sim/sim.h"
#include "sim/story/stream.h"
#include "sim/story/words.h"
#include "sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct story {
    struct str config;
    bool parted;
    struct sim_world *w;
    struct arena *a;
    struct str said; /* what requests answered, among the trace */
    size_t traced;   /* bytes of the world's trace taken over */
    char *error;
};

static bool fail(struct story *s, const char *line, const char *why)
{
    if (!s->error)
        s->error = xasprintf("%s: %s", line, why);
    return false;
}

static void trace_take(struct story *s)
{
    const char *trace = world_trace(s->w);
    str_add(&s->said, trace + s->traced);
    s->traced = strlen(trace);
}

static bool world_ensure(struct story *s, const char *line)
{
    struct err err = {0};
    if (s->w)
        return true;
    if (!s->parted)
        str_add(&s->config, "PartitionName=main Nodes=ALL Default=YES\n");
    s->w = simworld_new(1, str_text(&s->config), &err);
    return s->w || fail(s, line, err.text);
}

static void nodes_line(struct story *s, char **word, size_t n)
{
    str_addf(&s->config, "NodeName=%s Virtual=YES", word[1]);
    for (size_t i = 2; i < n; i++) {
        const char *value;
        if ((value = story_value(word[i], "cpus")))
            str_addf(&s->config, " CPUs=%s", value);
        else if ((value = story_value(word[i], "mem")))
            str_addf(&s->config, " RealMemory=%s", value);
        else if ((value = story_value(word[i], "gres")))
            str_addf(&s->config, " Gres=%s", value);
    }
    str_addc(&s->config, '\n');
}

static bool submit_word(struct story *s, const char *word, struct job_spec *spec,
                        struct behaviour *b)
{
    const char *v;
    if ((v = story_value(word, "nodes")) && strpbrk(v, ",:"))
        spec->req.node_sizes = v;
    else if (v)
        spec->req.min_nodes = spec->req.max_nodes = (int32_t)story_number(v);
    else if ((v = story_value(word, "tasks")))
        spec->req.ntasks = (int32_t)story_number(v);
    else if ((v = story_value(word, "cpus")))
        spec->req.cpus_per_task = (int32_t)story_number(v);
    else if ((v = story_value(word, "mem")))
        spec->req.mem_per_node_mib = story_number(v);
    else if ((v = story_value(word, "gres")))
        spec->req.gres = v;
    else if ((v = story_value(word, "limit")))
        return duration_parse(v, &spec->req.time_limit_us, NULL);
    else if ((v = story_value(word, "runs")))
        b->runs_us = story_number(v) * USEC_PER_SEC;
    else if ((v = story_value(word, "exit")))
        b->exit_status = (int32_t)story_number(v);
    else if ((v = story_value(word, "array")))
        spec->array = v;
    else if ((v = story_value(word, "depends")))
        spec->dependency = v;
    else if ((v = story_value(word, "begin")))
        spec->begin_us = INT64_C(1790000000) * USEC_PER_SEC + story_number(v) * USEC_PER_SEC;
    else if ((v = story_value(word, "deadline")))
        spec->deadline_us = INT64_C(1790000000) * USEC_PER_SEC + story_number(v) * USEC_PER_SEC;
    else if ((v = story_value(word, "name")))
        spec->name = v;
    else if ((v = story_value(word, "partition")))
        spec->req.partition = v;
    else if ((v = story_value(word, "reservation")))
        spec->req.reservation = v;
    else if ((v = story_value(word, "licenses")))
        spec->req.licenses = v;
    else if ((v = story_value(word, "mintime")))
        return duration_parse(v, &spec->req.time_min_us, NULL);
    else if ((v = story_value(word, "switches"))) {
        const char *wait = strchr(v, '@');
        spec->req.switches = (int32_t)strtol(v, NULL, 10);
        spec->req.switches_wait_us = wait ? story_number(wait + 1) * USEC_PER_SEC : 0;
    } else if (text_is(word, "exclusive"))
        spec->req.exclusive = EXCLUSIVE_NODE;
    else if (text_is(word, "hold"))
        spec->hold = true;
    else if ((v = story_value(word, "stuck")))
        b->stuck_us = story_number(v) * USEC_PER_SEC;
    else if (text_is(word, "stubborn"))
        b->stubborn = true;
    else if (text_is(word, "oom"))
        b->oom = true;
    else if (text_is(word, "norequeue"))
        spec->requeue = NO;
    else if (text_is(word, "killdep"))
        spec->kill_on_invalid_dep = YES;
    else
        return fail(s, word, "unknown word of submit");
    return true;
}

static bool submit_line(struct story *s, char **word, size_t n)
{
    struct job_spec spec[WORLD_COMPONENTS_MAX];
    struct behaviour b = {.runs_us = 10 * USEC_PER_SEC};
    enum refusal refusal = REFUSE_NONE;
    size_t at = 0;
    for (size_t i = 0; i < WORLD_COMPONENTS_MAX; i++)
        spec[i] = (struct job_spec){.name = "job", .req = {.mem_per_node_mib = 1}};
    for (size_t i = 1; i < n; i++)
        if (text_is(word[i], ":") && at + 1 < WORLD_COMPONENTS_MAX)
            at++;
        else if (!submit_word(s, word[i], &spec[at], &b))
            return fail(s, word[i], "cannot be read");
    uint64_t id = world_submit_het(s->w, spec, at + 1, &b, &refusal);
    trace_take(s);
    if (!id)
        str_addf(&s->said, "refused: %s\n", refusal_text(refusal));
    return true;
}

static bool alloc_line(struct story *s, char **word, size_t n)
{
    struct job_spec spec[WORLD_COMPONENTS_MAX];
    struct behaviour b = {0};
    enum refusal refusal = REFUSE_NONE;
    size_t at = 0;
    for (size_t i = 0; i < WORLD_COMPONENTS_MAX; i++)
        spec[i] = (struct job_spec){.name = "alloc", .req = {.mem_per_node_mib = 1}};
    for (size_t i = 1; i < n; i++)
        if (text_is(word[i], ":") && at + 1 < WORLD_COMPONENTS_MAX)
            at++;
        else if (text_is(word[i], "nokill"))
            spec[at].no_kill = true;
        else if (!submit_word(s, word[i], &spec[at], &b))
            return fail(s, word[i], "cannot be read");
    uint64_t id = world_allocate(s->w, spec, at + 1, &refusal);
    trace_take(s);
    if (!id)
        str_addf(&s->said, "refused: %s\n", refusal_text(refusal));
    return true;
}

static void answer_say(struct story *s, bool answered, enum refusal refusal)
{
    trace_take(s);
    if (!answered)
        str_add(&s->said, "no answer\n");
    else if (refusal)
        str_addf(&s->said, "refused: %s\n", refusal_text(refusal));
}

static bool step_line(struct story *s, char **word, size_t n)
{
    struct job_spec spec = {.name = "step"};
    struct msg_create_step m = {.job_id = (uint64_t)story_number(word[1]), .spec = {&spec, 1}};
    struct behaviour b = {.runs_us = 10 * USEC_PER_SEC};
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 2; i < n; i++) {
        if (text_is(word[i], "exact"))
            m.exact = true;
        else if (text_is(word[i], "overlap"))
            m.overlap = true;
        else if (text_is(word[i], "immediate"))
            m.immediate = true;
        else if (text_is(word[i], "nokill"))
            m.no_kill = true;
        else if (text_is(word[i], "async"))
            m.async = true;
        else if (text_starts(word[i], "after="))
            spec.dependency = word[i] + strlen("after=");
        else if (!submit_word(s, word[i], &spec, &b))
            return fail(s, word[i], "cannot be read");
    }
    bool answered = world_step(s->w, &m, &b, &refusal);
    answer_say(s, answered, refusal);
    return true;
}

static bool command_verb(struct story *s, char **word, size_t n)
{
    enum refusal refusal = REFUSE_NONE;
    if (text_is(word[0], "alloc"))
        return alloc_line(s, word, n);
    if (text_is(word[0], "step") && n > 1)
        return step_line(s, word, n);
    if (text_is(word[0], "hangup") && n == 2) {
        world_hang_up(s->w, (size_t)story_number(word[1]) - 1);
        trace_take(s);
        return true;
    }
    if (text_is(word[0], "finish") && n > 1) {
        struct msg_finish_job m = {.job_id = (uint64_t)story_number(word[1]),
                                   .exit_status =
                                       n > 2 ? status_of_code((int)story_number(word[2])) : 0};
        bool answered = world_request(s->w, MSG_FINISH_JOB, &m, &refusal);
        answer_say(s, answered, refusal);
        return true;
    }
    return false;
}

struct verb {
    const char *word;
    enum job_action action;
};
static const struct verb verbs[] = {
    {"hold", ACTION_HOLD},       {"release", ACTION_RELEASE},
    {"requeue", ACTION_REQUEUE}, {"requeuehold", ACTION_REQUEUE_HOLD},
    {"suspend", ACTION_SUSPEND}, {"resume", ACTION_RESUME},
    {"top", ACTION_TOP},
};

static bool job_verb(struct story *s, char **word, size_t n)
{
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < ARRAY_LEN(verbs) && n == 2; i++)
        if (text_is(verbs[i].word, word[0])) {
            struct msg_job_control m = {.action = verbs[i].action, .ids = word[1]};
            bool answered = world_request(s->w, MSG_JOB_CONTROL, &m, &refusal);
            answer_say(s, answered, refusal);
            return true;
        }
    if (text_is(word[0], "cancel") && n == 2) {
        struct msg_cancel m = {.ids = word[1]};
        bool answered = world_request(s->w, MSG_CANCEL, &m, &refusal);
        answer_say(s, answered, refusal);
        return true;
    }
    if (text_is(word[0], "limit") && n == 3) {
        struct job_spec values = {0};
        struct msg_update_job m = {
            .ids = word[1], .fields = "time_limit_us", .values = {&values, 1}};
        if (!duration_parse(word[2], &values.req.time_limit_us, NULL))
            return false;
        bool answered = world_request(s->w, MSG_UPDATE_JOB, &m, &refusal);
        answer_say(s, answered, refusal);
        return true;
    }
    if (text_is(word[0], "extend") && n == 3) {
        struct msg_extend m = {.id = word[1]};
        if (!duration_parse(word[2], &m.add_us, NULL))
            return false;
        bool answered = world_request(s->w, MSG_EXTEND, &m, &refusal);
        answer_say(s, answered, refusal);
        return true;
    }
    return false;
}

/* ---- reservations ---- */

/* "reserve NAME …" makes it; "rereserve NAME …" changes it. */
static bool resv_verb(struct story *s, char **word, size_t n)
{
    struct reservation r = {.users = "root"};
    struct str fields = STR_INIT;
    struct msg_update_reservation m = {.name = n > 1 ? word[1] : NULL, .values = {&r, 1}};
    enum refusal refusal = REFUSE_NONE;
    m.create = text_is(word[0], "reserve");
    m.remove = text_is(word[0], "unreserve");
    if (n < 2 || (!m.create && !m.remove && !text_is(word[0], "rereserve")))
        return false;
    if (m.create)
        str_add(&fields, "users");
    for (size_t i = 2; i < n; i++)
        if (!story_resv_word(&r, &fields, word[i]))
            return fail(s, word[i], "cannot be read");
    m.fields = str_text(&fields);
    bool answered = world_request(s->w, MSG_UPDATE_RESERVATION, &m, &refusal);
    answer_say(s, answered, refusal);
    str_done(&fields);
    return true;
}

static size_t node_number(const char *name)
{
    const char *digits = name + strcspn(name, "0123456789");
    int64_t n = story_number(digits);
    return n > 0 ? (size_t)n - 1 : 0;
}

static bool node_verb(struct story *s, char **word, size_t n)
{
    struct msg_update_node m = {.names = n > 1 ? word[1] : NULL, .reason = "story"};
    enum refusal refusal = REFUSE_NONE;
    int64_t seconds = n > 2 ? story_number(word[2]) * USEC_PER_SEC : 0;
    m.state = text_is(word[0], "drain")         ? "DRAIN"
              : text_is(word[0], "down")        ? "DOWN"
              : text_is(word[0], "resume-node") ? "RESUME"
                                                : NULL;
    if (m.state && n == 2) {
        bool answered = world_request(s->w, MSG_UPDATE_NODE, &m, &refusal);
        answer_say(s, answered, refusal);
    } else if (text_is(word[0], "lose") && n == 3) {
        world_lose_machine(s->w, node_number(word[1]), seconds);
    } else if (text_is(word[0], "kill-shepherds") && n == 2) {
        world_kill_shepherds(s->w, (uint64_t)story_number(word[1]));
    } else if (text_is(word[0], "cut") && n == 3) {
        world_cut_link(s->w, node_number(word[1]), seconds);
    } else if ((text_is(word[0], "break-gpu") || text_is(word[0], "mend-gpu")) && n == 3) {
        world_break_gpu(s->w, node_number(word[1]), (int32_t)story_number(word[2]),
                        word[0][0] == 'b');
    } else if (text_is(word[0], "crash-agent") && n == 3) {
        world_crash_agent(s->w, node_number(word[1]), seconds);
    } else if (text_is(word[0], "crash") && n == 2) {
        world_crash_controller(s->w, CRASH_NOW, story_number(word[1]) * USEC_PER_SEC);
    } else if (text_is(word[0], "backup") && n == 1) {
        world_backup(s->w);
    } else if (text_is(word[0], "restore") && n == 2) {
        world_restore(s->w, false, story_number(word[1]) * USEC_PER_SEC);
    } else {
        return false;
    }
    trace_take(s);
    return true;
}

static bool line_play(struct story *s, const char *line)
{
    char *word[64];
    size_t n = 0;
    char *copy = arena_strdup(s->a, line);
    copy[strcspn(copy, "#")] = '\0';
    for (char *at = strtok_r(copy, " \t\n", &copy); at && n < 64;
         at = strtok_r(NULL, " \t\n", &copy))
        word[n++] = at;
    if (!n)
        return true;
    if (text_is(word[0], "nodes") && n > 1) {
        nodes_line(s, word, n);
        return true;
    }
    if (!s->w && strchr(word[0], '=')) {
        str_addf(&s->config, "%s\n", line);
        s->parted |= text_starts(word[0], "PartitionName=");
        return true;
    }
    if (!s->w && text_is(word[0], "stream")) {
        struct err err = {0};
        return story_stream(str_text(&s->config), word, n, &s->said, &err) ||
               fail(s, line, err.text);
    }
    if (!world_ensure(s, line))
        return false;
    if (text_is(word[0], "submit"))
        return submit_line(s, word, n);
    if ((text_is(word[0], "run") || text_is(word[0], "at")) && n == 2) {
        world_run(s->w, story_number(word[1]) * USEC_PER_SEC);
        trace_take(s);
        return true;
    }
    return command_verb(s, word, n) || job_verb(s, word, n) || resv_verb(s, word, n) ||
           node_verb(s, word, n) || fail(s, line, "cannot be read");
}

static char *file_read(const char *path)
{
    struct str text = STR_INIT;
    char piece[4096];
    size_t n;
    FILE *from = fopen(path, "re");
    if (!from)
        return NULL;
    while ((n = fread(piece, 1, sizeof piece, from)) > 0)
        str_addn(&text, piece, n);
    fclose(from);
    return str_take(&text);
}

static bool bless(const char *path, const char *script, size_t len, const char *said)
{
    FILE *to = fopen(path, "we");
    bool ok = to && fprintf(to, "%.*s----\n%s", (int)len, script, said) > 0;
    return to && fclose(to) == 0 && ok;
}

/* Plays one file. True if its trace is as it says (or was blessed). */
static bool story_play(const char *path, bool blessing)
{
    struct story s = {.a = arena_new()};
    char *text = file_read(path);
    char *cut = text ? strstr(text, "\n----\n") : NULL;
    size_t len = cut ? (size_t)(cut - text) + 1 : text ? strlen(text) : 0;
    const char *expected = cut ? cut + 6 : "";
    struct span rest = {text, len}, line;
    bool ok = text != NULL;
    while (ok && span_next(&rest, '\n', &line))
        ok = line_play(&s, arena_strndup(s.a, line.data, line.len));
    if (ok && s.w && world_broken(s.w))
        ok = fail(&s, "the oracle", world_broken(s.w));
    if (ok && blessing)
        ok = bless(path, text, len, str_text(&s.said));
    else if (ok && !text_is(str_text(&s.said), expected)) {
        printf("# expected:\n%s# was:\n%s", expected, str_text(&s.said));
        ok = false;
    }
    if (s.error)
        printf("# %s\n", s.error);
    simworld_free(s.w);
    str_done(&s.config);
    str_done(&s.said);
    arena_free(s.a);
    free(s.error);
    free(text);
    return ok;
}

int sim_story(int argc, char **argv)
{
    bool blessing = argc > 1 && text_is(argv[1], "--bless");
    int first = 1 + blessing, failed = 0;
    printf("1..%d\n", argc - first);
    for (int i = first; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        bool ok = story_play(argv[i], blessing);
        failed += !ok;
        printf("%s %d - %s\n", ok ? "ok" : "not ok", i - first + 1, slash ? slash + 1 : argv[i]);
    }
    return failed ? 1 : 0;
}
