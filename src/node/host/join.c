/* `remudad join` and `remudad leave`: the network's part of `remuda join` and `remuda leave`.
 *
 * The key is made here and stays here; the token proves the host to the controller, and the hash in
 * it proves the controller to the host, before anything is said.
 *
 * The key is on the disk before it is sent, with the name of its token: a join that was let in
 * there and cut off here, wherever, is done again with the same two, and gets the same answer. With
 * another token the key is another: the former one may be known to somebody. */
#include "node/host/host_file.h"

#include "base/alloc.h"
#include "io/build.h"
#include "io/files.h"
#include "io/net/cert.h"
#include "io/process/daemon.h"
#include "model/protocol.h"
#include "node/hardware/machine.h"
#include "node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_AGAIN_S   3
#define TOKEN_MAX_BYTES 512
#define KEY_MAX_BYTES   (64u << 10)
#define JOINING_KEY     "tls/joining.key"

struct join_options {
    const char *state_dir, *controller, *token, *name;
    bool until_told;
};

static bool value_take(int argc, char **argv, int *i, const char *name, const char **ret)
{
    size_t len = strlen(name);
    if (strncmp(argv[*i], name, len) != 0)
        return false;
    if (argv[*i][len] == '=')
        *ret = argv[*i] + len + 1;
    else if (argv[*i][len] == '\0' && *i + 1 < argc)
        *ret = argv[++*i];
    else
        return false;
    return true;
}

static bool options_read(int argc, char **argv, struct join_options *o, struct err *ret_err)
{
    for (int i = 1; i < argc; i++) {
        if (value_take(argc, argv, &i, "--state", &o->state_dir) ||
            value_take(argc, argv, &i, "--name", &o->name))
            continue;
        if (text_is(argv[i], "--until-told")) {
            o->until_told = true;
            continue;
        }
        if (argv[i][0] == '-' || o->controller)
            return err_set(ret_err, ERR_INVALID, "unknown word \"%s\"", argv[i]);
        o->controller = argv[i];
    }
    return o->state_dir ? true : err_set(ret_err, ERR_INVALID, "--state DIR is missing");
}

/* The input is the token: words of the command line are everybody's to read. */
static bool token_read(struct join_options *o, struct arena *a, struct err *ret_err)
{
    char line[TOKEN_MAX_BYTES];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, " \t\r\n")] = '\0';
    o->token = arena_strdup(a, line);
    explicit_bzero(line, sizeof line);
    return text_empty(o->token)
               ? err_set(ret_err, ERR_INVALID, "the token is expected on the input")
               : true;
}

/* The last part of the token: the hash of the authority. */
static const char *authority_of(const char *token, struct err *ret_err)
{
    const char *dot = strrchr(token, '.');
    if (text_starts(token, "remuda1.") && dot && strlen(dot + 1) == CERT_HASH_TEXT - 1)
        return dot + 1;
    err_set(ret_err, ERR_INVALID,
            "\"%.10s…\" is no whole token; `remuda token` on the controller's host prints one",
            token);
    return NULL;
}

/* Its first line is the token's name, and the key what follows. */
static const char *joining_key(const struct join_options *o, struct arena *a,
                               const char **ret_public, struct err *ret_err)
{
    struct span rest = span_of(o->token), id = {0};
    const char *path = arena_printf(a, "%s/" JOINING_KEY, o->state_dir);
    const char *had = file_read_text(path, KEY_MAX_BYTES, a, NULL);
    span_next(&rest, '.', &id);
    span_next(&rest, '.', &id);
    const char *head = arena_printf(a, "%.*s\n", (int)id.len, id.data);
    const char *key = had && text_starts(had, head) ? had + strlen(head) : NULL;
    if (key && (*ret_public = cert_key_public(key, a, NULL)))
        return key;
    key = cert_key_new(a, ret_err);
    *ret_public = key ? cert_key_public(key, a, ret_err) : NULL;
    const char *text = *ret_public ? arena_printf(a, "%s%s", head, key) : NULL;
    bool kept = text && dir_make(arena_printf(a, "%s/tls", o->state_dir), 0700, ret_err) &&
                file_write_atomic(path, text, strlen(text), 0600, ret_err);
    return kept ? key : NULL;
}

