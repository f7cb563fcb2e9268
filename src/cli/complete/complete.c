/* What may come next on a command line: for the completion of shells, which asks with the words so
 * far (shells/). Options come from the tables that read them, names of jobs, partitions and nodes
 * from the cluster as it is; where it does not answer at once, there are none, and nothing is said.
 */
#include "cli/complete/candidates.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/tables.h"
#include "script/options/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what a value or a word may be ---- */

#define NODE_WORDS                                                                                 \
    "ALL,ALLOC,COMP,DOWN,DRAIN,FAIL,FUTURE,IDLE,MAINT,MIX,NO_RESPOND,PLANNED,RESERVED"

/* By the command (NULL = any) and the option; the first that fits counts. Of LSF and PBS options
 * are letters, which mean something else in each command. */
static const struct {
    const char *command, *option;
    enum wanted wanted;
    const char *words; /* these, instead; NULL = `wanted` */
} options_wanted[] = {
    {"sinfo", "states", WANTED_NOTHING, NODE_WORDS},
    {"sinfo", "Format", WANTED_NODE_COLUMNS, NULL},
    {"squeue", "Format", WANTED_JOB_COLUMNS, NULL},
    {"sacct", "format", WANTED_ACCT_COLUMNS, NULL},
    {"sstat", "format", WANTED_STEP_COLUMNS, NULL},
    {"remuda translate", "from", WANTED_NOTHING, "slurm,lsf,pbs"},
    {"remuda translate", "to", WANTED_NOTHING, "slurm,lsf,pbs"},
    {"remuda translate", "pbs", WANTED_NOTHING, "pro,torque"},
    {"remuda env", "dialects", WANTED_NOTHING, "all,slurm,lsf,pbs"},
    {"bsub", "G", WANTED_ACCOUNTS, NULL},
    {"bsub", "P", WANTED_ACCOUNTS, NULL},
    {"bmod", "G", WANTED_ACCOUNTS, NULL},
    {"bmod", "P", WANTED_ACCOUNTS, NULL},
    {"bjobs", "P", WANTED_ACCOUNTS, NULL},
    {"bkill", "P", WANTED_ACCOUNTS, NULL},
    {"bjobs", "J", WANTED_NAMES, NULL},
    {"bkill", "J", WANTED_NAMES, NULL},
    {"bkill", "s", WANTED_SIGNALS, NULL},
    {"bsub", "U", WANTED_RESERVATIONS, NULL},
    {"bsub", "wa", WANTED_SIGNALS, NULL},
    {"qsub", "A", WANTED_ACCOUNTS, NULL},
    {"qsub", "P", WANTED_ACCOUNTS, NULL},
    {"qalter", "A", WANTED_ACCOUNTS, NULL},
    {"qalter", "P", WANTED_ACCOUNTS, NULL},
    {"qselect", "A", WANTED_ACCOUNTS, NULL},
    {"qselect", "P", WANTED_ACCOUNTS, NULL},
    {"qselect", "N", WANTED_NAMES, NULL},
    {"qselect", "s", WANTED_NOTHING, "Q,R,H,W,E,S,F"},
    {"qsig", "s", WANTED_SIGNALS, NULL},
    {"qsub", "l", WANTED_NOTHING, "select=,place=,nodes=,ncpus=,ngpus=,mem=,pmem=,walltime="},
    {"qalter", "l", WANTED_NOTHING, "select=,place=,nodes=,ncpus=,ngpus=,mem=,pmem=,walltime="},
    {"qsub", "W", WANTED_NOTHING, "depend=,block=true,umask=,group_list=,x=advres:"},
    {"qsub", "j", WANTED_NOTHING, "oe,eo,n"},
    {"qsub", "r", WANTED_NOTHING, "y,n"},
    {NULL, "partition", WANTED_PARTITIONS, NULL},
    {NULL, "account", WANTED_ACCOUNTS, NULL},
    {NULL, "accounts", WANTED_ACCOUNTS, NULL},
    {NULL, "user", WANTED_USERS, NULL},
    {NULL, "users", WANTED_USERS, NULL},
    {NULL, "name", WANTED_NAMES, NULL},
    {NULL, "qos", WANTED_QOS, NULL},
    {NULL, "nodelist", WANTED_NODES, NULL},
    {NULL, "nodes", WANTED_NODES, NULL},
    {NULL, "exclude", WANTED_NODES, NULL},
    {NULL, "constraint", WANTED_FEATURES, NULL},
    {NULL, "prefer", WANTED_FEATURES, NULL},
    {NULL, "gres", WANTED_GRES, NULL},
    {NULL, "gpus", WANTED_GPU_TYPES, NULL},
    {NULL, "gpus-per-node", WANTED_GPU_TYPES, NULL},
    {NULL, "gpus-per-task", WANTED_GPU_TYPES, NULL},
    {NULL, "gpus-per-socket", WANTED_GPU_TYPES, NULL},
    {NULL, "reservation", WANTED_RESERVATIONS, NULL},
    {NULL, "jobs", WANTED_JOBS, NULL},
    {NULL, "job", WANTED_JOBS, NULL},
    {NULL, "jobid", WANTED_RUNNING, NULL},
    {NULL, "dependency", WANTED_JOBS, NULL},
    {NULL, "state", WANTED_STATES, NULL},
    {NULL, "states", WANTED_STATES, NULL},
    {NULL, "signal", WANTED_SIGNALS, NULL},
    {NULL, "mail-type", WANTED_MAIL, NULL},
    {NULL, "export", WANTED_NOTHING, "ALL,NONE,NIL"},
    {NULL, "output", WANTED_FILE, NULL},
    {NULL, "error", WANTED_FILE, NULL},
    {NULL, "input", WANTED_FILE, NULL},
    {NULL, "chdir", WANTED_FILE, NULL},
    {NULL, "nodefile", WANTED_FILE, NULL},
    {NULL, "token-file", WANTED_FILE, NULL},
};

