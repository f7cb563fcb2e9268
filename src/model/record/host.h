/* Other machines of a cluster: the tokens that let them in, and those that are in. */
#ifndef REMUDA_MODEL_HOST_H
#define REMUDA_MODEL_HOST_H

#include "model/fields.h"

enum host_role {
    ROLE_NODE,  /* runs jobs; its users may submit too */
    ROLE_LOGIN, /* its users submit; it runs nothing */
};
extern const struct enum_names host_role_names;

/* How far a host is believed: decided with the token, by who makes it. What a host says of itself
 * decides nothing. */
enum host_kind { HOST_KIND_UNSET, HOST_UNTRUSTED, HOST_LOGIN, HOST_TRUSTED, HOST_KINDS };
extern const struct enum_names host_kind_names;

/* For which users of its machine a host speaks. */
enum host_speaks {
    SPEAKS_FOR_ONE,   /* for `uid` of its record */
    SPEAKS_FOR_USERS, /* for all but administrators */
    SPEAKS_FOR_ALL,   /* every user of its own */
};

struct host_kind_row {
    enum host_speaks speaks;
    unsigned sends; /* kinds of requests (enum who, message.h), a bit each */
    /* The group it names is taken as it is; else looked up by the controller. */
    bool groups;
    const char *vouches; /* in words, for lists */
};
extern const struct host_kind_row host_kinds[HOST_KINDS];

/* A token is shown as "remuda1.ID.SECRET.HASH-OF-THE-AUTHORITY"; of the secret only a hash is
 * kept. */
// clang-format off
#define TOKEN_FIELDS(X)                                                                         \
    X(TEXT, id, 0, "its name; no secret")                                                       \
    X(TEXT, secret_hash, 0, "SHA-256 of its secret")                                            \
    X(ENUM, role, &host_role_names, "what a host that joins with it becomes")                   \
    X(BOOL, trusted, 0, "kind is trusted (for releases that know no kinds)")                    \
    X(I32, uses_left, 0, "hosts that may still join with it; 0: those that did may ask again")  \
    X(TIME, expires_us, 0, "good until")                                                        \
    X(TIME, created_us, 0, "made at")                                                           \
    X(TEXT, created_by, 0, "made by")                                                           \
    X(ENUM, kind, &host_kind_names, "how far the host is believed")                             \
    X(U32, uid, 0, "as whom a host that runs jobs, or speaks for one user, is joined")          \
    X(TEXT, user, 0, "untrusted: name of that user then; NULL = not known")                     \
    X(TEXT, name, 0, "what the host is called, whatever it calls itself; NULL = as it does")
// clang-format on
struct token {
    TOKEN_FIELDS(FIELD_MEMBER)
};
extern const struct fields token_fields;

// clang-format off
#define HOST_FIELDS(X)                                                                          \
    X(TEXT, id, 0, "its name in certificates")                                                  \
    X(TEXT, name, 0, "host name: its token's, or as it called itself")                          \
    X(ENUM, role, &host_role_names, "node or login")                                            \
    X(BOOL, trusted, 0, "kind is trusted (for releases that know no kinds)")                    \
    X(U32, uid, 0, "who joined it; an untrusted host speaks for this user alone")               \
    X(TEXT, user, 0, "untrusted: name of that user when the token was made; NULL = not known")  \
    X(TEXT, nodes, 0, "nodes its daemons may speak for, folded")                                \
    X(TEXT, address, 0, "where it joined from")                                                 \
    X(TEXT, token, 0, "token it joined with")                                                   \
    X(TIME, joined_us, 0, "when")                                                               \
    X(ENUM, kind, &host_kind_names, "how far it is believed")                                   \
    X(BOOL, named, 0, "its name is its token's")                                                \
    X(TEXT, key_hash, 0, "SHA-256 of the key it joined with")                                   \
    X(TEXT, line, 0, "of its node, which joined.conf lacks still; NULL = none")
// clang-format on
struct host {
    HOST_FIELDS(FIELD_MEMBER)
};
extern const struct fields host_fields;

/* A host of that kind may send requests that `who` (enum who, message.h) may make. */
bool host_may_send(enum host_kind kind, int who);
/* The kind of a host; one that joined under a release without kinds has what it had then. */
enum host_kind host_kind_of(const struct host *h);

#endif
