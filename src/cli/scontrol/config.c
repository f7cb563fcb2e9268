/* scontrol show config. The settings come from the controller; what Slurm has a key for and we have
 * no switch for is shown with what is the case here, since tools look for the key. Values are
 * written as Slurm writes them. */
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/listing.h"
#include "model/record/diag.h"
#include "model/settings/key.h"
#include "model/settings/settings.h"
#include "model/stored.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARRAY_SIZE_MOST 4000001 /* of Slurm's MaxArraySize; tools keep the number in 32 bits */

struct config_found {
    struct arena *a;
    VEC(const struct meta *) meta;
};

static void meta_keep(void *ctx, const void *record)
{
    struct config_found *f = ctx;
    vec_push(&f->meta, arena_dup(f->a, record, sizeof(struct meta)));
}

static int meta_compare(const void *pa, const void *pb)
{
    return strcasecmp((*(const struct meta *const *)pa)->key,
                      (*(const struct meta *const *)pb)->key);
}

static void config_add(struct config_found *f, const char *key, const char *value)
{
    struct meta m = {.key = key, .value = value};
    meta_keep(f, &m);
}

// clang-format off
static const struct meta constant[] = {
    {"AccountingStorageBackupHost", NULL}, {"AccountingStorageExternalHost", NULL}, {"AccountingStorageHost", "localhost"},
    {"AccountingStorageParameters", NULL}, {"AccountingStoragePort", "0"}, {"AccountingStorageTRES", "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu"},
    {"AccountingStorageUser", "N/A"}, {"AccountingStoreFlags", NULL}, {"AcctGatherEnergyType", NULL}, {"AcctGatherFilesystemType", NULL},
    {"AcctGatherInterconnectType", NULL}, {"AcctGatherProfileType", NULL}, {"AllowSpecResourcesUsage", "No"}, {"AuthAltParameters", NULL}, {"AuthAltTypes", NULL}, {"AuthInfo", NULL},
    {"AuthType", "auth/remuda"}, {"BatchStartTimeout", "10 sec"}, {"BcastExclude", NULL}, {"BcastParameters", NULL}, {"BurstBufferType", NULL}, {"CertgenType", NULL}, {"CertmgrType", NULL},
    {"CliFilterPlugins", NULL}, {"CommunicationParameters", NULL}, {"CompleteWait", "0 sec"}, {"CpuFreqDef", "Unknown"}, {"CpuFreqGovernors", "OnDemand,Performance,UserSpace"},
    {"CredType", "cred/remuda"}, {"DataParserParameters", NULL}, {"DebugFlags", NULL}, {"DependencyParameters", NULL}, {"DisableRootJobs", "No"}, {"EioTimeout", "60"}, {"EpilogMsgTime", "2000 usec"},
    {"EpilogSlurmctld", NULL}, {"FederationParameters", NULL}, {"GetEnvTimeout", "2 sec"}, {"GpuFreqDef", NULL}, {"GroupUpdateForce", "1"}, {"GroupUpdateTime", "600 sec"},
    {"HASH_VAL", "Match"}, {"HashPlugin", NULL}, {"HealthCheckInterval", "0 sec"}, {"HealthCheckNodeState", "ANY"}, {"HealthCheckProgram", NULL}, {"JobCompHost", "localhost"},
    {"JobCompLoc", NULL}, {"JobCompParams", NULL}, {"JobCompPort", "0"}, {"JobCompType", NULL}, {"JobCompUser", "root"}, {"JobContainerType", NULL},
    {"JobFileAppend", "0"}, {"JobSubmitPlugins", NULL}, {"LogTimeFormat", "iso8601_ms"}, {"MaxDBDMsgs", "0"}, {"MaxJobId", "4294901760"}, {"MaxStepCount", "40000"}, {"MaxTasksPerNode", "65533"},
    {"MCSParameters", NULL}, {"MCSPlugin", NULL}, {"MpiParams", NULL}, {"MULTIPLE_SLURMD", "Yes"}, {"NodeFeaturesPlugins", NULL}, {"PluginDir", NULL},
    {"PlugStackConfig", NULL}, {"PrEpParameters", NULL}, {"PrEpPlugins", NULL}, {"PriorityParameters", NULL}, {"PrioritySiteFactorParameters", NULL}, {"PrioritySiteFactorPlugin", NULL},
    {"PrologFlags", NULL}, {"PrologSlurmctld", NULL}, {"PropagatePrioProcess", "0"}, {"RebootProgram", NULL}, {"ReconfigFlags", NULL},
    {"RequeueExit", NULL}, {"RequeueExitHold", NULL}, {"ResumeFailProgram", NULL}, {"ResumeProgram", NULL}, {"ResumeRate", "300 nodes/min"}, {"ResumeTimeout", "60 sec"}, {"ResvEpilog", NULL},
    {"ResvProlog", NULL}, {"SlurmctldDebug", "info"}, {"SlurmctldLogFile", NULL}, {"SlurmctldPidFile", NULL},
    {"SlurmctldPrimaryOffProg", NULL}, {"SlurmctldPrimaryOnProg", NULL}, {"SlurmctldSyslogDebug", NULL}, {"SlurmctldTimeout", "120 sec"}, {"SlurmdDebug", "info"}, {"SlurmdLogFile", NULL},
    {"SlurmdParameters", NULL}, {"SlurmdPidFile", NULL}, {"SlurmdPort", "0"}, {"SlurmdSpoolDir", NULL}, {"SlurmdSyslogDebug", NULL}, {"SlurmSchedLogFile", NULL},
    {"SlurmSchedLogLevel", "0"}, {"SuspendExcNodes", NULL}, {"SuspendExcParts", NULL}, {"SuspendExcStates", NULL}, {"SuspendProgram", NULL}, {"SuspendRate", "60 nodes/min"}, {"SuspendTime", "INFINITE"},
    {"SuspendTimeout", "30 sec"}, {"SwitchParameters", NULL}, {"SwitchType", NULL}, {"TaskPluginParam", "(null type)"}, {"TCPTimeout", "2 sec"}, {"TLSParameters", NULL}, {"TLSType", NULL}, {"TmpFS", "/tmp"},
    {"TrackWCKey", "No"}, {"TreeWidth", "16"}, {"UnkillableStepProgram", NULL}, {"UsePam", "No"}, {"VSizeFactor", "0 percent"}, {"X11Parameters", NULL},
};
// clang-format on

