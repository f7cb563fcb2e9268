/* A token that is made and a host that joins with it, for stories of hosts. */
#ifndef REMUDA_TESTS_CORE_HOST_HELP_H
#define REMUDA_TESTS_CORE_HOST_HELP_H

#include "core_help.h"

static inline struct token a_token(const char *id)
{
    return (struct token){.id = id, .secret_hash = "5ecre7", .kind = HOST_TRUSTED};
}

static inline void make(struct token t)
{
    say(1, MSG_MAKE_TOKEN,
        &(struct msg_make_token){.token = {.v = &t, .n = 1}, .text = "the token"});
}

static inline struct host a_host(const char *id, const char *node)
{
    return (struct host){.id = id, .name = id, .nodes = node, .token = "t1"};
}

static inline void join_with(struct host h, const char *hash)
{
    struct peer before = w.peer;
    w.peer = (struct peer){.uid = UINT32_MAX, .gid = UINT32_MAX, .host = "10.0.0.2"};
    say(2, MSG_JOIN, &(struct msg_join){.text = hash, .host = {.v = &h, .n = 1}});
    w.peer = before;
}

static inline void join(struct host h)
{
    join_with(h, "5ecre7");
}

static inline void refused(const char *words)
{
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    if (!strstr(answer()->detail, words))
        fail_msg("\"%s\" does not say \"%s\"", answer()->detail, words);
}

#endif
