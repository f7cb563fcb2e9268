/* What devices the machine has, found out anew while the daemon runs: after `remuda gpus resume`,
 * `scontrol reconfigure` and `scontrol update … state=resume`, and now and then while something
 * stands against using them. A process of its own looks, as at the start, and is told which devices
 * have numbers already: they keep them (NODE/devices holds them over a restart while steps go on).
 * A device that is there no more and that a step still has stays in the list, where the watch of
 * the GPUs finds it gone; once nobody has it, it is looked for once more and leaves the list. What
 * stands against the new list (gres.conf, a library that hangs) is said, and the devices stay as
 * they were.
 *
 * A place on the bus at which a GPU was found is missed when there is none any more, also over
 * restarts, until there is one or an operator says RESUME. He accepts what he was told: what is
 * found missing only by the look that he caused is missed. What was given up so is looked for now
 * and then, and taken up where it is there again. */
#include "base/idset.h"
#include "io/files.h"
#include "io/process/spawn.h"
#include "model/grammar/gres.h"
#include "node/daemon/daemon.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/gpu_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIND_US     (150 * USEC_PER_SEC)
#define AGAIN_US    (60 * USEC_PER_SEC)
#define GIVEN_UP    5 /* times as seldom */
#define FOUND_BYTES (1u << 20)

static const char *devices_path(const struct node_daemon *d, struct arena *a)
{
    return arena_printf(a, "%s/nodes/%s/devices", d->options.state_dir, d->options.name);
}

/* Numbers matter while a step that goes by them goes on. */
void node_devices_known(struct node_daemon *d, const char *node_dir, struct machine_ask *ask)
{
    const char **names;
    size_t n = 0;
    struct arena *a = d->arena;
    const char *text = file_read_text(devices_path(d, a), FOUND_BYTES, a, NULL);
    struct span rest = span_of(text ? text : ""), numbers = {0}, places = {0}, files = {0};
    span_next(&rest, '\n', &numbers);
    if (span_next(&rest, '\n', &places))
        d->expected = arena_strndup(d->arena, places.data, places.len);
    if (span_next(&rest, '\n', &places))
        d->given_up = arena_strndup(d->arena, places.data, places.len);
    span_next(&rest, '\n', &files); /* not in those of older releases */
    if (!dir_list(arena_printf(a, "%s/steps", node_dir), a, &names, &n, NULL) || n == 0)
        return;
    ask->known = d->numbers = arena_strndup(a, numbers.data, numbers.len);
    ask->known_files = d->numbers_files = arena_strndup(a, files.data, files.len);
}

static bool has_gpu(const char *devices)
{
    struct span rest = span_of(devices ? devices : ""), one;
    while (span_next(&rest, ';', &one))
        if (text_starts(one.data, "gpu:"))
            return true;
    return false;
}

/* Nothing was found, and something was in the way: that is what is said, not that they are
 * missed. */
static bool is_unasked(const struct machine *m)
{
    return !has_gpu(m->devices) && !text_empty(m->device_trouble);
}

/* The devices whose numbers steps go by: until GPUs are found, those that an earlier daemon
 * found. */
static const char *numbers_of(const struct node_daemon *d)
{
    const char *devices = d->machine.devices ? d->machine.devices : "";
    return is_unasked(&d->machine) && d->numbers ? d->numbers : devices;
}

/* Their files; empty: not known. */
static const char *files_of(const struct node_daemon *d)
{
    const char *files = d->machine.device_files, *before = d->numbers_files;
    const char *those = is_unasked(&d->machine) && d->numbers ? before : files;
    return those ? those : "";
}

static void keep(struct node_daemon *d)
{
    struct err err = {0};
    struct str text = STR_INIT;
    str_addf(&text, "%s\n%s\n%s\n%s\n", numbers_of(d), d->expected ? d->expected : "",
             d->given_up ? d->given_up : "", files_of(d));
    if (!file_write_atomic(devices_path(d, d->arena), str_text(&text), text.len, 0600, &err))
        log_error(d->log, "%s", err.text);
    str_done(&text);
}

/* ---- what is missed ---- */

static bool is_at(const struct device_list *list, const char *pci)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].pci && text_is(list->v[i].pci, pci))
            return true;
    return false;
}

static struct device_list list_of(const char *text, struct arena *a)
{
    struct device_list list = {0};
    if (!text_empty(text))
        devices_parse(text, a, &list, NULL);
    return list;
}

/* Each place once. Instances are at the place of their GPU. */
static void place_add(struct device_list *to, const struct device *one)
{
    if (one->pci && text_is(one->kind, "gpu") && !is_at(to, one->pci))
        to->v[to->n++] =
            (struct device){.kind = "gpu", .type = one->type, .index = one->index, .pci = one->pci};
}

