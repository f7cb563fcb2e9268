/* AllocNodes= of a partition: the hosts from which jobs may be submitted to it. */
#include "base/list.h"
#include "core/request/request.h"

#include <string.h>

/* A host is named as in the list, or by its short name. */
static bool host_listed(const char *list, const char *host)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = false;
    size_t shorter = strcspn(host, ".");
    if (hostlist_parse(&names, list, NULL))
        for (size_t i = 0; i < names.n && !found; i++)
            found = text_is(names.name[i], host) || (strlen(names.name[i]) == shorter &&
                                                     strncmp(names.name[i], host, shorter) == 0);
    hostlist_done(&names);
    return found;
}

const char *partitions_once(const struct core *c, const char *partitions)
{
    /* Whose limits hold there is asked by the names as they stand in the list. */
    bool blanks = partitions && strpbrk(partitions, " \t");
    return list_once(partitions, blanks ? 0 : c->part.n, c->turn.fx->arena);
}

enum refusal submit_host_check(const struct core *c, const char *partitions, struct str *why)
{
    struct span rest = span_of(partitions), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        for (size_t i = 0; i < c->part.n; i++) {
            const struct partition *p = &c->part.v[i]->p;
            if (!span_is(piece, p->name) || text_empty(p->alloc_nodes) ||
                text_is_nocase(p->alloc_nodes, "ALL") || !c->turn.peer->host)
                continue;
            bool listed = host_listed(p->alloc_nodes, c->turn.peer->host);
            if (listed && !c->turn.peer->host_unsure)
                continue;
            if (listed) {
                str_addf(why,
                         "jobs of partition %s are submitted from %s; this host called itself %s "
                         "when it joined, which proves nothing: an administrator may let it in by "
                         "that name, with `remuda token --name %s`",
                         p->name, p->alloc_nodes, c->turn.peer->host, c->turn.peer->host);
                return REFUSE_PARTITION_ACCESS;
            }
            str_addf(why, "jobs of partition %s are submitted from %s; this is %s", p->name,
                     p->alloc_nodes, c->turn.peer->host);
            return REFUSE_PARTITION_ACCESS;
        }
    }
    return REFUSE_NONE;
}
