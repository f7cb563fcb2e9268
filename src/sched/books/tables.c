/* What the cluster's tables hold under a name. Nothing here changes what a caller can see: a
 * dimension or a share that nobody has named before is an empty one. */
#include "sched/books/tables.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"
#include "model/record/priority.h"
#include "sched/books/resv.h"

#include <string.h>

uint32_t cluster_dim(struct cluster *cl, const char *kind, const char *type)
{
    struct str label = STR_INIT;
    str_add(&label, kind);
    if (!text_empty(type))
        str_addf(&label, ":%s", type);
    uintptr_t found = (uintptr_t)map_str_get(cl->dim.by_label, str_text(&label));
    if (!found) {
        struct dim d = {.kind = xstrdup(kind), .type = text_empty(type) ? NULL : xstrdup(type)};
        d.label = xstrdup(str_text(&label));
        d.is_gpu = strcmp(kind, "gpu") == 0;
        vec_push(&cl->dim, d);
        found = cl->dim.n;
        map_str_put(cl->dim.by_label, d.label, (void *)found);
        cl->derived.stale = true;
    }
    str_done(&label);
    return (uint32_t)(found - 1);
}

struct snode *cluster_node(const struct cluster *cl, const char *name)
{
    return map_str_get(cl->node.by_name, name);
}

struct spart *cluster_part(const struct cluster *cl, const char *name)
{
    return map_str_get(cl->part.by_name, name);
}

ptrdiff_t cluster_licence(const struct cluster *cl, const char *name)
{
    for (size_t i = 0; i < cl->lic.named.n; i++)
        if (strcmp(cl->lic.v[cl->lic.named.v[i]].name, name) == 0)
            return (ptrdiff_t)cl->lic.named.v[i];
    return -1;
}

struct sresv *cluster_resv(const struct cluster *cl, const char *name)
{
    for (size_t i = 0; i < cl->resv.n; i++)
        if (cl->resv.v[i] && text_is(cl->resv.v[i]->r.name, name))
            return cl->resv.v[i];
    return NULL;
}

static void share_key(char *key, size_t size, uint32_t uid, const char *account)
{
    struct str s = STR_INIT;
    str_add_u64(&s, uid);
    if (account)
        str_addc(&s, '/');
    str_add(&s, account);
    memcpy(key, str_text(&s), s.len < size ? s.len + 1 : size);
    key[size - 1] = '\0';
    str_done(&s);
}

static struct share *share_at(struct cluster *cl, const char *key)
{
    struct share *s = map_str_get(cl->share_of, key);
    if (!s) {
        s = xcalloc(1, sizeof *s);
        s->factor = FACTOR_ONE; /* who used nothing */
        map_str_put(cl->share_of, key, s);
    }
    return s;
}

struct share *cluster_share(struct cluster *cl, uint32_t uid, const char *account)
{
    char key[256];
    share_key(key, sizeof key, uid, text_empty(account) ? NULL : account);
    return share_at(cl, key);
}

/* No uid begins with a sign. */
struct share *cluster_assoc_share(struct cluster *cl, uint32_t assoc)
{
    struct str key = STR_INIT;
    str_addf(&key, "#%u", assoc);
    struct share *s = share_at(cl, str_text(&key));
    str_done(&key);
    return s;
}

char *node_key(const struct cluster *cl, const struct node *n)
{
    struct str key = STR_INIT;
    str_addf(&key, "%d/%d/%d/%d/%lld/%lld/%d/%lld/%d/%d", n->cpus, n->sockets, n->cores_per_socket,
             n->threads_per_core, (long long)n->memory_mib, (long long)n->memory_spec_mib,
             n->core_spec, (long long)n->tmp_disk_mib, n->weight, cl->policy.by_thread);
    str_addf(&key, "|%s|%s|", n->features ? n->features : "", n->gres ? n->gres : "");
    struct arena *a = arena_new();
    struct device_list devices = {0};
    if (!text_empty(n->devices) && devices_parse(n->devices, a, &devices, NULL))
        for (size_t i = 0; i < devices.n; i++) /* all but the uuid, which differs on each node */
            str_addf(&key, "%s:%s:%d:%lld:%s:%s;", devices.v[i].kind,
                     devices.v[i].type ? devices.v[i].type : "", devices.v[i].index,
                     (long long)devices.v[i].mem_mib, devices.v[i].cpus ? devices.v[i].cpus : "",
                     devices.v[i].links ? devices.v[i].links : "");
    arena_free(a);
    return str_take(&key);
}

struct use_mode request_mode(const struct job_request *req, const struct partition *p)
{
    struct use_mode m = {0};
    int32_t count = p->share_count > 0 ? p->share_count : 4;
    m.whole = req->exclusive == EXCLUSIVE_NODE || req->exclusive == EXCLUSIVE_TOPO ||
              p->share == SHARE_EXCLUSIVE || req->core_spec > 0;
    m.user_only = !m.whole && (req->exclusive == EXCLUSIVE_USER ||
                               req->exclusive == EXCLUSIVE_MCS || p->exclusive_user);
    if (p->share == SHARE_FORCE) {
        m.whole = false;
        m.share = count > 1 ? count : 0;
    } else if (p->share == SHARE_YES && req->oversubscribe && !m.whole) {
        m.share = count;
    }
    return m;
}