/* Texts of the daemon's, made anew only where they are others. */
static void places_keep(struct node_daemon *d, const char **kept, const struct device_list *list)
{
    struct str text = STR_INIT;
    devices_format(list, &text);
    if (!text_is(*kept ? *kept : "", str_text(&text)))
        *kept = arena_strdup(d->arena, str_text(&text));
    str_done(&text);
}

/* Where a GPU was expected that is not there, or is one of these numbers. */
static void accept(struct node_daemon *d, const char *gone)
{
    struct arena *a = arena_new();
    struct device_list was = list_of(d->expected, a), now = list_of(d->machine.devices, a);
    struct device_list known = {.v = arena_alloc(a, (was.n + now.n + 1) * sizeof *known.v)};
    struct idset numbers = IDSET_INIT;
    if (gone)
        idset_parse(&numbers, gone, INT32_MAX, NULL);
    for (size_t i = 0; i < was.n; i++)
        if (!is_at(&now, was.v[i].pci))
            place_add(&known, &was.v[i]);
    for (size_t i = 0; i < now.n; i++)
        if (text_is(now.v[i].kind, "gpu") && idset_has(&numbers, (uint32_t)now.v[i].index))
            place_add(&known, &now.v[i]);
    d->find_accepts = NULL;
    places_keep(d, &d->find_accepts, &known);
    idset_done(&numbers);
    arena_free(a);
}

/* What was expected and what there is, without what is given up. */
static void expect(struct node_daemon *d, const struct device_list *now, const char *accepts,
                   struct device_list *ret, struct arena *a)
{
    struct device_list was = list_of(d->expected, a), accepted = list_of(accepts, a);
    struct device_list before = list_of(d->given_up, a);
    size_t most = was.n + now->n + before.n + 1;
    struct device_list given_up = {.v = arena_alloc(a, most * sizeof *ret->v)};
    *ret = (struct device_list){.v = arena_alloc(a, most * sizeof *ret->v)};
    for (size_t i = 0; i < before.n; i++)
        if (!is_at(now, before.v[i].pci))
            place_add(&given_up, &before.v[i]);
    for (size_t i = 0; i < was.n; i++) {
        const struct device *w = &was.v[i];
        if (is_at(now, w->pci) || !is_at(&accepted, w->pci)) {
            place_add(ret, w);
            continue;
        }
        place_add(&given_up, w);
        log_info(d->log,
                 "the GPU at %s (%s) is not missed any more, as an operator resumed the "
                 "node; if it is there again, it is used again",
                 w->pci, w->type ? w->type : "of no type");
    }
    for (size_t i = 0; i < now->n; i++)
        place_add(ret, &now->v[i]);
    places_keep(d, &d->expected, ret);
    places_keep(d, &d->given_up, &given_up);
}

static void missed_say(struct node_daemon *d, struct machine *m, const char *accepts,
                       struct arena *a)
{
    struct device_list now = list_of(m->devices, a), expected;
    struct str text = STR_INIT;
    expect(d, &now, accepts, &expected, a);
    str_add(&text, m->device_trouble ? m->device_trouble : "");
    for (size_t i = 0; i < expected.n; i++)
        if (!is_at(&now, expected.v[i].pci)) {
            str_add(&text, text.len ? "; " : "");
            str_addf(&text, SAY_MISSED, expected.v[i].pci,
                     expected.v[i].type ? expected.v[i].type : "of no type");
        }
    if (text.len)
        m->device_trouble = arena_strdup(a, str_text(&text));
    str_done(&text);
}

void node_devices_begin(struct node_daemon *d)
{
    if (d->options.is_virtual)
        return;
    if (has_gpu(d->machine.devices))
        d->numbers = NULL; /* who has one keeps it from now on by that list */
    if (!is_unasked(&d->machine))
        missed_say(d, &d->machine, NULL, d->arena);
    keep(d);
}

/* ---- what is the same, and what not ---- */

static bool is_same(const struct device *x, const struct device *y)
{
    return text_is(x->uuid, y->uuid) && text_is(x->type, y->type) && text_is(x->pci, y->pci);
}

static void difference_log(struct node_daemon *d, const struct device_list *was,
                           const struct device_list *now)
{
    for (size_t i = 0; i < was->n; i++)
        if (text_is(was->v[i].kind, "gpu") && !gpu_of_number(now, was->v[i].index))
            log_warning(d->log, "GPU %d is not there any more: %s %s", was->v[i].index,
                        was->v[i].type ? was->v[i].type : "", was->v[i].uuid ? was->v[i].uuid : "");
    for (size_t i = 0; i < now->n; i++) {
        const struct device *n = &now->v[i], *w = gpu_of_number(was, n->index);
        if (text_is(n->kind, "gpu") && (!w || !is_same(w, n)))
            log_info(d->log, "GPU %d is %s: %s %s", n->index, w ? "another" : "new",
                     n->type ? n->type : "", n->uuid ? n->uuid : "");
    }
}