/* Else what the values of such letters are called tells. */
static const struct {
    const char *metavar;
    enum wanted wanted;
} values_wanted[] = {
    {"queue", WANTED_PARTITIONS},
    {"queues", WANTED_PARTITIONS},
    {"host", WANTED_NODES},
    {"hosts", WANTED_NODES},
    {"reservation", WANTED_RESERVATIONS},
    {"file", WANTED_FILE},
    {"user", WANTED_USERS},
    {"users", WANTED_USERS},
    {"dir", WANTED_FILE},
    {"path", WANTED_FILE},
};

/* What words that are no options are, by the command. `after`: the words before them begin so. */
static const struct {
    const char *command, *after;
    enum wanted wanted;
} words_wanted[] = {
    {"scancel", "", WANTED_JOBS},
    {"seff", "", WANTED_JOBS},
    {"sattach", "", WANTED_RUNNING},
    {"sbatch", "", WANTED_FILE},
    {"salloc", "", WANTED_FILE},
    {"srun", "", WANTED_FILE},
    {"sbcast", "", WANTED_FILE},
    {"remuda why", "", WANTED_JOBS},
    {"remuda extend", "", WANTED_RUNNING},
    {"remuda logs", "", WANTED_JOBS},
    {"remuda shell", "", WANTED_RUNNING},
    {"remuda config", "check ", WANTED_FILE},
    {"remuda lint", "", WANTED_FILE},
    {"remuda translate", "", WANTED_FILE},
    {"remuda plot", "", WANTED_JOBS},
    {"remuda report", "", WANTED_JOBS},
    {"remuda accounts", "", WANTED_ACCOUNTS},
    {"remuda restore", "", WANTED_FILE},
    {"scontrol", "show job ", WANTED_JOBS},
    {"scontrol", "show step ", WANTED_RUNNING},
    {"scontrol", "show node ", WANTED_NODES},
    {"scontrol", "show partition ", WANTED_PARTITIONS},
    {"scontrol", "show reservation ", WANTED_RESERVATIONS},
    {"scontrol", "write batch_script ", WANTED_JOBS},
    {"scontrol", "hold ", WANTED_JOBS},
    {"scontrol", "uhold ", WANTED_JOBS},
    {"scontrol", "release ", WANTED_JOBS},
    {"scontrol", "requeue ", WANTED_JOBS},
    {"scontrol", "requeuehold ", WANTED_JOBS},
    {"scontrol", "suspend ", WANTED_RUNNING},
    {"scontrol", "resume ", WANTED_JOBS},
    {"scontrol", "top ", WANTED_JOBS},
    {"bkill", "", WANTED_NUMBERS},
    {"bjobs", "", WANTED_NUMBERS},
    {"bstop", "", WANTED_NUMBERS},
    {"bresume", "", WANTED_NUMBERS},
    {"brequeue", "", WANTED_NUMBERS},
    {"bmod", "", WANTED_NUMBERS},
    {"bpeek", "", WANTED_NUMBERS},
    {"bhist", "", WANTED_NUMBERS},
    {"btop", "", WANTED_NUMBERS},
    {"bbot", "", WANTED_NUMBERS},
    {"bstat", "", WANTED_NUMBERS},
    {"bacct", "", WANTED_NUMBERS},
    {"nodestat", "", WANTED_PARTITIONS},
    {"showstart", "", WANTED_NUMBERS},
    {"bswitch", "", WANTED_QUEUE_FIRST},
    {"bqueues", "", WANTED_PARTITIONS},
    {"classstat", "", WANTED_PARTITIONS},
    {"bhosts", "", WANTED_NODES},
    {"lsload", "", WANTED_NODES},
    {"lshosts", "", WANTED_NODES},
    {"qsub", "", WANTED_FILE},
    {"qdel", "", WANTED_NUMBERS},
    {"qstat", "", WANTED_NUMBERS},
    {"qhold", "", WANTED_NUMBERS},
    {"qrls", "", WANTED_NUMBERS},
    {"qsig", "", WANTED_NUMBERS},
    {"qrerun", "", WANTED_NUMBERS},
    {"qalter", "", WANTED_NUMBERS},
    {"qmsg", "", WANTED_NUMBERS},
    {"tracejob", "", WANTED_NUMBERS},
    {"qmove", "", WANTED_QUEUE_FIRST},
    {"pbsnodes", "", WANTED_NODES},
    {"qenable", "", WANTED_PARTITIONS},
    {"qdisable", "", WANTED_PARTITIONS},
    {"qstart", "", WANTED_PARTITIONS},
    {"qstop", "", WANTED_PARTITIONS},
};

