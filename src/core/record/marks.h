/* What the deeds of an event have marked to be done when they are over, and lists of jobs that wait
 * for others. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_MARKS_H
#define REMUDA_CORE_RECORD_MARKS_H

#include "base/map.h"
#include "base/vec.h"

/* ---- lists of jobs (id_list.c) -------------------------------------------------------------- */

/* In the order in which they came. One that goes leaves a 0 until there are many: most go as they
 * came, and the others are not moved for each. */
struct id_list {
    VEC(uint64_t) id; /* 0 = one that went */
    size_t from;      /* before it all went */
    size_t went;
};

/* Into the list of that key, which is made if there is none. */
void id_list_add(struct map_u64 *lists, uint64_t key, uint64_t id);
/* Nothing where it is not in there. Returns how many of the list were looked at. */
size_t id_list_remove(struct id_list *list, uint64_t id);
void id_list_remove_at(struct id_list *list, size_t i); /* that which is there, if any */
/* Those that went leave no 0 any more. */
void id_list_pack(struct id_list *list);
/* How many it has. */
static inline size_t id_list_count(const struct id_list *list)
{
    return list->id.n - list->went;
}
void id_list_free(struct id_list *list); /* NULL does nothing */

/* Live jobs of one user and name, which a singleton job watches (records.c). Until all jobs have
 * been looked at, nobody of that name is free. */
struct namesakes {
    struct id_list list;
    bool known;           /* all were looked at */
    struct map_walk walk; /* until then: how far */
    uint32_t user_id;
    char *name;
};

/* ---- marks (marks.c, settle.c) -------------------------------------------------------------- */

/* How far those are that look (life/depend.c). */
struct waking {
    size_t next;     /* in marks.woken: whose turn it is */
    uint64_t job_id; /* … and its number, once it has begun; 0 = it has not */
    int lists;       /* of those that wait for it have looked */
    uint64_t key;    /* whose list looks now; 0 = none does */
    size_t at, end;  /* in that one */
};

/* An array of whose elements those are let go whose counterparts have been there. */
struct pairing {
    uint64_t job_id;
    uint32_t next; /* indexes below it have been looked at */
};

struct marks {
    VEC(uint64_t) woken; /* jobs that began or ended: who depends on them looks */
    struct waking waking;
    VEC(uint64_t) never;      /* jobs to be cancelled: what they depend on can never be */
    VEC(uint64_t) steps;      /* jobs whose waiting steps are tried */
    VEC(uint64_t) steps_left; /* … of which some are, and the others still to be */
    VEC(uint64_t) unsaved;    /* jobs to be stored */
    VEC(uint64_t) again;      /* jobs of scrontab that ran, and wait for their next time */
    VEC(struct pairing) pairs;
    VEC(struct namesakes *) looking; /* whose list is not known yet */
    bool pairs_look; /* some of them may go on: there is room for records, as far as is known */
};

#endif
