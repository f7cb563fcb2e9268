/* What may come next on a command line: for the completion of shells, which asks with the words so
 * far (shells/). Options come from the tables that read them, names of jobs, partitions and nodes
 * from the cluster as it is; where it does not answer at once, there are none, and nothing is said.
 */
#include "cli/program/complete.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "cli/program/tables.h"
#include "io/client/client.h"
#include "model/state.h"
#include "script/options/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SHOWN_MOST 400 /* of a kind; more help nobody */

/* ---- what a value or a word may be ---- */

enum complete_wanted {
    WANTED_NOTHING,
    WANTED_FILE,
    WANTED_JOBS,
    WANTED_RUNNING,
    WANTED_NUMBERS,     /* of LSF and PBS: jobs and arrays as a whole */
    WANTED_QUEUE_FIRST, /* a partition, then such numbers */
    WANTED_PARTITIONS,
    WANTED_NODES,
    WANTED_FEATURES,
    WANTED_ACCOUNTS,
    WANTED_QOS,
    WANTED_RESERVATIONS,
    WANTED_STATES
};

static const struct {
    const char *option;
    enum complete_wanted wanted;
} options_wanted[] = {
    {"partition", WANTED_PARTITIONS},
    {"account", WANTED_ACCOUNTS},
    {"accounts", WANTED_ACCOUNTS},
    {"qos", WANTED_QOS},
    {"nodelist", WANTED_NODES},
    {"nodes", WANTED_NODES},
    {"exclude", WANTED_NODES},
    {"constraint", WANTED_FEATURES},
    {"prefer", WANTED_FEATURES},
    {"reservation", WANTED_RESERVATIONS},
    {"jobs", WANTED_JOBS},
    {"job", WANTED_JOBS},
    {"jobid", WANTED_RUNNING},
    {"dependency", WANTED_JOBS},
    {"state", WANTED_STATES},
    {"states", WANTED_STATES},
    {"output", WANTED_FILE},
    {"error", WANTED_FILE},
    {"input", WANTED_FILE},
    {"chdir", WANTED_FILE},
    {"nodefile", WANTED_FILE},
    {"token-file", WANTED_FILE},
};

/* Options of LSF and PBS are letters that mean something else in each command: what their values
 * are called tells. */
static const struct {
    const char *metavar;
    enum complete_wanted wanted;
} values_wanted[] = {
    {"queue", WANTED_PARTITIONS}, {"queues", WANTED_PARTITIONS},        {"host", WANTED_NODES},
    {"hosts", WANTED_NODES},      {"reservation", WANTED_RESERVATIONS}, {"file", WANTED_FILE},
};

/* What words that are no options are, by the command. `after`: the words before them begin so. */
static const struct {
    const char *command, *after;
    enum complete_wanted wanted;
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
    enum complete_wanted wanted;
} keys_wanted[] = {
    {"JobId=", WANTED_JOBS},
    {"NodeName=", WANTED_NODES},
    {"PartitionName=", WANTED_PARTITIONS},
    {"ReservationName=", WANTED_RESERVATIONS},
    {"Partition=", WANTED_PARTITIONS},
    {"Nodes=", WANTED_NODES},
    {"Account=", WANTED_ACCOUNTS},
    {"QOS=", WANTED_QOS},
};

/* Words that are always the same; after what stands before the last blank. */
static const struct {
    const char *command, *after, *words;
} words_fixed[] = {
    {"scontrol", "",
     "show update hold release requeue requeuehold suspend resume top notify write create delete "
     "reconfigure ping token uhold wait_job"},
    {"scontrol", "show ",
     "job node partition reservation step config licenses topology hostnames hostlist assoc_mgr"},
    {"scontrol", "write ", "batch_script config"},
    {"scontrol", "update ", "JobId= NodeName= PartitionName= ReservationName="},
    {"scontrol", "delete ", "PartitionName= ReservationName= NodeName="},
    {"sacctmgr", "", "show list add modify delete dump load create archive"},
    {"sacctmgr", "show ",
     "account user association qos cluster wckey tres event transaction configuration"},
    {"sreport", "", "cluster job user reservation"},
    {"remuda config", "", "check"},
    {"remuda import", "", "slurm"},
    {"remuda token", "", "list revoke"},
};

struct completion {
    struct arena *a;
    struct client *client;
    bool asked;         /* the cluster was, whether it answered or not */
    const char *word;   /* being written: of a list its last item */
    const char *prefix; /* of it, which stands before each candidate */
    size_t shown;
    uint64_t last; /* the number offered last: elements of an array follow each other */
};