/* KEY=VALUE words of `scontrol update` and its kin: what is named by them. */
static const struct {
    const char *key;
    enum wanted wanted;
} keys_wanted[] = {
    {"JobId=", WANTED_JOBS},
    {"NodeName=", WANTED_NODES},
    {"PartitionName=", WANTED_PARTITIONS},
    {"ReservationName=", WANTED_RESERVATIONS},
    {"Partition=", WANTED_PARTITIONS},
    {"Nodes=", WANTED_NODES},
    {"Account=", WANTED_ACCOUNTS},
    {"QOS=", WANTED_QOS},
    {"Reservation=", WANTED_RESERVATIONS},
    {"Users=", WANTED_USERS},
    {"User=", WANTED_USERS},
    {"Accounts=", WANTED_ACCOUNTS},
    {"DefaultAccount=", WANTED_ACCOUNTS},
    {"Parent=", WANTED_ACCOUNTS},
};

/* Words that are always the same, by the words before them; one that ends in = stands for all that
 * begin so. */
static const struct {
    const char *command, *after, *words;
} words_fixed[] = {
    {"scontrol", "",
     "show update hold release requeue requeuehold suspend resume top notify write create delete "
     "reconfigure ping token uhold wait_job"},
    {"scontrol", "show ",
     "job node partition reservation step config licenses topology hostnames hostlist assoc_mgr"},
    {"scontrol", "write ", "batch_script config"},
    {"scontrol", "create ", "reservation PartitionName= ReservationName="},
    {"scontrol", "update ", "JobId= NodeName= PartitionName= ReservationName="},
    {"scontrol", "update JobId=",
     "TimeLimit= Partition= Account= QOS= Nice= Priority= Dependency= NumNodes= JobName= "
     "Reservation= Comment="},
    {"scontrol", "update NodeName=", "State= Reason= Features= Gres= Weight="},
    {"scontrol", "update PartitionName=", "State= MaxTime= Nodes= Default="},
    {"scontrol",
     "update ReservationName=", "StartTime= EndTime= Duration= Nodes= Users= Accounts="},
    {"scontrol", "delete ", "PartitionName= ReservationName= NodeName="},
    {"sacctmgr", "", "show list add modify delete dump load create archive"},
    {"sacctmgr", "show ",
     "account user association qos cluster wckey tres event transaction configuration"},
    {"sacctmgr", "add ", "account user qos coordinator wckey"},
    {"sacctmgr", "delete ", "account user qos coordinator wckey"},
    {"sacctmgr", "modify ", "account user qos cluster"},
    {"sacctmgr", "modify user ", "where set"},
    {"sacctmgr", "modify account ", "where set"},
    {"sacctmgr", "modify qos ", "where set"},
    {"sreport", "", "cluster job user reservation"},
    {"sreport", "cluster ",
     "AccountUtilizationByUser AccountUtilizationByQOS UserUtilizationByAccount "
     "UserUtilizationByWckey Utilization WCKeyUtilizationByUser"},
    {"sreport", "job ", "SizesByAccount SizesByAccountAndWcKey SizesByWckey"},
    {"sreport", "reservation ", "Utilization"},
    {"sreport", "user ", "TopUsage"},
    {"remuda config", "", "check"},
    {"remuda import", "", "slurm"},
    {"remuda token", "", "list revoke"},
};