static const char *own_line(const struct join_options *o, struct arena *a, const char **ret_name)
{
    struct machine m;
    struct str line = STR_INIT;
    machine_discover(&m, &(struct machine_ask){0}, a);
    if (o->name)
        m.hostname = o->name;
    m.gres = NULL; /* GPUs are as the node's daemon finds them, until somebody demands some */
    machine_config_line(&m, &line);
    *ret_name = m.hostname;
    const char *text = arena_strdup(a, str_text(&line));
    str_done(&line);
    return text;
}

static bool join(const struct join_options *o, struct arena *a, struct err *ret_err)
{
    char hostname[256] = "host";
    struct host self = {.uid = geteuid()};
    struct message answer = {.kind = MESSAGE_COUNT};
    gethostname(hostname, sizeof hostname - 1);
    self.name = hostname;
    const char *hash = authority_of(o->token, ret_err);
    const char *public_key = NULL, *key = hash ? joining_key(o, a, &public_key, ret_err) : NULL;
    struct tls_context *tls = key ? tls_context_joining(hash, ret_err) : NULL;
    if (!tls)
        return false;
    struct msg_join ask = {.text = o->token,
                           .public_key = public_key,
                           .host = {.v = &self, .n = 1},
                           .protocol = PROTOCOL_NOW,
                           .protocol_oldest = PROTOCOL_OLDEST,
                           .version = build_name()};
    ask.config = own_line(o, a, &self.nodes);
    bool ok =
        host_call(o->controller, tls, &(struct message){.kind = MSG_JOIN, .seq = 1, .body = &ask},
                  a, &answer, ret_err);
    tls_context_free(tls);
    if (!ok && ret_err->code == ERR_UNAVAILABLE && answer.kind != MSG_DONE) {
        const struct err why = *ret_err;
        err_set(ret_err, ERR_UNAVAILABLE,
                "%s. Is it the host of the controller, has `remuda token` been run there, and is "
                "no firewall "
                "between?",
                why.text);
    }
    if (!ok)
        return false;
    const struct msg_joined *j = answer.body;
    if (answer.kind != MSG_JOINED || j->host.n != 1 || !j->cert || !j->authority)
        return err_set(ret_err, ERR_INTERNAL, "the controller's answer to a join is another");
    const struct host *h = j->host.v;
    struct host_file file = {.controller = o->controller,
                             .id = h->id,
                             .cluster = j->cluster_name,
                             .role = host_role_names.name[h->role],
                             .node = h->role == ROLE_NODE ? h->nodes : NULL,
                             .key = key,
                             .cert = j->cert,
                             .authority = j->authority};
    if (!host_file_write(o->state_dir, &file, ret_err)) {
        const struct err why = *ret_err;
        return err_set(ret_err, why.code,
                       "%s. The cluster has let this machine in: the same command, with the same "
                       "token, finishes it",
                       why.text);
    }
    remove(arena_printf(a, "%s/" JOINING_KEY, o->state_dir));
    const char *kind = host_kind_names.name[host_kind_of(h)];
    printf("Joined cluster \"%s\" as %s host%s%s%s %s%s%s\n",
           j->cluster_name ? j->cluster_name : "", file.role, text_is(kind, file.role) ? "" : " (",
           text_is(kind, file.role) ? "" : kind, text_is(kind, file.role) ? "" : ")", h->id,
           file.node ? ", node " : "", file.node ? file.node : "");
    if (!text_empty(j->fault))
        fprintf(
            stderr,
            "remuda join: warning: node %s is not there yet: on the controller's host, %s. Once "
            "that is mended, `scontrol reconfigure` there makes it\n",
            file.node ? file.node : "", j->fault);
    return true;
}

