/* Which table each page of a damaged file belongs to, as far as its trees and its list of free
 * pages still say. */
#ifndef REMUDA_STORE_FILE_OWNERS_H
#define REMUDA_STORE_FILE_OWNERS_H

#include "store/file/pages.h"
#include "store/file/shape.h"

/* What is known of a page: a table's number, or */
enum {
    OWNER_NONE = 255,      /* no tree leads to it */
    OWNER_OTHER = 254,     /* of a tree that has no rows of ours */
    OWNER_JOB_INDEX = 253, /* of an index of jobs */
    OWNER_FREE = 252       /* the file has it to give: what stood on it is deleted */
};

struct page_owners {
    uint8_t *of; /* by page number */
    struct shape shape[STORE_TABLE_COUNT];
    bool found[STORE_TABLE_COUNT]; /* where its tree begins is known */
    bool torn[STORE_TABLE_COUNT];  /* a page of it may have no owner, or a wrong one */
    bool free_known;               /* all free pages are known to be */
    uint32_t unreadable;           /* pages that the disk did not give */
};

/* Looks at each page of the file; *ret is the caller's: page_owners_done. Never fails: what cannot
 * be read has no owner. */
void page_owners_find(struct pages *p, struct page_owners *ret);
/* Frees what the table has, not itself. */
void page_owners_done(struct page_owners *o);

#endif
