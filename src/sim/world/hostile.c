/* A stranger: a user who writes frames by hand. Each number may be any, each text may be what hurt
 * before, each list may hold anything of the kind. The wire refuses most; what it lets in must not
 * stop the machine, break an invariant, or keep anybody else's jobs from their end. */
#include "sim/world/inside.h"

#include "wire/frame.h"

#define DEEP 2 /* lists in lists */

static const struct peer stranger = {.uid = HOSTILE_UID,
                                     .gid = HOSTILE_UID,
                                     .user = "mallory",
                                     .group = "mallory",
                                     .groups = "mallory",
                                     .host = "sim"};

static const char *some_text(struct rng *rng)
{
    static const char *const texts[] = {"",
                                        "1",
                                        "2",
                                        "1_[0-2147483646]",
                                        "1_[0-2147483646:3],2_[1-2147483646:2]",
                                        "afterok:1(failed)",
                                        "afterok:1?afterany:2",
                                        "singleton",
                                        "0-2147483646",
                                        "0-9%3",
                                        "\x1b[2J\n",
                                        "gpu:9223372036854775807",
                                        "gpu:v100:1",
                                        "n[1-5]",
                                        "n[1-65536]",
                                        "main,high",
                                        "cpus=0-1048576",
                                        "n1 cpus=0 mem=-5",
                                        "all",
                                        "name=one",
                                        "time_limit_us,deadline_us,begin_us,nice",
                                        "min_nodes,max_nodes,ntasks,mem_per_node_mib"};
    return texts[rng_below(rng, ARRAY_LEN(texts))];
}

static int64_t some_number(struct rng *rng, const struct int_range *range)
{
    const int64_t edges[] = {0,
                             1,
                             2,
                             3,
                             range->min,
                             (int64_t)range->max,
                             (int64_t)(range->max + 1),
                             range->min - (range->min > INT64_MIN),
                             INT64_MAX,
                             INT64_MIN};
    if (rng_chance(rng, 900)) /* most often what is allowed: the wire has tests of its own */
        return edges[rng_below(rng, 6)];
    return edges[rng_below(rng, ARRAY_LEN(edges))];
}

static void record_fill(const struct fields *t, void *record, struct rng *rng, uint32_t permille,
                        int depth, struct arena *a);

static void field_fill(const struct field *f, void *p, struct rng *rng, uint32_t permille,
                       int depth, struct arena *a)
{
    switch (f->type) {
    case FIELD_BOOL: *(bool *)p = true; break;
    case FIELD_I32:
    case FIELD_U32: *(int32_t *)p = (int32_t)some_number(rng, field_range(f)); break;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: *(int64_t *)p = some_number(rng, field_range(f)); break;
    case FIELD_TEXT: *(const char **)p = some_text(rng); break;
    case FIELD_ENUM:
        *(int32_t *)p = (int32_t)rng_below(rng, ((const struct enum_names *)f->aux)->n);
        break;
    case FIELD_BLOB: *(struct blob *)p = (struct blob){"#!/bin/sh\n", 10}; break;
    case FIELD_LIST: {
        struct record_list *list = p;
        const struct fields *of = f->aux;
        if (depth == DEEP)
            break;
        list->n = 1;
        list->v = arena_alloc(a, of->size);
        record_fill(of, list->v, rng, permille / 4, depth + 1, a);
        break;
    }
    }
}

static void record_fill(const struct fields *t, void *record, struct rng *rng, uint32_t permille,
                        int depth, struct arena *a)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].type == FIELD_LIST || rng_chance(rng, permille))
            field_fill(&t->field[i], field_ptr(&t->field[i], record), rng, permille, depth, a);
}

void world_hostile(struct sim_world *w, struct rng *rng)
{
    world_doubt_end(w); /* he may let his own go */
    static const enum message_kind kinds[] = {MSG_SUBMIT,           MSG_SUBMIT,
                                              MSG_SUBMIT,           MSG_WHY,
                                              MSG_JOB_CONTROL,      MSG_CANCEL,
                                              MSG_UPDATE_JOB,       MSG_UPDATE_JOB,
                                              MSG_EXTEND,           MSG_UPDATE_NODE,
                                              MSG_ATTACH,           MSG_CREATE_STEP,
                                              MSG_ATTACH_STEP,      MSG_FINISH_JOB,
                                              MSG_MAKE_TOKEN,       MSG_EXPEL,
                                              MSG_UPDATE_PARTITION, MSG_NODE_HELLO,
                                              MSG_HEARTBEAT,        MSG_REPORT,
                                              MSG_WAIT_JOB,         MSG_UPDATE_RESERVATION};
    enum message_kind kind = kinds[rng_below(rng, ARRAY_LEN(kinds))];
    const struct fields *t = message_fields(kind);
    struct str bytes = STR_INIT;
    struct frame f;
    struct message m;
    struct err err = {0};
    struct arena *a = arena_new();
    void *body = arena_alloc(a, t->size);
    record_fill(t, body, rng, (uint32_t)rng_range(rng, 50, 400), 0, a);
    wire_encode(&(struct message){.kind = kind, .seq = 1, .body = body}, &bytes);
    bool taken = frame_take(bytes.data, bytes.len, &f, &err) > 0 && wire_decode(&f, a, &m, &err);
    if (!taken && !err.text[0])
        world_broke(w, "a hostile %s was refused without a word", message_table[kind].name);
    if (taken && w->core) {
        controller_event(w, (struct event){.kind = EV_MESSAGE,
                                           .conn = CLIENT + ++w->answer_seq,
                                           .peer = &stranger,
                                           .msg = &m});
        controller_turn_end(w);
    }
    str_done(&bytes);
    arena_free(a);
}

bool world_hostile_ends(struct sim_world *w)
{
    struct msg_cancel m = {.uids = HOSTILE_UID_TEXT};
    return world_request(w, MSG_CANCEL, &m, NULL);
}