/* ---- options ---- */

/* What values of the option may be: such names, or else (*ret_words) these. */
static enum wanted wanted_by(const char *command, const struct option_row *row,
                             const char **ret_words)
{
    for (size_t i = 0; row->name && i < ARRAY_LEN(options_wanted); i++)
        if (text_is(options_wanted[i].option, row->name) &&
            (!options_wanted[i].command || text_is(options_wanted[i].command, command))) {
            *ret_words = options_wanted[i].words;
            return options_wanted[i].wanted;
        }
    bool letter = row->name && row->name[0] && !row->name[1];
    for (size_t i = 0; letter && row->metavar && i < ARRAY_LEN(values_wanted); i++)
        if (text_is(values_wanted[i].metavar, row->metavar))
            return values_wanted[i].wanted;
    return WANTED_NOTHING;
}

/* Of a list, "a,b" behind "--partition=", the last item. */
static void value_offer(struct completion *k, const struct command_table *t,
                        const struct option_row *row, const char *before, const char *value)
{
    const char *words = NULL;
    enum wanted wanted = wanted_by(t->command, row, &words);
    /* gpu:v100 is one item */
    const char *separators = wanted == WANTED_FILE ? "" : wanted == WANTED_GRES ? "," : ",:";
    candidates_item(k, before, value, separators);
    bool kind = text_is(row->name, "dependency") && (k->word == value || k->word[-1] != ':');
    if (kind)
        candidates_list(k, "after:,afterok:,afterany:,afternotok:,aftercorr:,singleton", ',');
    else if (words)
        candidates_list(k, words, ',');
    else
        candidates_wanted(k, wanted);
}

static void names_offer(struct completion *k, const struct command_table *t)
{
    const struct option_row *row;
    for (size_t i = 0; (row = command_row(t, i)); i++) {
        if (row->support == SUPPORT_REFUSED || row->hidden || !row->name)
            continue;
        bool one_dash = t->table && t->table->one_dash, value = row->arg == ARG_REQUIRED;
        candidates_offer(k,
                         one_dash ? arena_printf(k->a, "-%s", row->name)
                                  : arena_printf(k->a, "--%s%s", row->name, value ? "=" : ""),
                         row->doc);
        if (row->letter && k->word[0] == '-' && !k->word[1])
            candidates_offer(k, arena_printf(k->a, "-%c", row->letter), row->doc);
    }
}

static const struct option_row *row_spelt(const struct command_table *t, const char *word,
                                          size_t len)
{
    const struct option_row *row;
    for (size_t i = 0; (row = command_row(t, i)); i++) {
        if (len > 2 && row->name && strlen(row->name) == len - 2 && word[0] == '-' &&
            word[1] == '-' && !strncmp(row->name, word + 2, len - 2))
            return row;
        if (t->table && t->table->one_dash && row->name && len > 1 && word[0] == '-' &&
            strlen(row->name) == len - 1 && !strncmp(row->name, word + 1, len - 1))
            return row;
        if (len == 2 && word[0] == '-' && row->letter && word[1] == row->letter)
            return row;
    }
    return NULL;
}

/* Of "-pmain" the row of -p; NULL = the word is none of that kind. */
static const struct option_row *attached_row(const struct command_table *t, const char *word)
{
    bool letters = !(t->table && t->table->one_dash);
    if (!letters || word[0] != '-' || !word[1] || word[1] == '-' || !word[2])
        return NULL;
    const struct option_row *row = row_spelt(t, word, 2);
    return row && row->arg != ARG_NONE ? row : NULL;
}

/* ---- the line ---- */

