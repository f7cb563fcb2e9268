/* badmin and lsadmin showconf, bparams, lsclusters: what programs ask of a site before they submit.
 */
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
OPTION_TABLE(lsadmin_options, rows, .usage = "lsadmin showconf lim", .words = WORDS_MIXED,
             .word = lsf_overview_word, .one_dash = true);
static const struct option_row params_rows[] = {
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    OPT_ACCEPTED("a", 0, ARG_NONE, "all of them (it is the same)"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    OPT_ACCEPTED("l", 0, ARG_NONE, "everything (it is the same)"),
};
OPTION_TABLE(bparams_options, params_rows, .usage = "bparams [OPTIONS]", .words = WORDS_NONE,
             .one_dash = true);
OPTION_TABLE(lsclusters_options, rows, .usage = "lsclusters [OPTIONS] [cluster …]",
             .words = WORDS_MIXED, .word = lsf_overview_word, .one_dash = true);

/* ---- badmin, lsadmin ---- */

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
    {"reconf", "scontrol reconfigure"},
    {"limrestart", "systemctl restart remudad"},
    {"limstartup", "systemctl start remudad"},
    {"limshutdown", "systemctl stop remudad"},
    {"limlock", "scontrol update NodeName=… State=DRAIN Reason=…"},
    {"limunlock", "scontrol update NodeName=… State=RESUME"},
    {"resrestart", "systemctl restart remudad"},
};

/* The lines of lsf.conf that are settings. */
static bool conf_add(struct lsf_overview *o, struct err *e)
{
    struct str text = STR_INIT;
    const char *dir = lsf_dir_make(state_dir_find(NULL, o->a), o->a, e);
    if (!dir || !file_read(arena_printf(o->a, "%s/lsf.conf", dir), 65536, &text, e))
        return false;
    struct span rest = {str_text(&text), text.len}, line;
    while (span_next(&rest, '\n', &line)) {
        const char *equals = memchr(line.data, '=', line.len);
        if (line.len && line.data[0] != '#' && equals)
            str_addf(&o->out, "\t%.*s = %.*s\n", (int)(equals - line.data), line.data,
                     (int)(line.len - (size_t)(equals + 1 - line.data)), equals + 1);
    }
    str_done(&text);
    return true;
}

/* "showconf mbd" arrives as "showconf,mbd". */
static bool conf_show(struct lsf_overview *o, struct err *e)
{
    bool lim = text_is(o->name, "lsadmin");
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (o->words && text_starts(o->words, others[i].word))
            return err_set(e, ERR_UNSUPPORTED, "%s %s is not there; %s does it", o->name,
                           others[i].word, others[i].instead);
    if (!o->words || !text_starts(o->words, "showconf"))
        return err_set(e, ERR_USAGE, "usage: %s showconf %s", o->name, lim ? "lim" : "mbd");
    str_addf(&o->out, "%s configuration at %s\n", lim ? "LIM" : "MBD",
             lsf_time(time_now_us(), o->a));
    return conf_add(o, e);
}

/* ---- bparams ---- */

static bool params_show(struct lsf_overview *o, struct err *e)
{
    struct config conf;
    const char *queue = NULL;
    if (!lsf_queues_read(o, e) ||
        !cluster_settings_read(state_dir_find(NULL, o->a), NULL, &conf, e))
        return false;
    for (size_t i = 0; i < o->queue.n; i++)
        queue = o->queue.v[i]->is_default ? o->queue.v[i]->name : queue;
    str_addf(&o->out, "Default Queues:  %s\n", queue ? queue : "");
    str_addf(&o->out,
             "\tDEFAULT_QUEUE = %s\n\tDEFAULT_PROJECT = default\n\tCLEAN_PERIOD = 3600\n"
             "\tMAX_JOB_ARRAY_SIZE = %lld\n\tRESOURCE_RESERVE_PER_TASK = %s\n"
             "\tJOB_DEP_LAST_SUB = 0\n",
             queue ? queue : "", (long long)conf.settings.max_array_size - 1,
             text_is_nocase(conf.settings.lsf_reserve_per, "slot") ? "Y" : "N");
    config_done(&conf);
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

int cmd_lsadmin(int argc, char **argv)
{
    return lsf_overview_run("lsadmin", &lsadmin_options, NULL, conf_show, argc, argv);
}

int cmd_bparams(int argc, char **argv)
{
    return lsf_overview_run("bparams", &bparams_options, NULL, params_show, argc, argv);
}

int cmd_lsclusters(int argc, char **argv)
{
    return lsf_overview_run("lsclusters", &lsclusters_options, NULL, clusters_show, argc, argv);
}
