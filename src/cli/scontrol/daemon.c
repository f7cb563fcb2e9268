/* scontrol about the daemons: ping, reconfigure, shutdown, and what Slurm's daemons have switches
 * for that ours do not. */
#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/json_slurm.h"
#include "io/process/program_list.h"
#include "model/refusal.h"
#include "model/settings/settings.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void ping_json(const char *host, bool up, int64_t us, enum json_form form)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "pings");
    json_array(&o);
    json_object(&o);
    json_key_text(&o, "hostname", host);
    json_key_text(&o, "pinged", up ? "UP" : "DOWN");
    json_key_bool(&o, "responding", up);
    json_key_i64(&o, "latency", us);
    json_key_text(&o, "mode", "primary");
    json_key_bool(&o, "primary", true);
    json_object_end(&o);
    json_array_end(&o);
    json_slurm_end(&o, form);
}

void scontrol_ping(struct scontrol *s, int n, char **word)
{
    struct client *c = client_open(state_dir_find(NULL, s->a), NULL);
    struct msg_daemon m = {.action = DAEMON_PING};
    struct message answer;
    char host[256] = "";
    if (!c)
        room_check("whether the controller answers");
    int64_t began = time_now_us();
    bool up = c && client_call(c, MSG_DAEMON, &m, 5000, s->a, &answer, NULL);
    (void)n;
    (void)word;
    gethostname(host, sizeof host - 1);
    if (s->json)
        ping_json(host, up, time_now_us() - began, s->json);
    else
        printf("Slurmctld(primary) at %s is %s\n", host, up ? "UP" : "DOWN");
    if (c)
        client_close(c);
    s->rc |= !up;
}

static void config_warn(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "scontrol: warning: %s\n", line);
}

static void program_warn(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "scontrol: warning: %s\n", sentence);
}

/* The configuration is read here first, so that a mistake is told to whoever made it and nothing is
 * half done. */
void scontrol_reconfigure(struct scontrol *s, int n, char **word)
{
    struct config config;
    struct err err = {0};
    struct msg_daemon m = {.action = DAEMON_RECONFIGURE};
    (void)n;
    (void)word;
    if (cluster_conf_read(state_dir_find(NULL, s->a), &config, &err)) {
        config_warnings_say(&config, false, "`remuda config check -v`", config_warn, NULL);
        program_settings_check(&config.settings, program_warn, NULL);
        config_done(&config);
        /* a host that joined has none: the controller reads its own. */
    } else if (err.code != ERR_NOT_FOUND) {
        scontrol_fail(s, "slurm_reconfigure error: %s", err.text);
        return;
    }
    scontrol_change(s, MSG_DAEMON, &m, "slurm_reconfigure error");
}

void scontrol_shutdown(struct scontrol *s, int n, char **word)
{
    struct msg_daemon m = {.action = DAEMON_SHUTDOWN, .nodes_too = n < 1};
    if (n && !text_is_nocase(word[0], "slurmctld") && !text_is_nocase(word[0], "controller")) {
        scontrol_refuse(s, "invalid shutdown argument:%s", word[0]);
        scontrol_fail(s, "slurmctld stops the controller alone, nothing the node daemons too");
    } else {
        scontrol_change(s, MSG_DAEMON, &m, "slurm_shutdown error");
    }
}

/* ---- errors by their numbers ---------------------------------------------------------------- */

struct numbered {
    int number; /* as in Slurm */
    enum refusal refusal;
};

static const struct numbered numbers[] = {
    {2000, REFUSE_INVALID_PARTITION},
    {2002, REFUSE_ACCESS_DENIED},
    {2003, REFUSE_PARTITION_ACCESS},
    {2005, REFUSE_TOO_MANY_CPUS},
    {2006, REFUSE_INVALID_NODE_COUNT},
    {2014, REFUSE_NODE_CONFIG},
    {2016, REFUSE_UNAVAILABLE},
    {2017, REFUSE_INVALID_JOB_ID},
    {2018, REFUSE_INVALID_NODE},
    {2021, REFUSE_ALREADY_DONE},
    {2024, REFUSE_JOB_PENDING},
    {2025, REFUSE_INVALID_TASK_COUNT},
    {2029, REFUSE_FEATURE},
    {2036, REFUSE_UNSUPPORTED},
    {2037, REFUSE_DISABLED},
    {2038, REFUSE_DEPENDENCY},
    {2039, REFUSE_NOT_REQUEUABLE},
    {2045, REFUSE_ACCOUNT},
    {2048, REFUSE_LICENSES},
    {2050, REFUSE_PARTITION_LIMIT},
    {2051, REFUSE_TIME_LIMIT},
    {2052, REFUSE_RESERVATION_ACCESS},
    {2053, REFUSE_RESERVATION},
    {2055, REFUSE_RESERVATION_BUSY},
    {2066, REFUSE_QOS},
    {2069, REFUSE_INVALID_CPU_COUNT},
    {2070, REFUSE_PARTITION_DOWN},
    {2072, REFUSE_GRES},
    {2073, REFUSE_NOT_PENDING},
    {2076, REFUSE_STEP_LIMIT},
    {2081, REFUSE_INVALID_ARRAY},
    {2071, REFUSE_CIRCULAR},
    {2082, REFUSE_RESERVATION_NAME},
    {2084, REFUSE_JOB_FINISHED},
    {2085, REFUSE_NOT_RUNNING},
    {2087, REFUSE_NOT_SUSPENDED},
    {5004, REFUSE_TIMEOUT},
};