/* What a shell puts into the line stands there as if it had been typed, and names are of others: a
 * feature that a host says, an account. Words that a shell would take for more than a word are not
 * offered. */
static bool is_a_word_to_shells(const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && (unsigned char)*p < 0x80 && !strchr("_.,:=/@%+-[]", *p))
            return false;
    return text_is_plain(word);
}

/* A candidate, and what it is; shells that show that have it behind a tab. */
static void offer(struct completion *k, const char *word, const char *doc)
{
    struct str plain = STR_INIT;
    if (!text_starts(word, k->word) || k->shown >= SHOWN_MOST || !is_a_word_to_shells(word))
        return;
    k->shown++;
    str_add_plain(&plain, doc ? doc : "");
    printf("%s%s%s%s\n", k->prefix, word, plain.len ? "\t" : "", str_text(&plain));
    str_done(&plain);
}

static void offer_list(struct completion *k, const char *words, char separator)
{
    struct span rest = span_of(words), piece;
    while (span_next(&rest, separator, &piece))
        if (piece.len)
            offer(k, arena_strndup(k->a, piece.data, piece.len), NULL);
}

/* ---- from the cluster ---- */

static void job_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct job *j = record;
    struct str id = STR_INIT;
    job_label(j, &id);
    offer(k, str_text(&id),
          arena_printf(k->a, "%s %s", enum_name(&job_state_names, j->state),
                       j->spec.name ? j->spec.name : ""));
    str_done(&id);
}

static void number_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct job *j = record;
    uint64_t number = j->array_job_id ? j->array_job_id : j->het_job_id ? j->het_job_id : j->id;
    if (number == k->last)
        return;
    k->last = number;
    offer(k, arena_printf(k->a, "%llu", (unsigned long long)number), j->spec.name);
}

static void node_offer(void *ctx, const void *record)
{
    offer(ctx, ((const struct node *)record)->name, NULL);
}

static void features_offer(void *ctx, const void *record)
{
    struct completion *k = ctx;
    const struct node *n = record;
    if (!text_empty(n->features))
        offer_list(k, n->features, ',');
}

static void part_offer(void *ctx, const void *record)
{
    const struct partition *p = record;
    offer(ctx, p->name, p->nodes);
}

static void account_offer(void *ctx, const void *record)
{
    offer(ctx, ((const struct account *)record)->name, NULL);
}

static void qos_offer(void *ctx, const void *record)
{
    offer(ctx, ((const struct qos *)record)->name, NULL);
}

static void resv_offer(void *ctx, const void *record)
{
    offer(ctx, ((const struct reservation *)record)->name, NULL);
}

static void ask(struct completion *k, struct msg_query q, const struct fields *t,
                void (*row)(void *ctx, const void *record))
{
    struct msg_done done = {0};
    if (!k->asked)
        k->client = client_open(state_dir_find(NULL, k->a), NULL);
    k->asked = true;
    if (k->client)
        client_query(k->client, &q, t, k->a, row, k, &done, NULL);
}

/* `states`: NULL = all that are not over. */
static void jobs_ask(struct completion *k, const char *states,
                     void (*row)(void *ctx, const void *record))
{
    const char *mine = arena_printf(k->a, "%u", (unsigned)getuid());
    ask(k,
        (struct msg_query){.what = QUERY_JOBS,
                           .uids = getuid() ? mine : NULL,
                           .states = states,
                           .fields = "id,name,state,array_job_id,array_index,array_indexes,"
                                     "het_job_id,het_offset"},
        &job_fields, row);
}

static void wanted_offer(struct completion *k, enum complete_wanted wanted)
{
    switch (wanted) {
    case WANTED_NOTHING: return;
    case WANTED_FILE: puts("\t"); return; /* the shell knows better */
    case WANTED_JOBS: jobs_ask(k, NULL, job_offer); return;
    case WANTED_RUNNING: jobs_ask(k, "RUNNING", job_offer); return;
    case WANTED_QUEUE_FIRST:
    case WANTED_NUMBERS: jobs_ask(k, NULL, number_offer); return;
    case WANTED_PARTITIONS:
        ask(k, (struct msg_query){.what = QUERY_PARTITIONS, .fields = "name,nodes"},
            &partition_fields, part_offer);
        return;
    case WANTED_NODES:
        ask(k, (struct msg_query){.what = QUERY_NODES, .fields = "name"}, &node_fields, node_offer);
        return;
    case WANTED_FEATURES:
        ask(k, (struct msg_query){.what = QUERY_NODES, .fields = "features"}, &node_fields,
            features_offer);
        return;
    case WANTED_ACCOUNTS:
        ask(k, (struct msg_query){.what = QUERY_ACCOUNTS, .fields = "name"}, &account_fields,
            account_offer);
        return;
    case WANTED_QOS:
        ask(k, (struct msg_query){.what = QUERY_QOS, .fields = "name"}, &qos_fields, qos_offer);
        return;
    case WANTED_RESERVATIONS:
        ask(k, (struct msg_query){.what = QUERY_RESERVATIONS, .fields = "name"},
            &reservation_fields, resv_offer);
        return;
    case WANTED_STATES:
        for (int s = 0; s < JOB_STATE_COUNT; s++)
            offer(k, enum_name(&job_state_names, s), NULL);
        return;
    }
}

