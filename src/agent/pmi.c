/* A task is of version 1 until its first line asks for 2, and each command has one answer. Those
 * that wait are answered by what others do: a meeting by the last who comes, an attribute of the
 * node by whoever sets it. */
#include "agent/pmi.h"

#include "agent/pmi_map.h"
#include "agent/pmi_words.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a task is told to keep to, as MPICH's own launcher says. */
#define NAME_MAX_BYTES    256
#define KEY_MAX_BYTES     64
#define VALUE_MAX_BYTES   1024
#define VALUE_TAKEN_BYTES 4096 /* of who does not */
#define ENTRY_BYTES       32   /* what a key costs, however short */

struct pmi_place {
    int version;
    struct str in;
    bool off, ended;
    bool waits;        /* to meet */
    struct str thread; /* of version 2: whose answer that will be */
    struct str wanted; /* attribute that it waits for; empty = none */
    struct str wanted_thread;
};

struct pmi {
    struct pmi_world w;
    const struct pmi_ops *ops;
    void *ctx;
    struct pmi_place *place;
    struct map_str *space, *attributes; /* values owned */
    size_t bytes;
    struct map_str *fresh; /* keys of `space` that tasks here wrote since the last meeting */
    size_t fresh_bytes;    /* that fresh_take would give */
    bool meeting;
    struct str mapping; /* empty = not to be had */
    struct str out;
};

/* ---- keys and values ---- */

static bool put(struct pmi *p, struct map_str *into, struct span key, struct span value)
{
    char *name = key.len ? xstrndup(key.data, key.len) : NULL;
    size_t more = ENTRY_BYTES + key.len + value.len;
    bool fits = name && value.len <= VALUE_TAKEN_BYTES && p->bytes + more <= PMI_SPACE_BYTES;
    if (fits) {
        char *old = map_str_get(into, name);
        p->bytes += more;
        p->bytes -= old ? ENTRY_BYTES + key.len + strlen(old) : 0;
        map_str_put(into, name, xstrndup(value.len ? value.data : "", value.len));
        free(old);
    }
    free(name);
    return fits;
}

static const char *get(const struct map_str *from, struct span key)
{
    char *name = xstrndup(key.len ? key.data : "", key.len);
    const char *value = map_str_get(from, name);
    free(name);
    return value;
}

static void map_free(struct map_str *m)
{
    struct map_walk w = {0};
    while (map_str_next(m, &w))
        free(w.value);
    map_str_free(m);
}

static bool put_mine(struct pmi *p, struct span key, struct span value)
{
    char *name = xstrndup(key.len ? key.data : "", key.len);
    const char *old = map_str_get(p->fresh, name) ? map_str_get(p->space, name) : NULL;
    size_t bytes = p->fresh_bytes + key.len + value.len + 2 - (old ? key.len + strlen(old) + 2 : 0);
    bool fits = bytes <= PMI_MEET_BYTES && put(p, p->space, key, value);
    if (fits) {
        map_str_put(p->fresh, name, p);
        p->fresh_bytes = bytes;
    }
    free(name);
    return fits;
}

/* What the tasks here wrote since they last met, "key\0value\0", each key once. */
static void fresh_take(struct pmi *p, struct str *out)
{
    struct map_walk w = {0};
    while (map_str_next(p->fresh, &w)) {
        str_addn(out, w.text, strlen(w.text) + 1);
        const char *value = map_str_get(p->space, w.text);
        str_addn(out, value, strlen(value) + 1);
    }
    map_str_free(p->fresh);
    p->fresh = map_str_new();
    p->fresh_bytes = 0;
}

void pmi_learn(struct pmi *p, struct span data)
{
    struct span key, value;
    while (data.len && data.data[data.len - 1] == '\0' && span_next(&data, '\0', &key) &&
           span_next(&data, '\0', &value))
        put(p, p->space, key, value);
}

/* ---- answers ---- */

