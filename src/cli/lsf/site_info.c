/* badmin showconf, lsclusters: what programs ask of a site before they submit. */
#include "base/alloc.h"
#include "cli/lsf/overview.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/lsf_dir.h"
#include "cli/submit/host.h"
#include "cli/submit/site.h"
#include "io/files.h"

#include <stdio.h>
#include <string.h>

static const struct option_row rows[] = {
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    OPT_ACCEPTED("l", 0, ARG_NONE, "everything (it is the same)"),
    OPT_ACCEPTED("w", 0, ARG_NONE, "nothing cut"),
};
OPTION_TABLE(badmin_options, rows, .usage = "badmin showconf mbd", .words = WORDS_MIXED,
             .word = lsf_overview_word, .one_dash = true);
OPTION_TABLE(lsclusters_options, rows, .usage = "lsclusters [OPTIONS] [cluster …]",
             .words = WORDS_MIXED, .word = lsf_overview_word, .one_dash = true);

/* ---- badmin ---- */

static const struct {
    const char *word, *instead;
} others[] = {
    {"reconfig", "scontrol reconfigure"},
    {"mbdrestart", "systemctl restart remudad; remuda up --restart"},
    {"mbdhist", "scontrol show, sacctmgr list transactions"},
    {"qopen", "scontrol update PartitionName=… State=UP"},
    {"qclose", "scontrol update PartitionName=… State=DRAIN"},
    {"qact", "scontrol update PartitionName=… State=UP"},
    {"qinact", "scontrol update PartitionName=… State=DOWN"},
    {"hopen", "scontrol update NodeName=… State=RESUME"},
    {"hclose", "scontrol update NodeName=… State=DRAIN Reason=…"},
    {"ckconfig", "remuda config check FILE"},
};

/* "showconf mbd" arrives as "showconf,mbd". */
static bool conf_show(struct lsf_overview *o, struct err *e)
{
    struct str text = STR_INIT;
    const char *dir;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (o->words && text_starts(o->words, others[i].word))
            return err_set(e, ERR_UNSUPPORTED, "badmin %s is not there; %s does it", others[i].word,
                           others[i].instead);
    if (!o->words || !text_starts(o->words, "showconf"))
        return err_set(e, ERR_USAGE, "usage: badmin showconf mbd");
    dir = lsf_dir_make(state_dir_find(NULL, o->a), o->a, e);
    if (!dir || !file_read(arena_printf(o->a, "%s/lsf.conf", dir), 65536, &text, e))
        return false;
    struct span rest = {str_text(&text), text.len}, line;
    str_addf(&o->out, "MBD configuration at %s\n", lsf_time(time_now_us(), o->a));
    while (span_next(&rest, '\n', &line)) {
        const char *equals = memchr(line.data, '=', line.len);
        if (line.len && line.data[0] != '#' && equals)
            str_addf(&o->out, "\t%.*s = %.*s\n", (int)(equals - line.data), line.data,
                     (int)(line.len - (size_t)(equals + 1 - line.data)), equals + 1);
    }
    str_done(&text);
    return true;
}

/* ---- lsclusters ---- */

static bool clusters_show(struct lsf_overview *o, struct err *e)
{
    struct dialect_site site = submit_site(state_dir_find(NULL, o->a), o->a);
    const char *name = site.cluster ? site.cluster : "unknown";
    size_t up = 0;
    if (!lsf_nodes_read(o, e))
        return false;
    if (!lsf_overview_asked(o, name))
        return err_set(e, ERR_NOT_FOUND, "%s: unknown cluster name", o->words);
    for (size_t i = 0; i < o->node.n; i++)
        up += o->node.v[i]->state == NODE_UP;
    str_addf(&o->out,
             "CLUSTER_NAME   STATUS   MASTER_HOST               ADMIN    HOSTS  SERVERS\n"
             "%-14s %-8s %-25s %-8s %5zu %8zu\n",
             name, "ok", submit_hostname(o->a), "root", o->node.n, up);
    return true;
}

int cmd_badmin(int argc, char **argv)
{
    return lsf_overview_run("badmin", &badmin_options, NULL, conf_show, argc, argv);
}

int cmd_lsclusters(int argc, char **argv)
{
    return lsf_overview_run("lsclusters", &lsclusters_options, NULL, clusters_show, argc, argv);
}