/* `list` with what `former` has of that number: both "0=195:0,1=195:3". */
static const char *with_former(const char *list, const char *former, int32_t index, struct arena *a)
{
    ASSERT(index >= 0);
    struct span one = device_name_of(former, (uint32_t)index);
    return one.len ? arena_printf(a, "%s%s%d=%.*s", list ? list : "", list ? "," : "", index,
                                  (int)one.len, one.data)
                   : list;
}

/* What is only counted (gres.conf) stays. */
static const char *gres_with(const char *gres, const struct device_list *more, struct arena *a)
{
    struct gres_list list = {0};
    struct str text = STR_INIT;
    const char *both =
        arena_printf(a, "%s%s%s", gres ? gres : "", gres ? "," : "", machine_gres_of(more, a));
    if (gres_parse(both, a, &list, NULL))
        gres_format(&list, &text);
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : gres;
    str_done(&text);
    return result;
}

/* Adds to `found` what steps still have of the devices before. */
static void held_add(struct node_daemon *d, struct machine *found, struct arena *a)
{
    struct device_list was = {0}, now = {0};
    struct str text = STR_INIT;
    if (d->machine.devices)
        devices_parse(d->machine.devices, a, &was, NULL);
    if (found->devices)
        devices_parse(found->devices, a, &now, NULL);
    struct device_list all = {.v = arena_alloc(a, (was.n + now.n + 1) * sizeof *all.v)};
    for (size_t i = 0; i < now.n; i++)
        all.v[all.n++] = now.v[i];
    for (size_t i = 0; i < was.n; i++) {
        const struct device *w = &was.v[i];
        if (!text_is(w->kind, "gpu") || gpu_of_number(&now, w->index) ||
            !agent_gpu_is_held(d->agent, w->index))
            continue;
        all.v[all.n++] = *w;
        if (found->device_files || now.n == 0)
            found->device_files =
                with_former(found->device_files, d->machine.device_files, w->index, a);
        found->names_all = with_former(found->names_all, d->machine.names_all, w->index, a);
        found->names_alone = with_former(found->names_alone, d->machine.names_alone, w->index, a);
    }
    devices_format(&all, &text);
    d->keeps_gone = all.n > now.n;
    if (d->keeps_gone) {
        const struct device_list gone = {.v = all.v + now.n, .n = all.n - now.n};
        found->devices = arena_strdup(a, str_text(&text));
        found->gres = gres_with(found->gres, &gone, a);
    }
    difference_log(d, &was, &all);
    str_done(&text);
}

/* ---- taking it ---- */

static const char *kept(const char *text, struct arena *a)
{
    return text ? arena_strdup(a, text) : NULL;
}

static bool differs(const struct machine *x, const struct machine *y)
{
    return !text_is(x->devices, y->devices) || !text_is(x->gres, y->gres) ||
           !text_is(x->device_files, y->device_files) ||
           !text_is(x->closed_files, y->closed_files) || !text_is(x->names_all, y->names_all) ||
           !text_is(x->names_alone, y->names_alone) ||
           !text_is(x->device_trouble, y->device_trouble) ||
           !text_is(x->device_search, y->device_search);
}

static void machine_take(struct node_daemon *d, const struct machine *found)
{
    struct machine *m = &d->machine;
    bool others =
        !text_is(m->devices, found->devices) || !text_is(m->device_files, found->device_files);
    if (!text_empty(found->device_trouble) && !text_is(found->device_trouble, m->device_trouble))
        log_error(d->log, "%s", found->device_trouble);
    m->devices = kept(found->devices, d->arena);
    if (has_gpu(m->devices))
        d->numbers = NULL;
    m->gres = kept(found->gres, d->arena);
    m->device_files = kept(found->device_files, d->arena);
    m->closed_files = kept(found->closed_files, d->arena);
    m->names_all = kept(found->names_all, d->arena);
    m->names_alone = kept(found->names_alone, d->arena);
    m->device_trouble = kept(found->device_trouble, d->arena);
    m->device_search = kept(found->device_search, d->arena);
    node_site_devices(d);
    struct node self = node_self(d);
    if (others)
        gpu_watch_devices(d->gpus, m->devices, m->device_files);
    agent_set_node(d->agent, &self);
    struct agent_event ev = {.kind = AGENT_CHANGED};
    node_event(d, &ev);
}

static void find(struct node_daemon *d);

