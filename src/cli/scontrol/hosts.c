/* scontrol show hostnames, hostlist and hostlistsorted, for which no controller is needed, and show
 * aliases; Nodes+= and Nodes-= of reservations and partitions. */
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/scontrol/scontrol.h"
#include "cli/submit/host.h"
#include "model/record/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hosts_found {
    struct arena *a;
    const char *host;
    VEC(const struct node *) node;
};

/* hostlist /PATH: the names are in a file, one a line or separated by commas. Any other text stays
 * as it is. */
static const char *list_of_file(struct scontrol *s, const char *list)
{
    struct str text = STR_INIT;
    char block[4096];
    size_t n;
    if (list[0] != '/')
        return list;
    FILE *from = fopen(list, "re");
    if (!from) {
        scontrol_fail(s, "%s: %s", list, strerror(errno));
        return NULL;
    }
    while ((n = fread(block, 1, sizeof block, from)) > 0)
        str_addn(&text, block, n);
    fclose(from);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n' || text.data[i] == '\r')
            text.data[i] = ' ';
    const char *names = arena_strdup(s->a, str_text(&text));
    str_done(&text);
    return names;
}

static void alias_add(void *ctx, const void *record)
{
    struct hosts_found *f = ctx;
    const struct node *n = record;
    if (text_is(f->host, n->hostname) || text_is(f->host, n->name))
        vec_push(&f->node, arena_dup(f->a, record, sizeof(struct node)));
}

/* Nodes of a machine: several where nodes are virtual. */
void scontrol_show_aliases(struct scontrol *s, const char *host)
{
    struct client *c = scontrol_connect(s, "slurm_load_node error");
    struct hosts_found f = {.a = s->a, .host = host ? host : submit_hostname(s->a)};
    struct msg_query q = {.what = QUERY_NODES, .fields = "name,hostname"};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return;
    if (!client_query(c, &q, &node_fields, s->a, alias_add, &f, &done, &err))
        scontrol_fail(s, "slurm_load_node error: %s", err.text);
    for (size_t i = 0; i < f.node.n; i++)
        printf("%s%s", i ? " " : "", f.node.v[i]->name);
    if (f.node.n)
        putchar('\n');
    else if (!err.code)
        scontrol_fail(s, "no node is on host %s", f.host);
    vec_done(&f.node);
}

void scontrol_show_hosts(struct scontrol *s, const char *kind, const char *list)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    struct str folded = STR_INIT;
    bool is_given = list != NULL; /* "" has no hosts, and is no mistake */
    if (!list)
        list =
            getenv("SLURM_JOB_NODELIST") ? getenv("SLURM_JOB_NODELIST") : getenv("SLURM_NODELIST");
    if (list && text_starts_nocase(kind, "hostlist"))
        list = list_of_file(s, list);
    if (is_given ? !list : text_empty(list)) {
        if (text_starts_nocase(kind, "hostlist"))
            fputs("invalid encode argument\n", stderr);
        scontrol_fail(s, "host list is empty");
        return;
    }
    if (!hostlist_parse(&names, list, &err)) {
        scontrol_fail(s, "Invalid hostlist: %s", list);
        fprintf(stderr, "scontrol: error: %s\n", err.text);
    } else if (text_starts_nocase(kind, "hostn")) {
        for (size_t i = 0; i < names.n; i++)
            puts(names.name[i]);
    } else {
        /* Sorted, not made unique: as Slurm's. */
        if (text_starts_nocase(kind, "hostlistsorted"))
            hostlist_sort(&names);
        hostlist_fold(&names, &folded);
        puts(str_text(&folded));
    }
    str_done(&folded);
    hostlist_done(&names);
}

bool scontrol_nodes_change(struct arena *a, const char *old, const char *more, char sign,
                           const char **ret, struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT, changed = HOSTLIST_INIT, to = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    if (text_is_nocase(more, "ALL")) {
        *ret = sign == '+' ? more : "";
        return true;
    }
    bool ok =
        hostlist_parse(&names, old ? old : "", ret_err) && hostlist_parse(&changed, more, ret_err);
    for (size_t i = 0; ok && i < names.n; i++)
        if (sign == '+' || !hostlist_has(&changed, names.name[i]))
            hostlist_add(&to, names.name[i]);
    for (size_t i = 0; ok && i < changed.n; i++)
        if (sign == '+')
            hostlist_add(&to, changed.name[i]);
        else if (!hostlist_has(&names, changed.name[i]))
            ok = err_set(ret_err, ERR_NOT_FOUND, "%s is not among %s", changed.name[i],
                         text_empty(old) ? "its nodes: it has none" : old);
    hostlist_uniq(&to);
    hostlist_sort(&to);
    hostlist_fold(&to, &folded);
    *ret = arena_strdup(a, str_text(&folded));
    str_done(&folded);
    hostlist_done(&to);
    hostlist_done(&changed);
    hostlist_done(&names);
    return ok;
}
