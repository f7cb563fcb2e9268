/* Other machines of a cluster: the tokens that let them in, and those that are in. */
#ifndef REMUDA_MODEL_HOST_H
#define REMUDA_MODEL_HOST_H

#include "model/fields.h"

enum host_role {
    ROLE_NODE,  /* runs jobs; its users may submit too */
    ROLE_LOGIN, /* its users submit; it runs nothing */
};
extern const struct enum_names host_role_names;

/* A token is shown as "remuda1.ID.SECRET.HASH-OF-THE-AUTHORITY"; of the secret only a hash is kept. */
// clang-format off
#define TOKEN_FIELDS(X)                                                                         \
    X(TEXT, id, 0, "its name; no secret")                                                       \
    X(TEXT, secret_hash, 0, "SHA-256 of its secret")                                            \
    X(ENUM, role, &host_role_names, "what a host that joins with it becomes")                   \
    X(BOOL, trusted, 0, "a host whose root joins with it vouches for all its users")            \
    X(I32, uses_left, 0, "hosts that may still join with it")                                   \
    X(TIME, expires_us, 0, "good until")                                                        \
    X(TIME, created_us, 0, "made at")                                                           \
    X(TEXT, created_by, 0, "made by")
// clang-format on
struct token {
    TOKEN_FIELDS(FIELD_MEMBER)
};
extern const struct fields token_fields;

// clang-format off
#define HOST_FIELDS(X)                                                                          \
    X(TEXT, id, 0, "its name in certificates")                                                  \
    X(TEXT, name, 0, "host name, as it called itself")                                          \
    X(ENUM, role, &host_role_names, "node or login")                                            \
    X(BOOL, trusted, 0, "vouches for all its users; else for `uid` alone")                      \
    X(U32, uid, 0, "who joined it; its daemons run as that user")                               \
    X(TEXT, nodes, 0, "nodes its daemons may speak for, folded")                                \
    X(TEXT, address, 0, "where it joined from")                                                 \
    X(TEXT, token, 0, "token it joined with")                                                   \
    X(TIME, joined_us, 0, "when")
// clang-format on
struct host {
    HOST_FIELDS(FIELD_MEMBER)
};
extern const struct fields host_fields;

#endif