static void found(void *ctx, const struct spawn_result *r)
{
    struct node_daemon *d = ctx;
    struct arena *a = arena_new();
    struct machine m = {0};
    bool again = d->find_again;
    if (r->timed_out) /* and may be in the kernel still */
        gpu_killed_add(gpu_watch_killed(d->gpus), spawn_pid(d->find));
    else /* the process that asks the libraries for it may be */
        gpu_killed_led(gpu_watch_killed(d->gpus), spawn_pid(d->find));
    d->find = NULL;
    d->find_again = false;
    machine_parse(r->output, &m, a);
    bool silent = !m.hostname || text_is(m.device_trouble, SAY_HANGS) ||
                  text_is(m.device_trouble, SAY_CRASHES);
    const char *lost = m.error || silent ? NULL : gpu_number_lost(d, &m, a);
    if (m.error || silent || lost) { /* as they were, with what stands against it */
        const char *why = lost         ? lost
                          : m.error    ? m.error
                          : m.hostname ? m.device_trouble
                                       : SAY_CRASHES;
        struct machine as_before = d->machine;
        as_before.device_trouble = why;
        m = as_before;
    } else {
        bool unasked = is_unasked(&m);
        held_add(d, &m, a);
        if (!unasked)
            missed_say(d, &m, d->find_accepts, a);
        d->find_accepts = again ? d->find_accepts : NULL;
    }
    if (differs(&m, &d->machine))
        machine_take(d, &m);
    else if (!d->find_quiet)
        log_info(d->log, "the devices of this machine were looked for anew: they are as before");
    keep(d);
    arena_free(a);
    if (again)
        find(d);
}

static void find(struct node_daemon *d)
{
    struct err err = {0};
    const char *const argv[] = {"/proc/self/exe",     "node",   "--find",        "--state",
                                d->options.state_dir, "--name", d->options.name, NULL};
    struct str known = STR_INIT;
    str_addf(&known, "%s\n%s\n", numbers_of(d), files_of(d));
    struct spawn_options o = {.argv = argv,
                              .input = str_text(&known),
                              .input_len = known.len,
                              .output_max = FOUND_BYTES,
                              .timeout_us = FIND_US};
    d->find = spawn_start(d->loop, &o, found, d, &err);
    str_done(&known);
    if (!d->find)
        log_error(d->log, "the devices of this machine cannot be looked for: %s", err.text);
}

void node_devices_find(struct node_daemon *d, bool accepts, const char *gone)
{
    if (d->options.is_virtual || gpu_watch_is_released(d->gpus))
        return;
    if (accepts)
        accept(d, gone);
    d->find_again = d->find != NULL;
    d->find_quiet = false;
    if (!d->find)
        find(d);
}

/* Nobody has any more what is kept in the list for its user alone. */
static bool is_rid(const struct node_daemon *d)
{
    struct device_list list = {0};
    struct arena *a = arena_new();
    bool held = false;
    if (d->machine.devices)
        devices_parse(d->machine.devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        held |= text_is(list.v[i].kind, "gpu") && agent_gpu_is_held(d->agent, list.v[i].index);
    arena_free(a);
    return !held;
}

/* Something stands against using them that may have passed by itself; one process that hangs is
 * left behind, not one a minute. What is given up may be years. */
static bool is_to_be_tried(const struct node_daemon *d)
{
    const char *trouble = d->machine.device_trouble;
    return text_empty(trouble) ? !text_empty(d->given_up) && d->find_tries % GIVEN_UP == 0
                               : !text_starts(trouble, SAY_HANGS);
}

static void find_quietly(struct node_daemon *d)
{
    if (d->find || d->options.is_virtual || gpu_watch_is_released(d->gpus))
        return;
    d->find_quiet = true;
    find(d);
}

static void tried_again(void *ctx)
{
    struct node_daemon *d = ctx;
    d->find_tries++;
    if (is_to_be_tried(d))
        find_quietly(d);
    timer_set(d->find_timer, gpu_time(AGAIN_US));
}

void node_devices_watch(struct node_daemon *d)
{
    if (d->options.is_virtual)
        return;
    d->find_timer = timer_new(d->loop, tried_again, d);
    timer_set(d->find_timer, gpu_time(AGAIN_US));
}

void node_devices_find_gone(struct node_daemon *d)
{
    if (d->keeps_gone && is_rid(d))
        find_quietly(d);
}

int node_devices_find_main(const struct node_options *o)
{
    struct arena *a = arena_new();
    struct machine m;
    char *text = calloc(1, 2 * FOUND_BYTES);
    size_t n = text ? fread(text, 1, 2 * FOUND_BYTES - 1, stdin) : 0;
    struct span rest = {text, n}, known = {0}, files = {0};
    span_next(&rest, '\n', &known);
    span_next(&rest, '\n', &files);
    struct machine_ask ask = {.gres_conf = node_gres_conf(o, a),
                              .node = o->name,
                              .known = arena_strndup(a, known.data, known.len),
                              .known_files = arena_strndup(a, files.data, files.len)};
    machine_discover(&m, &ask, a);
    machine_write(&m, stdout);
    free(text);
    arena_free(a);
    return 0;
}
