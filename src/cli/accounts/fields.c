/* The fields of format=: the words of sacctmgr, the letters that each may be cut short to, and the
 * headings, as the real one answers to them. Every listing knows all of them; a field that says
 * nothing of what is listed is an empty column, so a script's format serves every listing. */
#include "cli/accounts/accounts.h"
#include "cli/table/listing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WIDEST 100000

struct field_row {
    const char *word;
    size_t least; /* letters */
    const char *heading;
    int width;
};

/* The first that takes the letters is meant. */
// clang-format off
static const struct field_row rows[] = {
    {"Account", 3, "Account", 10}, {"Action", 4, "Action", 20}, {"Actor", 4, "Actor", 10},
    {"AdminLevel", 2, "Admin", 9}, {"Allocated", 7, "% Allocated", 11}, {"Associations", 2, "Assocs", 10},
    {"Cluster", 2, "Cluster", 10}, {"ClusterNodes", 8, "Cluster Nodes", 20}, {"Classification", 3, "Class", 9},
    {"Coordinators", 2, "Coord Accounts", 20}, {"ControlHost", 8, "ControlHost", 15},
    {"ControlPort", 8, "ControlPort", 12}, {"Count", 3, "Count", 6}, {"CPUCount", 2, "CPU Cnt", 7},
    {"DefaultAccount", 8, "Def Acct", 10}, {"DefaultQOS", 8, "Def QOS", 9}, {"DefaultWCKey", 8, "Def WCKey", 10},
    {"Description", 3, "Descr", 20}, {"Duration", 2, "Duration", 13},
    {"Eligible", 2, "TimeEligible", 19}, {"End", 2, "TimeEnd", 19}, {"Event", 2, "Event", 7},
    {"EventRaw", 6, "EventRaw", 8},
    {"FairShare", 2, "Share", 9}, {"Federation", 3, "Federation", 10}, {"Features", 3, "Features", 20},
    {"FedState", 4, "FedState", 12}, {"FedStateRaw", 9, "FedStateRaw", 11}, {"Flags", 2, "Flags", 20},
    {"GraceTime", 3, "GraceTime", 10},
    {"GrpCPUs", 6, "GrpCPUs", 8}, {"GrpCPUMins", 7, "GrpCPUMins", 11}, {"GrpCPURunMins", 7, "GrpCPURunMins", 13},
    {"GrpJobs", 4, "GrpJobs", 7}, {"GrpJobsAccrue", 8, "GrpJobsAccrue", 13}, {"GrpMemory", 4, "GrpMem", 7},
    {"GrpNodes", 4, "GrpNodes", 8}, {"GrpSubmitJobs", 4, "GrpSubmit", 9}, {"GrpTRES", 7, "GrpTRES", 13},
    {"GrpTRESMins", 8, "GrpTRESMins", 13}, {"GrpTRESRunMins", 8, "GrpTRESRunMins", 13}, {"GrpWall", 4, "GrpWall", 11},
    {"ID", 2, "ID", 6}, {"Info", 2, "Info", 20}, {"LFT", 1, "LFT", 6}, {"LimitFactor", 6, "LimitFactor", 11},
    {"MaxCPUMinsPerJob", 7, "MaxCPUMins", 11}, {"MaxCPUsPerJob", 7, "MaxCPUs", 8},
    {"MaxCPUsPerUser", 11, "MaxCPUsPU", 9}, {"MaxCPUsPU", 9, "MaxCPUsPU", 9},
    {"MaxJobs", 4, "MaxJobs", 7}, {"MaxJobsAccrue", 8, "MaxJobsAccrue", 13},
    {"MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15}, {"MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15},
    {"MaxJobsAccruePerUser", 17, "MaxJobsAccruePU", 15}, {"MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15},
    {"MaxJobsPerAccount", 11, "MaxJobsPA", 9}, {"MaxJobsPA", 9, "MaxJobsPA", 9},
    {"MaxJobsPerUser", 11, "MaxJobsPU", 9}, {"MaxJobsPU", 9, "MaxJobsPU", 9},
    {"MaxNodesPerJob", 4, "MaxNodes", 8}, {"MaxNodesPerUser", 12, "MaxNodesPU", 10}, {"MaxNodesPU", 10, "MaxNodesPU", 10},
    {"MaxSubmitJobs", 4, "MaxSubmit", 9}, {"MaxSubmitJobsPerUser", 14, "MaxSubmitPU", 11},
    {"MaxSubmitJobsPU", 15, "MaxSubmitPU", 11}, {"MaxSubmitPU", 10, "MaxSubmitPU", 11},
    {"MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11}, {"MaxSubmitJobsPA", 15, "MaxSubmitPA", 11},
    {"MaxSubmitPA", 11, "MaxSubmitPA", 11},
    {"MaxTRES", 7, "MaxTRES", 13}, {"MaxTRESPerJob", 11, "MaxTRES", 13}, {"MaxTRESMinsPerJob", 8, "MaxTRESMins", 13},
    {"MaxTRESPerAccount", 11, "MaxTRESPA", 13}, {"MaxTRESPA", 9, "MaxTRESPA", 13},
    {"MaxTRESPerNode", 11, "MaxTRESPerNode", 14}, {"MaxTRESPerUser", 11, "MaxTRESPU", 13}, {"MaxTRESPU", 9, "MaxTRESPU", 13},
    {"MaxTRESRunMinsPA", 15, "MaxTRESRunMinsPA", 15}, {"MaxTRESRunMinsPerAccount", 18, "MaxTRESRunMinsPA", 15},
    {"MaxTRESRunMinsPU", 8, "MaxTRESRunMinsPU", 15}, {"MaxTRESRunMinsPerUser", 8, "MaxTRESRunMinsPU", 15},
    {"MaxWallDurationPerJob", 4, "MaxWall", 11}, {"MinCPUsPerJob", 7, "MinCPUs", 8},
    {"MinPrioThreshold", 4, "MinPrioThres", 12}, {"MinTRESPerJob", 7, "MinTRES", 13},
    {"Name", 2, "Name", 10}, {"NodeCount", 5, "NodeCount", 9}, {"NodeInx", 5, "NodeInx", 9},
    {"NodeNames", 5, "NodeName", 15}, {"Organization", 1, "Org", 20},
    {"ParentID", 7, "ParentID", 8}, {"ParentName", 7, "ParentName", 10}, {"Partition", 4, "Partition", 10},
    {"PluginIDSelect", 2, "PluginIDSelect", 14}, {"Preempt", 7, "Preempt", 10},
    {"PreemptExemptTime", 8, "PreemptExemptTime", 19}, {"PreemptMode", 8, "PreemptMode", 11},
    {"Priority", 3, "Priority", 10}, {"Problem", 1, "Problem", 40},
    {"QOSLevel", 3, "QOS", 20}, {"QOSRAWLevel", 4, "QOS_RAW", 10},
    {"RGT", 2, "RGT", 6}, {"RPC", 2, "RPC", 5}, {"Reason", 1, "Reason", 30},
    {"Server", 3, "Server", 10}, {"ServerType", 10, "ServerType", 10}, {"Share", 1, "Share", 9},
    {"Start", 4, "TimeStart", 19}, {"State", 2, "State", 6}, {"StateRaw", 6, "StateRaw", 8},
    {"Submit", 2, "TimeSubmit", 19},
    {"TimeEligible", 6, "TimeEligible", 19}, {"TimeEnd", 6, "TimeEnd", 19}, {"TimeStamp", 2, "Time", 19},
    {"TimeStart", 8, "TimeStart", 19}, {"TRES", 2, "TRES", 20}, {"Type", 2, "Type", 8},
    {"UsageFactor", 6, "UsageFactor", 11}, {"UsageThreshold", 6, "UsageThres", 10}, {"User", 1, "User", 10},
    {"WCKeys", 2, "WCKeys", 20}, {"Where", 2, "Where", 20},
};
// clang-format on

static bool begins(const char *word, const char *asked, size_t least)
{
    size_t len = strlen(asked);
    return len >= least && len <= strlen(word) && strncasecmp(word, asked, len) == 0;
}

static const struct field_row *field_find(const char *asked)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (begins(rows[i].word, asked, rows[i].least))
            return &rows[i];
    return NULL;
}

static const struct column *column_headed(const struct column_table *t, const char *heading)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->column[i].header && text_is(t->column[i].header, heading))
            return &t->column[i];
    return NULL;
}

