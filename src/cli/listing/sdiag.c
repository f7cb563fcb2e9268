/* sdiag: what the controller has done and how long it took. Labels are Slurm's, because monitoring
 * reads them; the two schedulers that Slurm has are one here, which is shown as both. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/commands.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing_command.h"
#include "cli/table/rpcs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct sdiag {
    struct listing l;
    bool reset;
    char sort; /* letter of the option that said so; 0 = by count */
    struct diag diag;
    rpc_vec rpc, rpc_user;
};

static SETTER(set_sort)
{
    ((struct sdiag *)to)->sort = row->letter;
    return true;
}

#define AT(member) offsetof(struct sdiag, member)
#define BY(name_, letter_, doc_)                                                                   \
    {                                                                                              \
        .name = name_, .letter = letter_, .doc = doc_, .set = set_sort                             \
    }
static const struct option_row option_rows[] = {
    OPT_NO_EFFECT("all", 'a', ARG_NONE, "everything (the default)"),
    OPT_VALUE("cluster", 'M', "cluster", "cluster; only this one is known", set_any_text,
              LISTING(clusters), .alias = "clusters", .env = {"SLURM_CLUSTERS"}),
    LISTING_HELP('h'),
    LISTING_JSON,
    OPT_FLAG("reset", 'r', "count anew (administrators)", AT(reset)),
    BY("sort-by-id", 'i', "messages by their numbers, users by theirs (else: by count)"),
    BY("sort-by-time", 't', "by the time spent on them"),
    BY("sort-by-time2", 'T', "by the time spent on each"),
    LISTING_USAGE,
    LISTING_VERSION,
    LISTING_YAML,
};
OPTION_TABLE(sdiag_options, option_rows, .usage = "sdiag [OPTIONS]", .variables_as_are = true);

static void diag_take(void *ctx, const void *record)
{
    struct sdiag *s = ctx;
    record_copy(&diag_fields, &s->diag, record, s->l.a);
}

/* ---- text ----------------------------------------------------------------------------------- */

static long long minutes(const struct diag *d)
{
    int64_t span = (d->now_us - d->reset_us) / USEC_PER_MIN;
    return span > 0 ? (long long)span : 1;
}

static void jobs_print(const struct diag *d)
{
    puts("*******************************************************");
    diag_time_print("sdiag output at ", d->now_us);
    diag_time_print("Data since      ", d->reset_us);
    puts("*******************************************************");
    printf("Server thread count:  %llu\n", (unsigned long long)d->connections);
    puts("RPC queue enabled:    0");
    puts("Agent queue size:     0");
    puts("Agent count:          0");
    puts("Agent thread count:   0");
    puts("DBD Agent queue size: 0\n");
    printf("Jobs submitted: %llu\n", (unsigned long long)d->jobs_submitted);
    printf("Jobs started:   %llu\n", (unsigned long long)d->jobs_started);
    printf("Jobs completed: %llu\n", (unsigned long long)d->jobs_completed);
    printf("Jobs canceled:  %llu\n", (unsigned long long)d->jobs_cancelled);
    printf("Jobs failed:    %llu\n", (unsigned long long)d->jobs_failed);
    printf("Jobs preempted: %llu\n\n", (unsigned long long)d->jobs_preempted);
    diag_time_print("Job states ts:  ", d->now_us);
    printf("Jobs pending:   %llu\n", (unsigned long long)d->jobs_pending);
    printf("Jobs running:   %llu\n", (unsigned long long)d->jobs_running);
}

/* The counts of rounds by length are the fields of that name; what follows it says how long. */
#define LENGTH "rounds_"

static void lengths_print(const struct diag *d)
{
    puts("\tRounds by processor time, up to:");
    for (size_t i = 0; i < diag_fields.n; i++) {
        const struct field *f = &diag_fields.field[i];
        const uint64_t *n = field_ptr(f, d);
        if (text_starts(f->name, LENGTH) && *n)
            printf("\t\t%-7s %llu\n", f->name + strlen(LENGTH), (unsigned long long)*n);
    }
}