/* ---- as Slurm writes them ------------------------------------------------------------------- */

static const char *limits_word(const char *value)
{
    if (text_is_nocase(value, "REFUSE"))
        return "ANY";
    return text_is_nocase(value, "PEND") ? "NO" : value;
}

static const char *upper(const char *value, struct arena *a)
{
    char *text = arena_strdup(a, value);
    for (char *at = text; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    return text;
}

static const char *yes_as_number(const char *value)
{
    return text_is(value, "Yes") ? "1" : "0";
}

static const char *value_shown(const char *key, const char *value, struct arena *a)
{
    static const char *const numbers[] = {SETTING_KEY(JobRequeue), SETTING_KEY(KillOnBadExit),
                                          SETTING_KEY(ReturnToService)};
    int64_t n;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (text_is(key, numbers[i]))
            return yes_as_number(value);
    if (text_is(key, SETTING_KEY(EnforcePartLimits)))
        return limits_word(value);
    if (text_is(key, SETTING_KEY(SelectTypeParameters)))
        return upper(value, a);
    if (text_is(key, SETTING_KEY(JobAcctGatherFrequency)))
        return arena_strndup(a, value, strcspn(value, " "));
    if (text_is(key, SETTING_KEY(MaxArraySize)) && text_to_i64(value, 0, INT64_MAX, &n) &&
        n > ARRAY_SIZE_MOST)
        return arena_printf(a, "%d", ARRAY_SIZE_MOST);
    return value;
}

static const char *unset_shown(const char *key)
{
    if (text_is(key, SETTING_KEY(PriorityFlags)))
        return "";
    if (text_is(key, SETTING_KEY(SrunPortRange)))
        return "0-0";
    return text_is(key, SETTING_KEY(TopologyPlugin)) ? "topology/flat" : "(null)";
}

/* Slurm shows of the memory rules the one that is set. */
static bool is_left_out(const struct config_found *f, const char *key)
{
    const char *cpu = strstr(key, "MemPerCPU"), *node = strstr(key, "MemPerNode");
    bool by_cpu = false;
    for (size_t i = 0; i < f->meta.n; i++)
        if (strncmp(f->meta.v[i]->key, key, 6) == 0 && strstr(f->meta.v[i]->key, "MemPerCPU"))
            by_cpu = !text_is(f->meta.v[i]->value, "UNLIMITED");
    return (cpu && !by_cpu) || (node && by_cpu);
}

/* ---- what is not a setting ------------------------------------------------------------------ */

/* Who runs the daemons: the owner of the cluster's directory. */
static const char *owner_of(const char *dir, struct arena *a)
{
    struct stat st;
    if (!dir || stat(dir, &st) != 0)
        return NULL;
    const struct passwd *who = user_by_uid(st.st_uid);
    return arena_printf(a, "%s(%u)", who ? who->pw_name : "nobody", (unsigned)st.st_uid);
}

static const char *user_with_id(const char *name, const char *otherwise, struct arena *a)
{
    const struct passwd *who =
        text_empty(name) || text_is(name, "(null)") ? NULL : user_by_name(name);
    return who ? arena_printf(a, "%s(%u)", who->pw_name, (unsigned)who->pw_uid) : otherwise;
}

static void nodes_count(void *ctx, const void *record)
{
    (void)record;
    ++*(int64_t *)ctx;
}

static void diag_keep(void *ctx, const void *record)
{
    *(int64_t *)ctx = ((const struct diag *)record)->start_us;
}

static void facts_add(struct scontrol *s, struct config_found *f, const struct cell_env *env)
{
    const char *dir = state_dir_find(NULL, s->a), *owner = owner_of(dir, s->a);
    struct msg_query nodes = {.what = QUERY_NODES, .fields = "name"}, diag = {.what = QUERY_DIAG};
    struct msg_done done = {0};
    int64_t n = 0, boot = 0;
    client_query(s->client, &nodes, &node_fields, s->a, nodes_count, &n, &done, NULL);
    client_query(s->client, &diag, &diag_fields, s->a, diag_keep, &boot, &done, NULL);
    for (size_t i = 0; i < ARRAY_LEN(constant); i++)
        meta_keep(f, &constant[i]);
    config_add(f, "BOOT_TIME", cell_time_text(env, boot, "N/A", s->a));
    config_add(f, "MaxNodeCount", arena_printf(s->a, "%lld", (long long)n));
    config_add(f, "SLURM_CONF", arena_printf(s->a, "%s/remuda.conf", dir ? dir : ""));
    config_add(f, "SLURM_VERSION", strchr(SLURM_VERSION_TEXT, ' ') + 1);
    config_add(f, "SlurmdUser", owner);
    for (size_t i = 0; i < f->meta.n; i++) {
        struct meta *m = (struct meta *)f->meta.v[i];
        if (text_is(m->key, SETTING_KEY(SlurmUser)))
            m->value = user_with_id(m->value, owner, s->a);
        else if (text_is(m->key, SETTING_KEY(StateSaveLocation)) &&
                 (text_empty(m->value) || text_is(m->value, "(null)")))
            m->value = dir;
        else if (text_is(m->key, SETTING_KEY(PriorityWeightFairshare)))
            m->key = "PriorityWeightFairShare";
    }
}

static bool settings_load(struct scontrol *s, struct config_found *f)
{
    struct client *c = scontrol_connect(s, "slurm_load_ctl_conf error");
    struct msg_query q = {.what = QUERY_SETTINGS};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return false;
    if (!client_query(c, &q, &meta_fields, s->a, meta_keep, f, &done, &err)) {
        scontrol_fail(s, "slurm_load_ctl_conf error: %s", err.text);
        return false;
    }
    return true;
}

static void setting_print(const struct config_found *f, const struct meta *m, const char *host)
{
    bool unset = text_empty(m->value) || text_is(m->value, "(null)");
    if (text_is(m->key, SETTING_KEY(SlurmctldHost)))
        printf("%-23s = %s\n", "SlurmctldHost[0]", unset ? host : m->value);
    else if (!is_left_out(f, m->key))
        printf("%-23s = %s\n", m->key,
               unset ? unset_shown(m->key) : value_shown(m->key, m->value, f->a));
}

void scontrol_show_config(struct scontrol *s)
{
    struct config_found f = {.a = s->a};
    struct cell_env env = listing_env();
    char host[256] = "";
    if (!settings_load(s, &f))
        return;
    gethostname(host, sizeof host - 1);
    facts_add(s, &f, &env);
    qsort(f.meta.v, f.meta.n, sizeof f.meta.v[0], meta_compare);
    printf("Configuration data as of %s\n", cell_time_text(&env, env.now_us, "", s->a));
    for (size_t i = 0; i < f.meta.n; i++)
        setting_print(&f, f.meta.v[i], host);
    printf("\nSlurmctld(primary) at %s is UP\n", host);
    vec_done(&f.meta);
}