static void line_say(struct pmi *p, size_t i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void line_say(struct pmi *p, size_t i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_clear(&p->out);
    str_addv(&p->out, format, args);
    str_addc(&p->out, '\n');
    va_end(args);
    p->ops->say(p->ctx, i, p->out.data, p->out.len);
}

static void answer_begin(struct pmi *p, const char *name, struct span thread, bool ok)
{
    pmi_answer_begin(&p->out, name, thread);
    pmi_answer_pair(&p->out, "rc", span_of(ok ? "0" : "1"));
}

static void answer_say(struct pmi *p, size_t i)
{
    pmi_answer_end(&p->out);
    p->ops->say(p->ctx, i, p->out.data, p->out.len);
}

static void answer_only(struct pmi *p, size_t i, const char *name, struct span thread)
{
    answer_begin(p, name, thread, true);
    answer_say(p, i);
}

static void answer_refuse(struct pmi *p, size_t i, const char *name, struct span thread,
                          const char *why)
{
    answer_begin(p, name, thread, false);
    pmi_answer_pair(&p->out, "errmsg", span_of(why));
    answer_say(p, i);
}

static void answer_value(struct pmi *p, size_t i, const char *name, struct span thread,
                         const char *value)
{
    answer_begin(p, name, thread, true);
    pmi_answer_pair(&p->out, "flag", span_of(value ? "TRUE" : "FALSE"));
    if (value)
        pmi_answer_pair(&p->out, "value", span_of(value));
    answer_say(p, i);
}

static struct span whole(const struct str *s)
{
    return (struct span){s->len ? s->data : NULL, s->len};
}

/* ---- meeting ---- */

static void meet_if_all(struct pmi *p)
{
    bool any = false;
    for (size_t i = 0; i < p->w.n; i++) {
        any |= p->place[i].waits;
        if (!p->place[i].waits && !p->place[i].ended)
            return;
    }
    if (!any || p->meeting)
        return;
    p->meeting = true;
    struct str brought = STR_INIT;
    fresh_take(p, &brought);
    p->ops->meet(p->ctx, (struct span){str_text(&brought), brought.len});
    str_done(&brought);
}

static void wait_to_meet(struct pmi *p, size_t i, struct span thread)
{
    struct pmi_place *at = &p->place[i];
    at->waits = true;
    str_clear(&at->thread);
    str_addn(&at->thread, thread.len ? thread.data : "", thread.len);
    meet_if_all(p);
}

void pmi_met(struct pmi *p)
{
    if (!p->meeting)
        return;
    p->meeting = false;
    for (size_t i = 0; i < p->w.n; i++) {
        struct pmi_place *at = &p->place[i];
        if (!at->waits)
            continue;
        at->waits = false;
        if (at->version == 2)
            answer_only(p, i, "kvs-fence", whole(&at->thread));
        else
            line_say(p, i, "cmd=barrier_out rc=0");
    }
}

void pmi_ended(struct pmi *p, size_t place)
{
    ASSERT(place < p->w.n);
    p->place[place].ended = true;
    p->place[place].waits = false;
    meet_if_all(p);
}

/* ---- version 1 ---- */

static void line_first(struct pmi *p, size_t i, const struct pmi_command *c)
{
    bool second = span_is(pmi_value(c, "pmi_version"), "2");
    line_say(p, i, "cmd=response_to_init rc=0 pmi_version=%d pmi_subversion=%d", second ? 2 : 1,
             second ? 0 : 1);
    p->place[i].version = second ? 2 : 1;
}

static bool is_ours(const struct pmi *p, const struct pmi_command *c)
{
    return span_is(pmi_value(c, "kvsname"), p->w.name);
}

static void line_put(struct pmi *p, size_t i, const struct pmi_command *c)
{
    if (!is_ours(p, c))
        line_say(p, i, "cmd=put_result rc=-1 msg=no_such_space");
    else if (!put_mine(p, pmi_value(c, "key"), pmi_value(c, "value")))
        line_say(p, i, "cmd=put_result rc=-1 msg=no_room");
    else
        line_say(p, i, "cmd=put_result rc=0 msg=success");
}

static const char *mapping_or(const struct pmi *p, struct span key, const char *other)
{
    return span_is(key, "PMI_process_mapping") && p->mapping.len ? p->mapping.data : other;
}

static void line_get(struct pmi *p, size_t i, const struct pmi_command *c)
{
    struct span key = pmi_value(c, "key");
    const char *value = is_ours(p, c) ? mapping_or(p, key, get(p->space, key)) : NULL;
    if (value)
        line_say(p, i, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        line_say(p, i, "cmd=get_result rc=-1 msg=not_found value=unknown");
}

static void code_abort(struct pmi *p, size_t i, const struct pmi_command *c)
{
    char text[16] = "";
    int64_t code;
    struct span given = pmi_value(c, "exitcode");
    if (given.len && given.len < sizeof text)
        memcpy(text, given.data, given.len);
    p->ops->abort(p->ctx, p->w.rank[i],
                  text_to_i64(text, INT32_MIN, INT32_MAX, &code) ? (int32_t)code : 1,
                  pmi_value(c, "msg"));
}

/* Each with the word that its answer is named by. */
static const struct {
    const char *name, *answer;
} lines_refused[] = {
    {"spawn", "spawn_result"},        {"publish_name", "publish_result"},
    {"lookup_name", "lookup_result"}, {"unpublish_name", "unpublish_result"},
    {"create_kvs", "newkvs"},         {"destroy_kvs", "kvs_destroyed"},
    {"getbyidx", "getbyidx_results"},
};

static void line_refuse(struct pmi *p, size_t i, const struct pmi_command *c)
{
    const char *answer = "unknown";
    for (size_t k = 0; k < ARRAY_LEN(lines_refused); k++)
        if (span_is(c->name, lines_refused[k].name))
            answer = lines_refused[k].answer;
    line_say(p, i, "cmd=%s rc=-1 msg=not_served", answer);
}

static void line_answer(struct pmi *p, size_t i, const struct pmi_command *c)
{
    if (span_is(c->name, "init"))
        line_first(p, i, c);
    else if (span_is(c->name, "get_maxes"))
        line_say(p, i, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d", NAME_MAX_BYTES,
                 KEY_MAX_BYTES, VALUE_MAX_BYTES);
    else if (span_is(c->name, "get_appnum"))
        line_say(p, i, "cmd=appnum rc=0 appnum=0");
    else if (span_is(c->name, "get_my_kvsname"))
        line_say(p, i, "cmd=my_kvsname rc=0 kvsname=%s", p->w.name);
    else if (span_is(c->name, "get_universe_size"))
        line_say(p, i, "cmd=universe_size rc=0 size=%d", p->w.size);
    else if (span_is(c->name, "put"))
        line_put(p, i, c);
    else if (span_is(c->name, "get"))
        line_get(p, i, c);
    else if (span_is(c->name, "barrier_in"))
        wait_to_meet(p, i, (struct span){NULL, 0});
    else if (span_is(c->name, "finalize"))
        line_say(p, i, "cmd=finalize_ack rc=0");
    else if (span_is(c->name, "abort"))
        code_abort(p, i, c);
    else
        line_refuse(p, i, c);
}

/* ---- version 2 ---- */

static void full_first(struct pmi *p, size_t i, struct span thread)
{
    char rank[16], size[16];
    snprintf(rank, sizeof rank, "%d", p->w.rank[i]);
    snprintf(size, sizeof size, "%d", p->w.size);
    const char *const pairs[][2] = {
        {"pmi-version", "2"}, {"pmi-subversion", "0"}, {"rank", rank},      {"size", size},
        {"appnum", "0"},      {"debugged", "FALSE"},   {"pmiverbose", "0"},
    };
    answer_begin(p, "fullinit", thread, true);
    for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
        pmi_answer_pair(&p->out, pairs[k][0], span_of(pairs[k][1]));
    answer_say(p, i);
}

static void full_job_attribute(struct pmi *p, size_t i, const struct pmi_command *c,
                               struct span thread)
{
    char size[16];
    struct span key = pmi_value(c, "key");
    const char *value = mapping_or(p, key, NULL);
    snprintf(size, sizeof size, "%d", p->w.size);
    if (span_is(key, "universeSize"))
        value = size;
    answer_value(p, i, "info-getjobattr", thread, value);
}

static void waiting_answer(struct pmi *p, struct span key, const char *value)
{
    for (size_t i = 0; i < p->w.n; i++) {
        struct pmi_place *at = &p->place[i];
        if (!at->wanted.len || !span_is(key, at->wanted.data))
            continue;
        str_clear(&at->wanted);
        answer_value(p, i, "info-getnodeattr", whole(&at->wanted_thread), value);
    }
}

static void full_attribute_put(struct pmi *p, size_t i, const struct pmi_command *c,
                               struct span thread)
{
    struct span key = pmi_value(c, "key");
    if (!put(p, p->attributes, key, pmi_value(c, "value"))) {
        answer_refuse(p, i, "info-putnodeattr", thread, "there is no room for it");
        return;
    }
    answer_only(p, i, "info-putnodeattr", thread);
    waiting_answer(p, key, get(p->attributes, key));
}

static void full_attribute_get(struct pmi *p, size_t i, const struct pmi_command *c,
                               struct span thread)
{
    struct span key = pmi_value(c, "key");
    struct pmi_place *at = &p->place[i];
    const char *value = get(p->attributes, key);
    if (value || !span_is(pmi_value(c, "wait"), "TRUE")) {
        answer_value(p, i, "info-getnodeattr", thread, value);
    } else if (at->wanted.len || !key.len) {
        answer_refuse(p, i, "info-getnodeattr", thread, "a task waits for one attribute at a time");
    } else {
        str_addn(&at->wanted, key.data, key.len);
        str_clear(&at->wanted_thread);
        str_addn(&at->wanted_thread, thread.len ? thread.data : "", thread.len);
    }
}

static void full_put(struct pmi *p, size_t i, const struct pmi_command *c, struct span thread)
{
    if (put_mine(p, pmi_value(c, "key"), pmi_value(c, "value")))
        answer_only(p, i, "kvs-put", thread);
    else
        answer_refuse(p, i, "kvs-put", thread, "there is no room for it");
}

static void full_refuse(struct pmi *p, size_t i, const struct pmi_command *c, struct span thread)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(c->name.len < 63 ? c->name.len : 63), c->name.data);
    answer_refuse(p, i, name, thread, "not served: this program's tasks are those of its step");
}