/* ---- options ---- */

static enum complete_wanted wanted_by(const struct option_row *row)
{
    for (size_t i = 0; row->name && i < ARRAY_LEN(options_wanted); i++)
        if (text_is(options_wanted[i].option, row->name))
            return options_wanted[i].wanted;
    bool letter = row->name && row->name[0] && !row->name[1];
    for (size_t i = 0; letter && row->metavar && i < ARRAY_LEN(values_wanted); i++)
        if (text_is(values_wanted[i].metavar, row->metavar))
            return values_wanted[i].wanted;
    return WANTED_NOTHING;
}

/* Of a list, "a,b" behind "--partition=", the last item. */
static void value_offer(struct completion *k, const struct option_row *row, const char *before,
                        const char *value)
{
    enum complete_wanted wanted = wanted_by(row);
    const char *item = value;
    for (const char *c = value; wanted != WANTED_FILE && *c; c++)
        if (*c == ',' || *c == ':')
            item = c + 1;
    k->word = item;
    k->prefix = arena_printf(k->a, "%s%.*s", before, (int)(item - value), value);
    wanted_offer(k, wanted);
}

static void names_offer(struct completion *k, const struct command_table *t)
{
    const struct option_row *row;
    for (size_t i = 0; (row = command_row(t, i)); i++) {
        if (row->support == SUPPORT_REFUSED || row->hidden || !row->name)
            continue;
        bool one_dash = t->table && t->table->one_dash, value = row->arg == ARG_REQUIRED;
        offer(k,
              one_dash ? arena_printf(k->a, "-%s", row->name)
                       : arena_printf(k->a, "--%s%s", row->name, value ? "=" : ""),
              row->doc);
        if (row->letter && k->word[0] == '-' && !k->word[1])
            offer(k, arena_printf(k->a, "-%c", row->letter), row->doc);
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

/* ---- the line ---- */

/* "NodeName=n1,n" */
static void key_offer(struct completion *k, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(keys_wanted); i++) {
        size_t len = strlen(keys_wanted[i].key);
        if (strncasecmp(word, keys_wanted[i].key, len) != 0)
            continue;
        const char *comma = strrchr(word + len, ','), *item = comma ? comma + 1 : word + len;
        k->word = item;
        k->prefix = arena_strndup(k->a, word, (size_t)(item - word));
        wanted_offer(k, keys_wanted[i].wanted);
        return;
    }
}

static void words_offer(struct completion *k, const char *command, const char *before)
{
    if (text_is(command, "scontrol") && strchr(k->word, '=')) {
        key_offer(k, k->word);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(words_fixed); i++)
        if (text_is(words_fixed[i].command, command) && text_is(words_fixed[i].after, before))
            offer_list(k, words_fixed[i].words, ' ');
    for (size_t i = 0; i < ARRAY_LEN(words_wanted); i++) {
        bool anywhere = !*words_wanted[i].after;
        if (text_is(words_wanted[i].command, command) &&
            (anywhere || text_is_nocase(words_wanted[i].after, before)))
            wanted_offer(k, words_wanted[i].wanted == WANTED_QUEUE_FIRST && !*before
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
    if (here)
        value_offer(k, here, arena_strndup(k->a, k->word, (size_t)(equals + 1 - k->word)),
                    equals + 1);
    else if (before && before->arg != ARG_NONE && before->arg != ARG_OPTIONAL &&
             (before->arg == ARG_REQUIRED || k->word[0] != '-'))
        value_offer(k, before, "", k->word);
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
        offer(k, t->own ? t->command + strlen("remuda ") : t->command, t->doc);
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
    client_close(k.client);
    arena_free(k.a);
    return 0;
}
