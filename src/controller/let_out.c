#include "controller/let_out.h"

#include "controller/foresight.h"
#include "controller/past.h"
#include "controller/reads.h"
#include "controller/session/session.h"
#include "controller/site/joined.h"
#include "controller/site/program_run.h"

static void effect_log(struct controller *c, const struct effect *e)
{
    static const enum log_severity severity[] = {
        [LEVEL_ERROR] = LOG_IS_ERROR,
        [LEVEL_WARNING] = LOG_IS_WARNING,
        [LEVEL_INFO] = LOG_IS_INFO,
        [LEVEL_DEBUG] = LOG_IS_DEBUG,
    };
    log_write(c->log, severity[e->level], "%s", e->text);
}

/* Whoever shut the host out is told of a line that stays. */
static void config_again(struct controller *c, const struct effect *e)
{
    struct err err = {0};
    if (!joined_remove(c, e->text, &err))
        session_remark(c->sessions, e->conn, err.text);
    controller_reconfigure(c);
}

static void effect_release(struct controller *c, const struct effect *e)
{
    switch (e->kind) {
    case FX_STORE: return;
    case FX_REPLY:
    case FX_SEND: session_send(c->sessions, e->conn, &e->msg, e->payload_job); return;
    case FX_MAIL:
        mailer_send_about(
            c->mailer, e->mail.uid, e->mail.to, e->mail.subject, e->mail.body,
            &(struct mail_about){e->mail.about, e->mail.gid, e->mail.samples_come, e->mail.env});
        return;
    case FX_PROGRAM: program_run(c->programs, &e->program); return;
    case FX_CLOSE: session_close(c->sessions, e->conn); return;
    case FX_LOG: effect_log(c, e); return;
    case FX_STOP:
        controller_down_mark(c);
        controller_stop(c);
        return;
    case FX_RECONFIGURE: config_again(c, e); return;
    case FX_ARCHIVE: past_ask(c->past, e->conn, e->msg.seq, e->msg.body); return;
    }
}

static void turn_released(struct controller *c)
{
    reads_look(c->reads);
    sessions_released(c->sessions);
    foresight_look(c->foresight);
}

static void turns_over(struct controller *c)
{
    sessions_close(c->sessions, false);
}

const struct turn_ops let_out = {
    .effect = effect_release, .released = turn_released, .over = turns_over};
