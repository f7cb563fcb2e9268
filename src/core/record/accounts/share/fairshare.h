/* The tree of fair share while it is worked out. Only fairshare*.c include it. */
#ifndef REMUDA_CORE_RECORD_FAIRSHARE_H
#define REMUDA_CORE_RECORD_FAIRSHARE_H

#include "base/merge.h"
#include "core/record/accounts/accounts.h"

__extension__ typedef __int128 wide;

struct fs_node {
    struct assocrec *r;
    uint32_t parent; /* place in the table */
    uint32_t above;  /* the nearest one with shares of its own: whose shares it gets a part of */
    uint32_t child, nchildren; /* places in the list of children */
    uint32_t depth;            /* root has 0 */
    int64_t shares;            /* SHARES_PARENT = those of the parent */
    int64_t use;               /* decayed, of it and all below */
    int64_t level_shares;      /* of those that get a part of its shares, together */
    wide level;                /* in 2^32nds */
    int64_t norm_shares, norm_usage, effective, level_e6, factor;
};

struct fs_table {
    struct fs_node *v; /* parents first, in the order in which they are shown */
    size_t n, users;   /* of `v`; of these, users */
    uint32_t *child;   /* numbers in `v`, siblings together */
    size_t listed;     /* places of `child` that are given to a parent */
    bool tree;
};

/* An association and who was above it when it was looked at: those that are moved while others are
 * still looked at stay where they were. Records stay in memory as long as the machine. */
struct fs_item {
    struct assocrec *r; /* an association that is there */
    uint32_t up;        /* 0 = none */
};

struct fs_opened {
    size_t item;
    uint32_t parent; /* its number in `v` */
};

struct rank_key {
    wide level;
    bool is_account;
    uint32_t place;
};
typedef VEC(struct rank_key) rank_list;

/* Siblings that are being ranked. */
struct fs_frame {
    rank_list group; /* siblings, best first once sorted */
    struct merge_sort sort;
    size_t at; /* the next of them */
    bool equal;
};

enum fs_stage { FS_TREE, FS_LEVELS, FS_RANKS };
enum fs_tree_stage { FS_GATHER, FS_SORT, FS_PLACE, FS_PLACED };

struct fs_work {
    const struct core *c;
    struct fs_table t; /* the tree as it is worked out */
    enum fs_stage stage;
    enum fs_tree_stage tree_stage;
    struct map_walk walk;
    VEC(struct fs_item) all;     /* every association, in any order */
    struct merge_sort sort;      /* of `all`, a part at a time */
    VEC(struct fs_opened) open;  /* whose children come next */
    size_t at;                   /* of the table */
    VEC(struct fs_frame) frames; /* the walk, from the root down */
    size_t left, shared;
};

/* ---- fairshare.c ---------------------------------------------------------------------------- */
void shares_begin(struct fs_work *w, const struct core *c);
/* Looks at *most associations at most, some of them several times, and takes them off it; true: the
 * table is there. */
bool shares_go(struct fs_work *w, size_t *most);
void shares_done(struct fs_work *w); /* Wherever the walk stands; not `w`. */

/* ---- fairshare_tree.c ----------------------------------------------------------------------- */
/* Who stands where; true: all do. */
bool shares_tree_go(struct fs_work *w, size_t *most);
void shares_tree_done(struct fs_work *w); /* the tree alone, so that another may be made */

#endif