void scontrol_errnumstr(struct scontrol *s, int n, char **word)
{
    int64_t number;
    if (n != 1) {
        scontrol_refuse(s, "one arguments required for keyword:errnumstr");
        return;
    }
    if (!text_to_i64(word[0], INT32_MIN, INT32_MAX, &number)) {
        scontrol_refuse(s, "numeric arguments required for keyword:errnumstr");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (numbers[i].number == number) {
            puts(refusal_text(numbers[i].refusal));
            return;
        }
    puts(number ? strerror((int)number) : "No error");
}

/* ---- what our daemons have no switch for ---------------------------------------------------- */

void scontrol_setdebug(struct scontrol *s, int n, char **word)
{
    static const char *const levels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                         "debug", "debug2", "debug3", "debug4", "debug5"};
    int64_t number;
    bool known = text_to_i64(word[0], 0, (int64_t)ARRAY_LEN(levels) - 1, &number);
    (void)n;
    for (size_t i = 0; i < ARRAY_LEN(levels) && !known; i++)
        known = text_is_nocase(levels[i], word[0]);
    if (!known)
        scontrol_refuse(s, "invalid debug level: %s", word[0]);
    else
        fprintf(stderr, "scontrol: setdebug has no effect: the controller's log always has all "
                        "(remuda logs)\n");
}

void scontrol_setdebugflags(struct scontrol *s, int n, char **word)
{
    for (int i = 0; i < n; i++)
        if (word[i][0] != '+' && word[i][0] != '-') {
            scontrol_refuse(s, "invalid debug flag: %s\nUsage: setdebugflags [+|-]NAME", word[i]);
            return;
        }
    fprintf(stderr, "scontrol: setdebugflags has no effect: the controller's log always has all "
                    "(remuda logs)\n");
}

void scontrol_schedloglevel(struct scontrol *s, int n, char **word)
{
    (void)n;
    if (!text_is(word[0], "0") && !text_is(word[0], "1") && !text_is_nocase(word[0], "enable") &&
        !text_is_nocase(word[0], "disable")) {
        scontrol_refuse(s, "invalid schedlog level: %s", word[0]);
        return;
    }
    scontrol_refuse(s, "slurm_set_schedlog_level error: %s", refusal_text(REFUSE_DISABLED));
    scontrol_fail(
        s, "there is no log of the planner; `remuda why JOB` tells what it decided about a job");
}

void scontrol_fsdampeningfactor(struct scontrol *s, int n, char **word)
{
    int64_t factor;
    (void)n;
    if (!text_to_i64(word[0], 1, UINT16_MAX, &factor)) {
        scontrol_refuse(s, "invalid dampening factor: %s", word[0]);
        return;
    }
    struct msg_daemon m = {.action = DAEMON_DAMPENING, .factor = (int32_t)factor};
    scontrol_change(s, MSG_DAEMON, &m, "slurm_set_fs_dampeningfactor error");
}

void scontrol_reboot(struct scontrol *s, int n, char **word)
{
    (void)word;
    if (n < 1) {
        scontrol_refuse(s, "Missing node list. Specify ALL|<NodeList>");
        return;
    }
    scontrol_fail(s, "RebootProgram isn't defined");
    scontrol_fail(
        s, "reboot: not supported yet; `scontrol update NodeName=… State=DRAIN Reason=…` empties a "
           "node for you to restart");
}

static void row_ignore(void *ctx, const void *record)
{
    (void)ctx;
    (void)record;
}

void scontrol_cancel_reboot(struct scontrol *s, int n, char **word)
{
    struct msg_query q = {.what = QUERY_NODES, .names = n ? word[0] : NULL, .fields = "name"};
    struct msg_done done = {0};
    struct err err = {0};
    struct client *c = n ? scontrol_connect(s, "slurm_update error") : NULL;
    if (!n)
        scontrol_refuse(s, "missing argument for keyword:cancel_reboot");
    else if (c && !client_query(c, &q, &node_fields, s->a, row_ignore, NULL, &done, &err))
        scontrol_fail(s, "slurm_update error: %s", err.text);
    else if (c && done.refusal != REFUSE_NONE)
        scontrol_refuse(s, "slurm_update error: %s", refusal_text(REFUSE_INVALID_NODE));
    else if (c)
        scontrol_refuse(s, "slurm_update error: Invalid node state specified");
}

void scontrol_takeover(struct scontrol *s, int n, char **word)
{
    int64_t index = 0;
    if (n)
        text_to_i64(word[0], 0, INT32_MAX, &index);
    if (n)
        scontrol_refuse(s, "takeover: invalid backup controller index (%lld)", (long long)index);
    scontrol_fail(s, "takeover: not supported yet: there are no backup controllers");
}

void scontrol_token(struct scontrol *s, int n, char **word)
{
    (void)n;
    (void)word;
    scontrol_refuse(s, "Error fetching token");
    scontrol_fail(s, "token: not supported yet: there is no slurmrestd that would take one, and "
                     "commands are known by their user; `remuda token` lets machines in");
}
