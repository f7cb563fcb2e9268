/* sacctmgr show stats, clear stats: Slurm's layout, of the controller, which is its own accounting.
 * Sums of use are stored with the end of each job, so nothing is said of roll-ups: as by a slurmdbd
 * that has made none yet. */
#include "cli/accounts/accounts.h"
#include "cli/table/rpcs.h"

#include <stdio.h>

#define STARS "*******************************************************************"

static void diag_take(void *ctx, const void *record)
{
    const struct diag *d = record;
    struct sacctmgr *s = ctx;
    rpc_vec rpc = {0}, user = {0};
    rpcs_read(d->rpcs, 0, s->a, &rpc);
    rpcs_read(d->rpc_users, 0, s->a, &user);
    puts(STARS);
    diag_time_print("sacctmgr show stats output at ", d->now_us);
    diag_time_print("Data since                    ", d->reset_us);
    puts("All statistics are in microseconds\n" STARS);
    puts("\nRemote Procedure Call statistics by message type");
    for (size_t i = 0; i < rpc.n; i++) {
        printf("\t%-25s(%5llu)", rpc.v[i].name, (unsigned long long)rpc.v[i].number);
        rpc_end_print(&rpc.v[i]);
    }
    puts("\nRemote Procedure Call statistics by user");
    for (size_t i = 0; i < user.n; i++) {
        printf("\t%-20s(%10llu)", user.v[i].name, (unsigned long long)user.v[i].number);
        rpc_end_print(&user.v[i]);
    }
    vec_done(&rpc);
    vec_done(&user);
}

void stats_show(struct sacctmgr *s)
{
    const struct msg_query q = {.what = QUERY_DIAG};
    if (sacctmgr_connect(s))
        sacctmgr_query(s, &q, &diag_fields, diag_take, s);
}

void stats_clear(struct sacctmgr *s)
{
    const struct msg_daemon m = {.action = DAEMON_RESET_DIAG};
    struct client *c = sacctmgr_connect(s);
    struct message answer = {0};
    struct err e = {0};
    if (!c)
        return;
    if (!client_call(c, MSG_DAEMON, &m, 0, s->a, &answer, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return;
    }
    const struct msg_done *done = answer.kind == MSG_DONE ? answer.body : NULL;
    enum refusal refusal = done ? (enum refusal)done->refusal : REFUSE_BAD_MESSAGE;
    if (refusal != REFUSE_NONE)
        sacctmgr_fail(s, "clear stats: %s",
                      done && done->detail ? done->detail : refusal_text(refusal));
}
