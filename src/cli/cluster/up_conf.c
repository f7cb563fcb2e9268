/* The configuration that `remuda up` writes: this machine as it is, or virtual nodes on it. */
#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cluster/up.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "io/files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* This machine as the node daemon finds it: its "NodeName=…" line, as slurmd -C would print. */
static bool machine_line(struct arena *a, const char **ret_line, struct err *ret_err)
{
    const char *program = program_sibling("remudad", a);
    FILE *from = popen(arena_printf(a, "'%s' node --print-config", program), "re");
    char line[8192];
    bool ok = from && fgets(line, sizeof line, from) && text_starts(line, "NodeName=");
    if (from && pclose(from) != 0)
        ok = false;
    if (!ok)
        return err_set(ret_err, ERR_INTERNAL,
                       "%s node --print-config did not describe this machine", program);
    line[strcspn(line, "\n")] = '\0';
    /* Its last word. GPUs are as the node's daemon finds them, until somebody demands some. */
    char *gres = strstr(line, " Gres=");
    if (gres)
        *gres = '\0';
    *ret_line = arena_strdup(a, line);
    return true;
}

/* Text after "Key=" in the line up to a blank; NULL if the key is absent. */
static const char *line_value(const char *line, const char *key, struct arena *a)
{
    const char *at = strstr(line, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return arena_strndup(a, at, strcspn(at, " "));
}

static bool node_lines(const struct up_line *o, struct arena *a, const char **ret_line,
                       struct err *ret_err)
{
    const char *machine = "";
    if (!machine_line(a, &machine, ret_err))
        return false;
    if (!o->shape_given) {
        *ret_line = machine;
        return true;
    }
    const char *cpus = line_value(machine, " CPUs=", a);
    const char *mem = line_value(machine, " RealMemory=", a);
    int64_t count = o->nodes ? o->nodes : 1;
    int64_t memory = o->mem_mib;
    if (!memory && mem && text_to_i64(mem, 1, INT64_MAX, &memory))
        memory = memory / count > 0 ? memory / count : 1;
    const char *names = count == 1 ? "node1" : arena_printf(a, "node[1-%lld]", (long long)count);
    *ret_line =
        arena_printf(a, "NodeName=%s CPUs=%s RealMemory=%lld%s%s Virtual=YES State=UNKNOWN", names,
                     o->cpus ? arena_printf(a, "%lld", (long long)o->cpus) : (cpus ? cpus : "1"),
                     (long long)memory, o->gres ? " Gres=" : "", o->gres ? o->gres : "");
    return true;
}

static const char conf_mark[] = "# Written by `remuda up`. Yours to edit: slurm.conf's grammar; "
                                "`scontrol reconfigure` reads it again.\n";

static bool conf_write(const struct up_line *o, const char *path, struct arena *a,
                       struct err *ret_err)
{
    const char *line = "";
    if (!node_lines(o, a, &line, ret_err))
        return false;
    struct str text = STR_INIT;
    str_add(&text, conf_mark);
    str_addf(&text, "ClusterName=%s\n\n%s\n\n", o->cluster_name ? o->cluster_name : "remuda", line);
    str_addf(&text, "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n");
    /* whole or not at all: half of one would be taken for a cluster that is there */
    bool ok = file_write_atomic(path, str_text(&text), text.len, 0644, ret_err);
    str_done(&text);
    return ok;
}

bool up_conf_ensure(const struct up_line *o, struct arena *a, struct err *ret_err)
{
    const char *path = cluster_conf_path(o->state_dir, a);
    if (access(path, F_OK) != 0)
        return conf_write(o, path, a, ret_err);
    if (!o->shape_given && !o->cluster_name)
        return true;
    return err_set(
        ret_err, ERR_EXISTS,
        "%s is there already: --nodes, --cpus, --mem, --gres and --name shape a new cluster. Edit "
        "that file and run `scontrol "
        "reconfigure`, or choose another directory with --state",
        path);
}
