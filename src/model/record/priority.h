/* What the priority of a job is made of, usage that counts for fair share, and weights of
 * resources. */
#ifndef REMUDA_MODEL_PRIORITY_H
#define REMUDA_MODEL_PRIORITY_H

#include "base/err.h"
#include "base/str.h"
#include "model/fields.h"

#define FACTOR_ONE (INT64_C(1) << 20) /* a factor of 1 in fixed point */

/* A waiting job in one of its partitions, as sprio shows it (rows of QUERY_PRIORITY). Parts of the
 * sum are whole numbers, already weighted; factors are in FACTOR_ONE-ths. */
// clang-format off
#define PRIORITY_FIELDS(X)                                                                         \
    X(U64, job_id, 0, "job")                                                                       \
    X(TEXT, partition, 0, "partition")                                                             \
    X(U32, user_id, 0, "owner")                                                                    \
    X(TEXT, user_name, 0, "name of the owner")                                                     \
    X(TEXT, account, 0, "account")                                                                 \
    X(TEXT, qos, 0, "quality of service")                                                          \
    X(U64, priority, 0, "the sum")                                                                 \
    X(BOOL, asked, 0, "set by an operator: the parts do not count")                                \
    X(I64, age, &range_any64, "for the time waited")                                               \
    X(I64, assoc, &range_any64, "for the account and user")                                        \
    X(I64, fairshare, &range_any64, "for little use in the past")                                  \
    X(I64, size, &range_any64, "for the size")                                                     \
    X(I64, part, &range_any64, "for the partition")                                                \
    X(I64, qos_part, &range_any64, "for the QOS")                                                  \
    X(I64, tres_sum, &range_any64, "for the resources asked for, all together")                    \
    X(TEXT, tres, 0, "for each resource: cpu=10,mem=3")                                            \
    X(I64, site, &range_any64, "set by the site (scontrol update SiteFactor=)")                    \
    X(I64, nice, &range_any64, "taken off")                                                        \
    X(I64, age_factor, &range_any64, "0 to 1, before the weight")                                  \
    X(I64, assoc_factor, &range_any64, "of the account")                                                         \
    X(I64, fairshare_factor, &range_any64, "of fair share")                                                     \
    X(I64, size_factor, &range_any64, "of the size")                                                          \
    X(I64, part_factor, &range_any64, "of the partition")                                                          \
    X(I64, qos_factor, &range_any64, "of the QOS")                                                           \
    X(TEXT, tres_factors, 0, "of each resource: cpu=0.25,mem=0.02")
// clang-format on

struct priority_row {
    PRIORITY_FIELDS(FIELD_MEMBER)
};
extern const struct fields priority_fields;

/* What a user used, in an account if one was given. Stored; the rest is worked out for sshare (rows
 * of QUERY_SHARES). */
// clang-format off
#define USAGE_FIELDS(X)                                                                            \
    X(TEXT, who, 0, "uid, or uid/account")                                                         \
    X(U32, user_id, 0, "user")                                                                     \
    X(TEXT, account, 0, "account; NULL = none")                                                    \
    X(TEXT, user_name, 0, "name of the user")                                                      \
    X(I64, usage, 0, "decayed use, in thousandths of billing units × seconds")                     \
    X(TIME, at_us, 0, "decayed until then")                                                        \
    X(TEXT, run_times, 0, "of the limits used last: seconds, and how long the last two jobs ran: 3600:130:125,86400:40") \
    X(I64, raw_shares, 0, "shares (computed)")                                                     \
    X(I64, norm_shares, 0, "of all, in 2^20ths (computed)")                                        \
    X(I64, norm_usage, 0, "of all use, in 2^20ths (computed)")                                     \
    X(I64, fairshare, 0, "the factor, in 2^20ths (computed)")
// clang-format on

struct usage {
    USAGE_FIELDS(FIELD_MEMBER)
};
extern const struct fields usage_fields;

/* What an association or a QOS used. Stored: of associations those that jobs run under; those above
 * them have the sum. */
// clang-format off
#define USE_FIELDS(X)                                                                              \
    X(TEXT, id, 0, "its key: assoc/12, qos/3")                                                     \
    X(TEXT, tres, 0, "decayed use: cpu=3600000,billing=… in thousandths × seconds, mem in MiB × seconds") \
    X(I64, wall_ms, 0, "decayed wall clock time of its runs, in milliseconds")                     \
    X(TIME, at_us, 0, "decayed until then")

/* An association in the tree of fair share, as sshare shows it (rows of QUERY_FAIR_SHARES, parents
 * before their children). Parts are in SHARE_ONE-ths. */
#define FAIR_SHARE_FIELDS(X)                                                                       \
    X(U32, assoc_id, 0, "the association")                                                         \
    X(TEXT, account, 0, "account")                                                                 \
    X(TEXT, user, 0, "user; NULL = the account itself")                                            \
    X(TEXT, partition, 0, "in this partition only")                                                \
    X(TEXT, parent, 0, "of an account: the account above it")                                      \
    X(U32, depth, 0, "0 = root")                                                                   \
    X(I64, shares, &range_any64, "raw shares; -1 = those of the parent")                           \
    X(I64, norm_shares, 0, "shares of those of its siblings; with NO_FAIR_TREE of all")            \
    X(I64, usage, 0, "decayed use, in thousandths of billing units × seconds")                     \
    X(I64, norm_usage, 0, "of all use")                                                            \
    X(I64, effective, 0, "of the use of its siblings; with NO_FAIR_TREE what counts by the shares") \
    X(I64, level_e6, &range_any64, "shares over effective use, in millionths; -1 = nothing was used; -2 = it has the shares of its parent") \
    X(I64, factor, &range_any64, "the factor of the priority; -1 = none: it is an account")                                     \
    X(TEXT, limits, 0, "GrpTRESMins: cpu=100,mem=2000")                                            \
    X(TEXT, used, 0, "used: cpu=5,mem=100, in resource × minutes")                                 \
    X(TEXT, promised, 0, "what running jobs may still use by their limits, the same way")
// clang-format on
#define SHARE_ONE INT64_C(1000000000000)

struct use_row {
    USE_FIELDS(FIELD_MEMBER)
};
struct fair_share {
    FAIR_SHARE_FIELDS(FIELD_MEMBER)
};
extern const struct fields use_fields, fair_share_fields;

/* ---- weights of resources ---- */

enum tres_kind { TRES_CPU, TRES_MEM, TRES_NODE, TRES_GRES };
#define TRES_WEIGHTS_MAX 16

struct tres_weight {
    enum tres_kind kind;
    char name[24]; /* TRES_GRES: kind of the resource ("gpu"), or kind:type */
    int64_t milli; /* thousandths */
    int64_t per;   /* TRES_MEM: MiB that weigh so much (1, 1024 for G, …) */
};

struct tres_weights {
    struct tres_weight v[TRES_WEIGHTS_MAX];
    size_t n; /* of `v` */
};

/* "CPU=1.0,Mem=0.25G,GRES/gpu=2,Node=…": numbers may be negative and have three decimals. */
bool tres_weights_parse(const char *text, struct tres_weights *ret, struct err *ret_err);

/* ---- powers ---- */

/* 2^(−part/whole) in 2^32nds, exact to a few of the last bits; part ≥ 0, whole > 0. */
uint64_t exp2_neg(int64_t part, int64_t whole);
/* value × factor / 2^32 without overflow. */
int64_t scale32(int64_t value, uint64_t factor);

#endif
