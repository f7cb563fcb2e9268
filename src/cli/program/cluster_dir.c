#include "cli/program/cluster_dir.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/room.h"
#include "io/build.h"
#include "io/files.h"
#include "model/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cluster_conf_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/remuda.conf", state_dir);
}

const char *controller_pid_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/controller.pid", state_dir);
}

const char *node_pid_path(const char *state_dir, const char *node, struct arena *a)
{
    return arena_printf(a, "%s/nodes/%s/node.pid", state_dir, node);
}

const char *controller_log_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/log/controller.log", state_dir);
}

const char *node_log_path(const char *state_dir, const char *node, struct arena *a)
{
    return arena_printf(a, "%s/log/node-%s.log", state_dir, node);
}

static const char *conf_part_read(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    const char *dir = ctx;
    const char *full = path[0] == '/' ? path : arena_printf(a, "%s/%s", dir, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        room_check(full); /* else what it says would count as not said */
        err_set(ret_err, errno == ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "%s: %s", full,
                strerror(errno));
        return NULL;
    }
    struct str text = STR_INIT;
    char piece[16384];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        str_addn(&text, piece, (size_t)n);
    const char *result = n == 0 ? arena_strdup(a, str_text(&text)) : NULL;
    if (!result)
        file_error(ret_err, "read", full);
    close(fd);
    str_done(&text);
    return result;
}

static bool conf_read(const char *dir, const char *path, struct arena *a, struct config *ret,
                      struct err *ret_err)
{
    const char *text = conf_part_read((void *)(uintptr_t)dir, path, a, ret_err);
    if (text && conf_part_read((void *)(uintptr_t)dir, "joined.conf", a, NULL))
        text = config_with_joined(text, a);
    return text && config_parse(text, path, conf_part_read, (void *)(uintptr_t)dir, ret, ret_err);
}

bool cluster_conf_read(const char *state_dir, struct config *ret, struct err *ret_err)
{
    struct arena *a = arena_new();
    bool ok = conf_read(state_dir, cluster_conf_path(state_dir, a), a, ret, ret_err);
    arena_free(a);
    return ok;
}

bool cluster_conf_read_file(const char *path, struct config *ret, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *slash = strrchr(path, '/');
    const char *dir = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : ".";
    /* As conf_part_read takes it: what is not absolute is looked for in the directory. */
    const char *at = path[0] == '/' ? path : slash ? slash + 1 : path;
    bool ok = conf_read(dir, at, a, ret, ret_err);
    arena_free(a);
    return ok;
}

/* MessageTimeout, from the configuration where it lies; on other hosts its default. */
static int patience_ms(const char *state_dir)
{
    struct arena *a = arena_new();
    struct config conf;
    struct err err = {0};
    struct settings defaults;
    settings_default(&defaults);
    int64_t us = defaults.message_timeout_us;
    if (!state_dir_expected(state_dir, a)) {
        us = 0;
    } else if (cluster_conf_read(state_dir, &conf, &err)) {
        us = conf.settings.message_timeout_us;
        config_done(&conf);
    }
    arena_free(a);
    return (int)(us < 0 ? 0 : us / 1000 < INT32_MAX ? us / 1000 : INT32_MAX);
}

struct client *cluster_reach(const char *state_dir, struct err *ret_err)
{
    return client_reach(state_dir, patience_ms, ret_err);
}

bool cluster_ask(struct client *c, enum message_kind kind, const void *body, enum message_kind want,
                 struct arena *a, struct message *ret, struct err *ret_err)
{
    ASSERT(kind < MESSAGE_COUNT && want < MESSAGE_COUNT);
    if (!client_call(c, kind, body, 0, a, ret, ret_err))
        return false;
    const struct msg_done *done = ret->body;
    if (ret->kind == want && (want != MSG_DONE || done->refusal == REFUSE_NONE))
        return true;
    if (ret->kind != MSG_DONE)
        return err_set(ret_err, ERR_INTERNAL, "the controller gave another answer");
    return err_set(ret_err, ERR_DENIED, "%s%s%s", refusal_text((enum refusal)done->refusal),
                   text_empty(done->detail) ? "" : ": ", done->detail ? done->detail : "");
}

struct builds {
    const char *other;
    size_t n;
    struct arena *a;
};

static void build_count(void *ctx, const void *record)
{
    struct builds *b = ctx;
    const struct daemon_status *d = record;
    bool runs = d->pid > 0 && !text_empty(d->version);
    if (!runs || text_is(d->version, build_name()))
        return;
    b->other = arena_strdup(b->a, d->version);
    b->n++;
}

size_t cluster_other_builds(const char *state_dir, const char **ret_build, struct arena *a)
{
    struct builds b = {.a = a};
    struct client *c = client_open(state_dir, NULL);
    struct msg_query q = {.what = QUERY_STATUS, .fields = "role,name,pid,version"};
    struct msg_done done = {0};
    if (c)
        client_query(c, &q, &status_fields, a, build_count, &b, &done, NULL);
    client_close(c);
    *ret_build = b.other;
    return b.n;
}

static void setting_keep(void *ctx, const void *record)
{
    struct config *conf = ctx;
    const struct meta *m = record;
    const struct setting *k = setting_find(m->key);
    if (k)
        setting_read_shown(k, &conf->settings, m->value, conf->arena);
}

static bool settings_ask(struct client *c, struct config *ret, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_SETTINGS};
    struct msg_done done;
    *ret = (struct config){.arena = arena_new()};
    settings_default(&ret->settings);
    if (client_query(c, &q, &meta_fields, ret->arena, setting_keep, ret, &done, ret_err))
        return true;
    config_done(ret);
    return false;
}

bool cluster_settings_read(const char *state_dir, struct client *c, struct config *ret,
                           struct err *ret_err)
{
    if (cluster_conf_read(state_dir, ret, ret_err))
        return true;
    if (ret_err->code != ERR_NOT_FOUND)
        return false;
    *ret_err = (struct err){0};
    struct client *own = c ? NULL : cluster_reach(state_dir, ret_err);
    bool ok = (c || own) && settings_ask(c ? c : own, ret, ret_err);
    client_close(own);
    return ok;
}

const char *cluster_name(const char *state_dir, struct arena *a)
{
    struct config conf;
    struct err err = {0};
    if (!cluster_settings_read(state_dir, NULL, &conf, &err))
        return "";
    const char *name = arena_strdup(a, conf.settings.cluster_name);
    config_done(&conf);
    return name;
}

bool node_is_here(const struct node *n, const char *hostname)
{
    if (n->is_virtual)
        return true;
    const char *host = n->hostname ? n->hostname : n->name;
    size_t len = strcspn(hostname, ".");
    return text_is(host, hostname) || (strlen(host) == len && strncmp(host, hostname, len) == 0) ||
           text_is(host, "localhost");
}
