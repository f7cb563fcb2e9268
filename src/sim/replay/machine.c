#include "sim/replay/machine.h"

#include "base/alloc.h"
#include "sim/replay/table.h"

#include <stdlib.h>
#include <string.h>

#define GPUS_MAX 1024

struct machine_columns {
    size_t name, cpu, memory, gpu, model;
};

static bool columns_find(const struct text_table *t, struct machine_columns *c, struct err *ret_err)
{
    *c = (struct machine_columns){table_column(t, "name|sn"), table_column(t, "cpu_milli"),
                                  table_column(t, "memory_mib"), table_column(t, "gpu"),
                                  table_column(t, "model")};
    if (c->name != NO_COLUMN && c->cpu != NO_COLUMN && c->memory != NO_COLUMN &&
        c->gpu != NO_COLUMN)
        return true;
    return err_set(
        ret_err, ERR_INVALID,
        "the first line of a table of nodes names the columns name, cpu_milli, memory_mib, gpu "
        "and, if you like, model");
}

static bool node_read(const struct text_table *t, size_t row, const struct machine_columns *c,
                      struct machine_table *ret, struct err *ret_err)
{
    ASSERT(row < t->rows);
    struct machine_node n = {0};
    int64_t gpus;
    const char *name = table_cell(t, row, c->name), *model = table_cell(t, row, c->model);
    if (!table_number(t, row, c->cpu, &n.cpu_milli, ret_err) ||
        !table_number(t, row, c->memory, &n.memory_mib, ret_err) ||
        !table_number(t, row, c->gpu, &gpus, ret_err))
        return false;
    if (*name == '\0' || n.cpu_milli < 1000 || gpus > GPUS_MAX)
        return err_set(ret_err, ERR_INVALID,
                       "line %zu: a node has a name, 1000 cpu_milli at least and %d gpus at most",
                       t->line.v[row], GPUS_MAX);
    n.gpus = (int32_t)gpus;
    n.name = xstrdup(name);
    n.model = *model ? xstrdup(model) : NULL;
    vec_push(&ret->node, n);
    return true;
}

bool machine_read(const char *path, struct machine_table *ret, struct err *ret_err)
{
    struct text_table t;
    struct machine_columns c;
    *ret = (struct machine_table){0};
    if (!table_read(path, ',', &t, ret_err))
        return false;
    bool ok = columns_find(&t, &c, ret_err);
    for (size_t row = 0; ok && row < t.rows; row++)
        ok = node_read(&t, row, &c, ret, ret_err);
    if (ok && ret->node.n == 0)
        ok = err_set(ret_err, ERR_INVALID, "no node is in it");
    if (!ok) {
        err_prefix(ret_err, "%s", path);
        machine_done(ret);
    }
    table_done(&t);
    return ok;
}

void machine_done(struct machine_table *t)
{
    for (size_t i = 0; i < t->node.n; i++) {
        free(t->node.v[i].name);
        free(t->node.v[i].model);
    }
    vec_done(&t->node);
}

void machine_config(const struct machine_table *t, struct str *out)
{
    for (size_t i = 0; i < t->node.n; i++) {
        const struct machine_node *n = &t->node.v[i];
        str_addf(out, "NodeName=%s CPUs=%lld RealMemory=%lld", n->name,
                 (long long)(n->cpu_milli / 1000), (long long)(n->memory_mib ? n->memory_mib : 1));
        if (n->gpus > 0)
            str_addf(out, " Gres=gpu:%s%s%d", n->model ? n->model : "", n->model ? ":" : "",
                     n->gpus);
        str_addc(out, '\n');
    }
}