static void cell_empty(const struct cell_env *env, const void *record, struct str *out)
{
    (void)env;
    (void)record;
    (void)out;
}

/* NULL: there is none. */
static const struct column *column_meant(const struct column_table *t, const char *asked,
                                         struct arena *a)
{
    const struct field_row *f = field_find(asked);
    const struct column *own = f ? column_by_name(t, f->word) : NULL;
    if (f && !own)
        own = column_headed(t, f->heading);
    if (!own && (own = column_by_name(t, asked)))
        return own;
    if (!f || (own && text_is(f->word, "Name"))) /* Slurm's is empty; ours is whose it is */
        return own;
    struct column *c = arena_alloc(a, sizeof *c);
    *c = own ? *own : (struct column){.name = f->word, .print = cell_empty};
    c->header = f->heading;
    c->width = c->width < 0 ? -f->width : f->width;
    return c;
}

static bool unknown(struct sacctmgr *s, const struct column_table *t, const char *asked)
{
    VEC(const char *) name = {0};
    for (size_t i = 0; i < t->n; i++)
        vec_push(&name, t->column[i].name);
    const char *near = *asked ? text_nearest(asked, name.v, name.n) : NULL;
    sacctmgr_refuse(s, "Unknown field '%s'", name_lowered(asked, s->a));
    if (near)
        sacctmgr_fail(s, "Invalid field requested: \"%s\"; did you mean \"%s\"?", asked, near);
    vec_done(&name);
    return false;
}

/* The number that the text begins with, as Slurm reads widths: of "5x" 5; 0 where there is none. */
static int width_read(const char *text)
{
    long width = strtol(text, NULL, 10);
    return width >= -WIDEST && width <= WIDEST ? (int)width : 0;
}

/* "name%20", "name%-20". A width that is none, and 0, are the column's own, as in Slurm. */
static bool item_add(struct sacctmgr *s, const struct column_table *t, struct span piece,
                     struct format *f)
{
    char *word = arena_strndup(s->a, piece.data, piece.len), *percent = strchr(word, '%');
    int width = 0;
    if (percent)
        *percent = 0;
    const struct column *c = column_meant(t, word, s->a);
    if (!c)
        return unknown(s, t, word);
    if (percent)
        width = width_read(percent + 1);
    if (!width)
        width = c->width;
    struct format_item item = {.column = c,
                               .width = width < 0 ? -width : width,
                               .right = width > 0,
                               .mark_cut = true,
                               .suffix = " "};
    vec_push(&f->item, item);
    return true;
}

bool fields_read(struct sacctmgr *s, const struct column_table *t, const char *format,
                 struct format *f)
{
    struct span rest = span_of(format), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len && !item_add(s, t, piece, f))
            return false;
    }
    return f->item.n || unknown(s, t, "");
}