static void rounds_print(const struct diag *d)
{
    puts("\nRounds of the controller's loop (microseconds in which nobody is heard):");
    printf("\tLongest round: %lld\n", (long long)d->round_max_us);
    printf("\tMean round:    %lld\n", diag_mean(d->round_sum_us, d->rounds));
    printf("\tTotal rounds:  %llu\n", (unsigned long long)d->rounds);
    lengths_print(d);
}

static void plans_print(const struct diag *d)
{
    puts("\nMain schedule statistics (microseconds):");
    printf("\tLast cycle:   %lld\n", (long long)d->plan_last_us);
    printf("\tMax cycle:    %lld\n", (long long)d->plan_max_us);
    printf("\tTotal cycles: %llu\n", (unsigned long long)d->plans);
    printf("\tMean cycle:   %lld\n", diag_mean(d->plan_sum_us, d->plans));
    printf("\tMean depth cycle:  %lld\n", diag_mean((int64_t)d->considered_sum, d->plans));
    printf("\tCycles per minute: %lld\n", (long long)d->plans / minutes(d));
    printf("\tLast queue length: %llu\n", (unsigned long long)d->considered);
    puts("\nBackfilling stats");
    printf("\tTotal backfilled jobs (since last slurm start): %llu\n",
           (unsigned long long)d->backfilled_ever);
    printf("\tTotal backfilled jobs (since last stats cycle start): %llu\n",
           (unsigned long long)d->backfilled);
    puts("\tTotal backfilled heterogeneous job components: 0");
    printf("\tTotal cycles: %llu\n", (unsigned long long)d->plans);
    diag_time_print("\tLast cycle when: ", d->plan_at_us);
    printf("\tLast cycle: %lld\n", (long long)d->plan_last_us);
    printf("\tMax cycle:  %lld\n", (long long)d->plan_max_us);
    printf("\tMean cycle: %lld\n", diag_mean(d->plan_sum_us, d->plans));
    printf("\tLast depth cycle: %llu\n", (unsigned long long)d->considered);
    printf("\tLast depth cycle (try sched): %llu\n", (unsigned long long)d->considered);
    printf("\tDepth Mean: %lld\n", diag_mean((int64_t)d->considered_sum, d->plans));
    printf("\tDepth Mean (try depth): %lld\n", diag_mean((int64_t)d->considered_sum, d->plans));
    printf("\tLast queue length: %llu\n", (unsigned long long)d->considered);
    printf("\tQueue length mean: %lld\n", diag_mean((int64_t)d->considered_sum, d->plans));
    puts("\tLast table size: 0\n\tMean table size: 0");
    puts("\nLatency for 1000 calls to gettimeofday(): 0 microseconds");
}

