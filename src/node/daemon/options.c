/* The command line of the node daemon, and --print-config. */
#include "base/str.h"
#include "model/grammar/gres.h"
#include "node/daemon/daemon.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool value_take(int argc, char **argv, int *i, const char *name, const char **ret,
                       struct err *ret_err)
{
    size_t len = strlen(name);
    if (strncmp(argv[*i], name, len) != 0 || (argv[*i][len] != '\0' && argv[*i][len] != '='))
        return false;
    if (argv[*i][len] == '=')
        *ret = argv[*i] + len + 1;
    else if (*i + 1 < argc)
        *ret = argv[++*i];
    else
        err_set(ret_err, ERR_INVALID, "%s needs a value", name);
    return true;
}

bool node_options_read(int argc, char **argv, struct node_options *o, struct err *ret_err)
{
    for (int i = 1; i < argc && !ret_err->code; i++) {
        if (value_take(argc, argv, &i, "--state", &o->state_dir, ret_err) ||
            value_take(argc, argv, &i, "--name", &o->name, ret_err))
            continue;
        if (text_is(argv[i], "--virtual"))
            o->is_virtual = true;
        else if (text_is(argv[i], "--foreground"))
            o->foreground = true;
        else if (text_is(argv[i], "--verbose"))
            o->verbose = true;
        else if (text_is(argv[i], "--print-config"))
            o->print_config = true;
        else if (text_is(argv[i], "--watch-gpus"))
            o->watch_gpus = true;
        else if (text_is(argv[i], "--find"))
            o->find = true;
        else
            err_set(ret_err, ERR_INVALID, "unknown word \"%s\"", argv[i]);
    }
    if (ret_err->code || o->print_config || o->watch_gpus)
        return !ret_err->code;
    if (!o->state_dir)
        return err_set(ret_err, ERR_INVALID,
                       "--state DIR is missing: the state directory of the cluster");
    if (!o->name || !*o->name || strchr(o->name, '/') || o->name[0] == '.')
        return err_set(ret_err, ERR_INVALID,
                       "--name NAME is missing: the node's name in remuda.conf");
    return true;
}

/* A line for each device: what is known of it, as a comment that a configuration may keep. */
static void devices_print(const struct machine *m, struct arena *a)
{
    struct device_list list = {0};
    if (m->devices)
        devices_parse(m->devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        const struct device *d = &list.v[i];
        printf("# %s %d: %s", d->kind, d->index, d->type ? d->type : "of no type");
        if (d->mem_mib)
            printf(", %lld MiB", (long long)d->mem_mib);
        if (d->uuid)
            printf(", %s", d->uuid);
        if (d->pci)
            printf(", PCI %s", d->pci);
        if (d->numa)
            printf(", NUMA node %s", d->numa);
        if (d->cpus)
            printf(", near CPUs %s", d->cpus);
        if (d->links)
            printf(", linked with %s", d->links);
        putchar('\n');
    }
}

const char *node_gres_conf(const struct node_options *o, struct arena *a)
{
    return o->state_dir ? arena_printf(a, "%s/gres.conf", o->state_dir) : NULL;
}

int node_config_print(const struct node_options *o)
{
    struct arena *a = arena_new();
    struct machine m;
    struct str line = STR_INIT;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    machine_discover(
        &m,
        &(struct machine_ask){.gres_conf = node_gres_conf(o, a), .node = o->name ? o->name : host},
        a);
    machine_config_line(&m, &line);
    puts(str_text(&line));
    devices_print(&m, a);
    if (m.device_search)
        printf("# no GPUs: %s\n", m.device_search);
    if (m.remarks)
        fprintf(stderr, "remudad node: %s\n", m.remarks);
    if (m.device_trouble)
        fprintf(stderr, "remudad node: %s\n", m.device_trouble);
    if (m.error)
        fprintf(stderr, "remudad node: %s\n", m.error);
    int status = m.error ? 1 : 0;
    str_done(&line);
    arena_free(a);
    return status;
}