/* "NodeName=n1,n" */
static void key_offer(struct completion *k, const char *word, const char *before)
{
    const char *value = strchr(word, '=') + 1;
    candidates_item(k, arena_strndup(k->a, word, (size_t)(value - word)), value, ",");
    if (text_starts_nocase(before, "update NodeName=") && text_starts_nocase(word, "State=")) {
        candidates_list(k, "DOWN,DRAIN,FAIL,IDLE,RESUME,UNDRAIN", ',');
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(keys_wanted); i++)
        if (text_starts_nocase(word, keys_wanted[i].key)) {
            candidates_wanted(k, keys_wanted[i].wanted);
            return;
        }
}

/* Do words of words_fixed follow those that stand before? */
static bool follows(const char *after, const char *before)
{
    size_t len = strlen(after);
    if (len && after[len - 1] == '=')
        return !strncasecmp(before, after, len);
    return text_is_nocase(after, before);
}

static void words_offer(struct completion *k, const char *command, const char *before)
{
    bool keys =
        text_is(command, "scontrol") || text_is(command, "sacctmgr") || text_is(command, "sreport");
    if (keys && strchr(k->word, '=')) {
        key_offer(k, k->word, before);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(words_fixed); i++)
        if (text_is(words_fixed[i].command, command) && follows(words_fixed[i].after, before))
            candidates_list(k, words_fixed[i].words, ' ');
    for (size_t i = 0; i < ARRAY_LEN(words_wanted); i++) {
        bool anywhere = !*words_wanted[i].after;
        if (text_is(words_wanted[i].command, command) &&
            (anywhere || text_is_nocase(words_wanted[i].after, before)))
            candidates_wanted(k, words_wanted[i].wanted == WANTED_QUEUE_FIRST && !*before
                                     ? WANTED_PARTITIONS
                                     : words_wanted[i].wanted);
    }
}

/* The words before the last that are no options, with a blank behind each. */
static const char *words_before(struct completion *k, const struct command_table *t, int n,
                                char **word)
{
    struct str s = STR_INIT;
    for (int i = 0; i + 1 < n; i++) {
        if (word[i][0] != '-') {
            str_addf(&s, "%s ", word[i]);
            continue;
        }
        const struct option_row *row = row_spelt(t, word[i], strlen(word[i]));
        i += row && (row->arg == ARG_REQUIRED || row->arg == ARG_NEXT);
    }
    const char *text = arena_strdup(k->a, str_text(&s));
    str_done(&s);
    return text;
}

static void line_complete(struct completion *k, const struct command_table *t, int n, char **word)
{
    k->word = n > 0 ? word[n - 1] : "";
    const char *equals = strchr(k->word, '=');
    const struct option_row *before = n > 1 ? row_spelt(t, word[n - 2], strlen(word[n - 2])) : NULL;
    const struct option_row *here =
        equals && k->word[0] == '-' ? row_spelt(t, k->word, (size_t)(equals - k->word)) : NULL;
    const struct option_row *attached = attached_row(t, k->word);
    if (here)
        value_offer(k, t, here, arena_strndup(k->a, k->word, (size_t)(equals + 1 - k->word)),
                    equals + 1);
    else if (before && before->arg != ARG_NONE && before->arg != ARG_OPTIONAL &&
             (before->arg == ARG_REQUIRED || k->word[0] != '-'))
        value_offer(k, t, before, "", k->word);
    else if (attached)
        value_offer(k, t, attached, arena_strndup(k->a, k->word, 2), k->word + 2);
    else if (k->word[0] == '-')
        names_offer(k, t);
    else
        words_offer(k, t->command, words_before(k, t, n, word));
}

static void commands_offer(struct completion *k, const char *word)
{
    const struct command_table *t;
    k->word = word;
    for (size_t i = 0; (t = command_table_at(i)); i++)
        candidates_offer(k, t->own ? t->command + strlen("remuda ") : t->command, t->doc);
}

int cmd_complete(int argc, char **argv)
{
    struct completion k = {.a = arena_new(), .prefix = ""};
    const char *command = argc > 1 ? argv[1] : "";
    int from = 2;
    const struct command_table *t = NULL;
    if (text_is(command, "remuda") && argc <= 3) {
        commands_offer(&k, argc > 2 ? argv[2] : "");
    } else {
        bool own = text_is(command, "remuda");
        t = command_table_of(own ? argv[2] : command);
        from += own;
        if (t)
            line_complete(&k, t, argc - from, argv + from);
    }
    candidates_done(&k);
    arena_free(k.a);
    return 0;
}