static void rpcs_print(const struct sdiag *s)
{
    puts("\nRemote Procedure Call statistics by message type");
    for (size_t i = 0; i < s->rpc.n; i++) {
        printf("\t%-40s(%5llu)", s->rpc.v[i].name, (unsigned long long)s->rpc.v[i].number);
        rpc_end_print(&s->rpc.v[i]);
    }
    puts("\nRemote Procedure Call statistics by user");
    for (size_t i = 0; i < s->rpc_user.n; i++) {
        printf("\t%-16s(%8llu)", s->rpc_user.v[i].name,
               (unsigned long long)s->rpc_user.v[i].number);
        rpc_end_print(&s->rpc_user.v[i]);
    }
    puts("\nPending RPC statistics\n\tNo pending RPCs");
    if (s->diag.trouble)
        printf("\nTrouble: %s\n", s->diag.trouble);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_jobs(struct json_out *j, const struct diag *d)
{
    json_key_number(j, "req_time", true, d->now_us / USEC_PER_SEC);
    json_key_number(j, "req_time_start", true, d->reset_us / USEC_PER_SEC);
    json_key_i64(j, "parts_packed", 1);
    json_key_i64(j, "server_thread_count", (int64_t)d->connections);
    json_key_i64(j, "agent_queue_size", 0);
    json_key_i64(j, "agent_count", 0);
    json_key_i64(j, "agent_thread_count", 0);
    json_key_i64(j, "dbd_agent_queue_size", 0);
    json_key_i64(j, "gettimeofday_latency", 0);
    json_key_i64(j, "jobs_submitted", (int64_t)d->jobs_submitted);
    json_key_i64(j, "jobs_started", (int64_t)d->jobs_started);
    json_key_i64(j, "jobs_completed", (int64_t)d->jobs_completed);
    json_key_i64(j, "jobs_canceled", (int64_t)d->jobs_cancelled);
    json_key_i64(j, "jobs_failed", (int64_t)d->jobs_failed);
    json_key_i64(j, "jobs_pending", (int64_t)d->jobs_pending);
    json_key_i64(j, "jobs_running", (int64_t)d->jobs_running);
    json_key_number(j, "job_states_ts", true, d->now_us / USEC_PER_SEC);
}

static void json_lengths(struct json_out *j, const struct diag *d)
{
    for (size_t i = 0; i < diag_fields.n; i++) {
        const struct field *f = &diag_fields.field[i];
        if (text_starts(f->name, LENGTH))
            json_key_i64(j, f->name, (int64_t) * (const uint64_t *)field_ptr(f, d));
    }
}

static void json_plans(struct json_out *j, const struct diag *d)
{
    int64_t depth = diag_mean((int64_t)d->considered_sum, d->plans),
            time = diag_mean(d->plan_sum_us, d->plans);
    json_key_i64(j, "round_max", d->round_max_us);
    json_key_i64(j, "round_mean", diag_mean(d->round_sum_us, d->rounds));
    json_key_i64(j, "round_total", (int64_t)d->rounds);
    json_lengths(j, d);
    json_key_i64(j, "schedule_cycle_max", d->plan_max_us);
    json_key_i64(j, "schedule_cycle_last", d->plan_last_us);
    json_key_i64(j, "schedule_cycle_sum", d->plan_sum_us);
    json_key_i64(j, "schedule_cycle_total", (int64_t)d->plans);
    json_key_i64(j, "schedule_cycle_mean", time);
    json_key_i64(j, "schedule_cycle_mean_depth", depth);
    json_key_i64(j, "schedule_cycle_per_minute", (int64_t)d->plans / minutes(d));
    json_key_i64(j, "schedule_cycle_depth", (int64_t)d->considered_sum);
    json_key_i64(j, "schedule_queue_length", (int64_t)d->considered);
    json_key_i64(j, "bf_backfilled_jobs", (int64_t)d->backfilled_ever);
    json_key_i64(j, "bf_last_backfilled_jobs", (int64_t)d->backfilled);
    json_key_i64(j, "bf_backfilled_het_jobs", 0);
    json_key_i64(j, "bf_cycle_counter", (int64_t)d->plans);
    json_key_i64(j, "bf_cycle_mean", time);
    json_key_i64(j, "bf_depth_mean", depth);
    json_key_i64(j, "bf_depth_mean_try", depth);
    json_key_i64(j, "bf_cycle_sum", d->plan_sum_us);
    json_key_i64(j, "bf_cycle_last", d->plan_last_us);
    json_key_i64(j, "bf_cycle_max", d->plan_max_us);
    json_key_i64(j, "bf_last_depth", (int64_t)d->considered);
    json_key_i64(j, "bf_last_depth_try", (int64_t)d->considered);
    json_key_i64(j, "bf_depth_sum", (int64_t)d->considered_sum);
    json_key_i64(j, "bf_depth_try_sum", (int64_t)d->considered_sum);
    json_key_i64(j, "bf_queue_len", (int64_t)d->considered);
    json_key_i64(j, "bf_queue_len_mean", depth);
    json_key_i64(j, "bf_queue_len_sum", (int64_t)d->considered_sum);
    json_key_i64(j, "bf_table_size", 0);
    json_key_i64(j, "bf_table_size_mean", 0);
    json_key_number(j, "bf_when_last_cycle", true, d->plan_at_us / USEC_PER_SEC);
    json_key_bool(j, "bf_active", false);
}

static void json_empty(struct json_out *j, const char *key)
{
    json_key(j, key);
    json_array(j);
    json_array_end(j);
}

static void json_rpcs(struct json_out *j, const char *key, const rpc_vec *list, const char *name,
                      const char *number)
{
    json_key(j, key);
    json_array(j);
    for (size_t i = 0; i < list->n; i++) {
        const struct rpc_count *r = &list->v[i];
        json_object(j);
        json_key_text(j, name, r->name);
        json_key_i64(j, number, (int64_t)r->number);
        json_key_i64(j, "count", (int64_t)r->count);
        json_key_i64(j, "queued", 0);
        json_key_i64(j, "dropped", 0);
        json_key_i64(j, "cycle_last", 0);
        json_key_i64(j, "cycle_max", 0);
        json_key_i64(j, "total_time", (int64_t)r->us);
        json_key_number(j, "average_time", true, diag_mean((int64_t)r->us, r->count));
        json_object_end(j);
    }
    json_array_end(j);
}

static void json_print(const struct sdiag *s)
{
    const struct diag *d = &s->diag;
    struct json_out j;
    struct str out = STR_INIT;
    json_slurm_begin(&j, &out, "sdiag");
    json_key(&j, "statistics");
    json_object(&j);
    json_jobs(&j, d);
    json_plans(&j, d);
    json_rpcs(&j, "rpcs_by_message_type", &s->rpc, "message_type", "type_id");
    json_rpcs(&j, "rpcs_by_user", &s->rpc_user, "user", "user_id");
    json_empty(&j, "pending_rpcs");
    json_empty(&j, "pending_rpcs_by_hostlist");
    json_object_end(&j);
    json_slurm_end(&j, s->l.json);
}

/* ---- running it ----------------------------------------------------------------------------- */

static bool reset(struct client *c, struct sdiag *s, struct err *ret_err)
{
    struct msg_daemon m = {.action = DAEMON_RESET_DIAG};
    struct message answer = {0};
    if (!client_call(c, MSG_DAEMON, &m, 10000, s->l.a, &answer, ret_err))
        return false;
    const struct msg_done *done = answer.kind == MSG_DONE ? answer.body : NULL;
    if (done && done->refusal == REFUSE_ACCESS_DENIED)
        fputs("slurm_reset_statistics: Access/permission denied\n", stderr);
    if (!done || done->refusal != REFUSE_NONE)
        return err_set(ret_err, ERR_INVALID, "%s",
                       done && done->detail
                           ? done->detail
                           : refusal_text(done ? (enum refusal)done->refusal : REFUSE_BAD_MESSAGE));
    puts("Reset scheduling statistics");
    return true;
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sdiag *s = ctx;
    struct msg_done done = {0};
    struct msg_query q = {.what = QUERY_DIAG};
    if (s->reset)
        return reset(c, s, ret_err);
    if (!client_query(c, &q, &diag_fields, s->l.a, diag_take, s, &done, ret_err))
        return false;
    rpcs_read(s->diag.rpcs, s->sort, s->l.a, &s->rpc);
    rpcs_read(s->diag.rpc_users, s->sort, s->l.a, &s->rpc_user);
    if (s->l.json) {
        json_print(s);
        return true;
    }
    jobs_print(&s->diag);
    plans_print(&s->diag);
    rounds_print(&s->diag);
    rpcs_print(s);
    return true;
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct sdiag *s = ctx;
    (void)ret_err;
    s->l.asks = s->reset ? "slurm_reset_statistics" : NULL;
    return true;
}

static const struct listing_command command = {
    .name = "sdiag",
    .options = &sdiag_options,
    .away = 255,
    .prepare = prepare,
    .show = show,
};

int cmd_sdiag(int argc, char **argv)
{
    struct sdiag s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    vec_done(&s.rpc);
    vec_done(&s.rpc_user);
    listing_done(&s.l);
    return status;
}