static void full_answer(struct pmi *p, size_t i, const struct pmi_command *c)
{
    struct span thread = pmi_value(c, "thrid");
    if (span_is(c->name, "fullinit")) {
        full_first(p, i, thread);
    } else if (span_is(c->name, "job-getid")) {
        answer_begin(p, "job-getid", thread, true);
        pmi_answer_pair(&p->out, "jobid", span_of(p->w.name));
        answer_say(p, i);
    } else if (span_is(c->name, "kvs-put")) {
        full_put(p, i, c, thread);
    } else if (span_is(c->name, "kvs-get")) {
        struct span key = pmi_value(c, "key");
        answer_value(p, i, "kvs-get", thread, mapping_or(p, key, get(p->space, key)));
    } else if (span_is(c->name, "kvs-fence")) {
        wait_to_meet(p, i, thread);
    } else if (span_is(c->name, "info-getjobattr")) {
        full_job_attribute(p, i, c, thread);
    } else if (span_is(c->name, "info-putnodeattr")) {
        full_attribute_put(p, i, c, thread);
    } else if (span_is(c->name, "info-getnodeattr")) {
        full_attribute_get(p, i, c, thread);
    } else if (span_is(c->name, "finalize")) {
        answer_only(p, i, "finalize", thread);
    } else if (span_is(c->name, "abort")) {
        code_abort(p, i, c);
    } else {
        full_refuse(p, i, c, thread);
    }
}