/* Of a leave that was cut off. */
static bool key_is_gone(const struct host_file *file, struct err *ret_err)
{
    *ret_err = (struct err){0};
    printf("The key of this host is gone, and nothing can be told to the controller at %s. If it "
           "lists host %s still, `remuda hosts remove %s` there takes it out.\n",
           file->controller, file->id, file->id);
    return true;
}

/* The other way round: there is a host.conf as long as anything is to be done. */

static bool leave(const struct join_options *o, struct arena *a, struct err *ret_err)
{
    struct host_file file = {0};
    struct message answer = {.kind = MESSAGE_COUNT};
    struct msg_expel ask = {0};
    if (!host_file_read(o->state_dir, a, &file, ret_err))
        return file.id && file.controller && ret_err->code == ERR_NOT_FOUND &&
               key_is_gone(&file, ret_err);
    struct tls_context *tls = tls_context_client(file.authority, file.cert, file.key, ret_err);
    if (!tls)
        return false;
    bool ok = host_call(file.controller, tls,
                        &(struct message){.kind = MSG_EXPEL, .seq = 1, .body = &ask}, a, &answer,
                        ret_err);
    tls_context_free(tls);
    const struct msg_done *done = answer.body;
    if (ok && answer.kind == MSG_DONE && !text_empty(done->detail))
        fprintf(stderr, "remuda leave: warning: %s\n", done->detail);
    if (ok || answer.kind != MSG_DONE || ret_err->code != ERR_DENIED)
        return ok;
    printf("The controller at %s has shut this host out already.\n", file.controller);
    *ret_err = (struct err){0};
    return true;
}

static void host_files_remove(const char *state_dir, struct arena *a)
{
    static const char *const files[] = {"tls/host.key", "tls/host.crt", "tls/authority.crt",
                                        JOINING_KEY,    "tls",          "leaving",
                                        "host.conf"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        remove(arena_printf(a, "%s/%s", state_dir, files[i]));
}

/* The controller was away: goes on telling it, beside everything else, until it has heard; then
 * nothing is left of the host here. One that was shut out meanwhile has no more to tell. */
static bool leave_later(const struct join_options *o, struct arena *a, struct err *ret_err)
{
    struct pid_file pid_file = {.fd = -1};
    int ready = -1;
    if (!daemon_detach(&ready, ret_err) ||
        !pid_file_lock(&pid_file, arena_printf(a, "%s/leave.pid", o->state_dir), ret_err))
        return false;
    daemon_ready(ready);
    for (;;) {
        struct arena *once = arena_new();
        struct err err = {0};
        bool over = leave(o, once, &err) || err.code == ERR_DENIED || err.code == ERR_NOT_FOUND;
        arena_free(once);
        if (over)
            break;
        sleep(LEAVE_AGAIN_S);
    }
    host_files_remove(o->state_dir, a);
    pid_file_drop(&pid_file);
    return true;
}

static int failed(const char *word, const struct err *err)
{
    fprintf(stderr, "remuda %s: error: %s\n", word, err->text);
    return 1;
}

int join_main(int argc, char **argv)
{
    struct join_options o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    bool ok = options_read(argc, argv, &o, &err);
    if (ok && !o.controller)
        ok = err_set(&err, ERR_INVALID, "Usage: remudad join --state DIR HOST[:PORT] <TOKEN");
    ok = ok && token_read(&o, a, &err) && join(&o, a, &err);
    arena_free(a);
    return ok ? 0 : failed("join", &err);
}

int leave_main(int argc, char **argv)
{
    struct join_options o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    bool ok =
        options_read(argc, argv, &o, &err) && (o.until_told ? leave_later : leave)(&o, a, &err);
    arena_free(a);
    return ok ? 0 : failed("leave", &err);
}