/* ---- all of them ---- */

bool pmi_take(struct pmi *p, size_t place, const char *bytes, size_t len)
{
    ASSERT(place < p->w.n);
    struct pmi_place *at = &p->place[place];
    struct pmi_command c;
    size_t used = 0;
    ssize_t n = 0;
    if (at->off)
        return false;
    str_addn(&at->in, bytes, len);
    while (at->in.len > used &&
           (n = pmi_command_take(at->in.data + used, at->in.len - used, at->version, &c)) > 0) {
        if (at->version == 2)
            full_answer(p, place, &c);
        else
            line_answer(p, place, &c);
        used += (size_t)n;
    }
    at->off = n < 0;
    if (used && used < at->in.len)
        memmove(at->in.data, at->in.data + used, at->in.len - used);
    str_cut(&at->in, at->off ? 0 : at->in.len - used);
    return !at->off;
}

struct pmi *pmi_new(const struct pmi_world *w, const struct pmi_ops *ops, void *ctx)
{
    struct pmi *p = xcalloc(1, sizeof *p);
    int32_t *node_of, nodes;
    *p = (struct pmi){.w = *w, .ops = ops, .ctx = ctx};
    p->place = xcalloc(w->n + 1, sizeof *p->place);
    p->space = map_str_new();
    p->fresh = map_str_new();
    p->attributes = map_str_new();
    if (pmi_map_read(w->map, w->size, &node_of, &nodes))
        pmi_map_vector(node_of, w->size, &p->mapping);
    free(node_of);
    /* A library that is not told finds out by the names of the hosts. */
    if (p->mapping.len > VALUE_MAX_BYTES)
        str_clear(&p->mapping);
    return p;
}

void pmi_free(struct pmi *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->w.n; i++) {
        str_done(&p->place[i].in);
        str_done(&p->place[i].thread);
        str_done(&p->place[i].wanted);
        str_done(&p->place[i].wanted_thread);
    }
    free(p->place);
    map_free(p->space);
    map_free(p->attributes);
    map_str_free(p->fresh);
    str_done(&p->mapping);
    str_done(&p->out);
    free(p);
}
