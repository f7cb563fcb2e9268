/* Start and end of the controller.
 *
 * Start: lock the state directory, open the log, read the configuration, open the store and take
 * over as its writer, feed the core its configuration and every live row, then listen: who can
 * connect finds a controller that knows everything. End: no new connections, the last turn is
 * committed and answered, connections are flushed. Being killed instead is as good: everything
 * said was committed. */
#include "controller/controller.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "controller/answer.h"
#include "controller/disk/given.h"
#include "controller/disk/payload.h"
#include "controller/disk/switch.h"
#include "controller/disk/writer.h"
#include "controller/foresight.h"
#include "controller/let_out.h"
#include "controller/loading.h"
#include "controller/metrics_port.h"
#include "controller/past.h"
#include "controller/reads.h"
#include "controller/series_store.h"
#include "controller/session/amend.h"
#include "controller/session/questions.h"
#include "controller/session/session.h"
#include "controller/session/submit_filter.h"
#include "controller/site/config_file.h"
#include "controller/site/hosts.h"
#include "controller/site/joined.h"
#include "controller/site/owners.h"
#include "controller/site/place.h"
#include "controller/site/private_files.h"
#include "controller/site/program_run.h"
#include "controller/traffic.h"
#include "controller/turn.h"
#include "io/build.h"
#include "io/client/client.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/process/last_words.h"
#include "io/process/program_list.h"
#include "io/process/release.h"
#include "io/work.h"
#include "store/file/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define USER_MAX_AGE_US (10 * USEC_PER_MIN)
#define STOP_MAX_US     (5 * USEC_PER_SEC)

struct options {
    const char *state_dir;
    bool foreground, verbose;
};

/* ---- configuration ---- */

static void program_warn(void *ctx, const char *sentence)
{
    struct controller *c = ctx;
    log_warning(c->log, "%s", sentence);
}

static void config_warn(struct controller *c)
{
    program_settings_check(&c->config.settings, program_warn, c);
    for (size_t i = 0; i < c->config.nwarnings; i++)
        log_warning(c->log, "%s", c->config.warning[i]);
}

/* The kernel draws one at each boot; NULL where it does not say. */
static const char *boot_name(struct arena *a)
{
    return file_read_text("/proc/sys/kernel/random/boot_id", 128, a, NULL);
}

/* Puts it in force everywhere. The former one lives until the core has the new. */
static void config_use(struct controller *c, const struct config *config)
{
    struct config former = c->config;
    bool had = c->has_config;
    c->config = *config;
    c->has_config = true;
    config_warn(c);
    const struct settings *s = &c->config.settings;
    struct mail_settings mail = {
        .program = s->mail_prog,
        .server = s->smtp_server,
        .smtp = c->smtp_program,
        .tls = s->smtp_tls,
        .login = s->smtp_login,
        .from = s->mail_from,
        .domain = s->mail_domain,
        .reporter = c->report_program,
        .state_dir = c->state_dir,
    };
    struct str fault = STR_INIT;
    mailer_configure(c->mailer, &mail);
    bool no_mail = mail_settings_fault(&mail, &fault);
    turns_step(c->turns, &(struct event){.kind = EV_CONFIG,
                                         .config = &c->config,
                                         .text = boot_name(c->arena),
                                         .mail_fault = no_mail ? str_text(&fault) : NULL});
    str_done(&fault);
    if (c->metrics)
        metrics_port_configure(c->metrics);
    hosts_port_look(c->hosts, s);
    if (had)
        config_done(&former);
}

void controller_reconfigure(struct controller *c)
{
    struct config config;
    struct err err = {0};
    users_flush(c->users);
    if (!config_file_read(c->config_path, &config, &err)) {
        log_error(c->log, "the configuration stays as it was: %s", err.text);
        return;
    }
    if (joined_settle(c, &config)) {
        config_done(&config);
        if (!config_file_read(c->config_path, &config, &err)) {
            log_error(c->log, "the configuration stays as it was: %s", err.text);
            return;
        }
    }
    config_use(c, &config);
    log_info(c->log, "read %s again", c->config_path);
}

/* ---- end ---- */

static void stop_at_once(void *ctx)
{
    struct controller *c = ctx;
    log_warning(c->log, "ending without waiting further");
    loop_stop(c->loop);
}

void controller_stop(struct controller *c)
{
    if (c->stopping)
        return;
    c->stopping = true;
    log_info(c->log, "stopping");
    listener_free(c->listener);
    c->listener = NULL;
    hosts_close(c->hosts);
    if (c->metrics)
        metrics_port_configure(c->metrics);
    c->stop_timer = timer_new(c->loop, stop_at_once, c);
    timer_set(c->stop_timer, STOP_MAX_US);
}

void controller_down_mark(struct controller *c)
{
    struct err err = {0};
    if (!file_write_atomic(state_down_path(c->state_dir, c->arena), "", 0, 0644, &err))
        log_warning(c->log, "%s", err.text);
}

static void on_stop_signal(void *ctx)
{
    controller_stop(ctx);
}

static void on_hangup(void *ctx)
{
    struct controller *c = ctx;
    struct err err = {0};
    if (!log_reopen(c->log, &err))
        log_error(c->log, "%s", err.text);
    if (!c->stopping)
        controller_reconfigure(c);
}

static void controller_end(struct controller *c)
{
    turns_end(c->turns);
    owner_watch_free(c->owners);
    place_watch_free(c->place);
    listener_free(c->listener);
    metrics_port_free(c->metrics);
    reads_free(c->reads);
    c->reads = NULL; /* turns may be let out yet */
    amends_free(c->amends);
    past_free(c->past);
    series_store_free(c->series);
    payloads_free(c->payloads);
    questions_free(c->questions);
    submit_filters_free(c->submit_filters);
    foresight_free(c->foresight);
    if (c->sessions) {
        sessions_close(c->sessions, true);
        while (sessions_count(c->sessions) > 0)
            loop_run(c->loop);
    }
    hosts_free(c->hosts);
    turns_free(c->turns);
    sessions_free(c->sessions);
    answer_rooms_free(c->answers);
    traffic_free(c->traffic);
    program_runs_free(c->programs);
    mailer_free(c->mailer);
    users_free(c->users);
    timer_free(c->stop_timer);
    core_free(c->core);
    if (c->has_config)
        config_done(&c->config);
    loop_free(c->loop);
}

/* ---- start ---- */

static uint64_t seed_make(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)clock_now_us();
    return seed;
}

/* Where the store cannot be written now (a full disk), but may be later: to read it is enough for a
 * beginning. NULL with ret_err. */
static struct store *store_read_instead(const char *path, const struct err *why, uint64_t *ret_seq,
                                        struct err *ret_err)
{
    struct stat st;
    struct store *s = NULL;
    if (why->code == ERR_UNAVAILABLE && stat(path, &st) == 0 && st.st_size > 0)
        s = store_open_still(path, ret_err);
    if (s && store_last(s, ret_seq, ret_err))
        return s;
    if (s)
        store_close(s);
    if (ret_err->code != ERR_INTERNAL) /* else it is damaged, too, which does not pass */
        *ret_err = *why;
    return NULL;
}

static void log_shortened(void *ctx)
{
    reads_look(((struct controller *)ctx)->reads);
}

static void log_shorten(void *ctx)
{
    struct controller *c = ctx;
    turns_shorten_log(c->turns, log_shortened, c);
}

/* Opened, taken over, and loaded. */
static bool store_start(struct controller *c, struct err *ret_err)
{
    uint64_t seq = 0;
    struct err away = {0};
    struct config config;
    struct store *still = NULL;
    const char *path = controller_path(c, "remuda.db");
    struct given given = {0};
    if (!given_read(controller_path(c, "given"), &given, ret_err) ||
        !store_file_check(path, given.seq, ret_err))
        return false;
    struct writer *writer = writer_new(path);
    if (!writer_open(writer, &seq, &away) &&
        !(still = store_read_instead(path, &away, &seq, ret_err))) {
        writer_free(writer);
        return false;
    }
    c->core = core_new(seed_make(), c->host);
    c->payloads = payloads_new(c, path, writer);
    c->reads = reads_new(c->loop, path, writer);
    c->answers = answer_rooms_new(ANSWERS_DISK_BYTES);
    c->past = past_new(c, path, writer);
    c->series = series_store_new(c);
    c->sessions = sessions_new(c);
    c->questions = questions_new(c);
    c->amends = amends_new(c);
    c->submit_filters = submit_filters_new(c);
    c->foresight = foresight_new(c);
    c->traffic = traffic_new();
    c->turns = turns_new(c, writer, seq, &let_out);
    reads_on_hold(c->reads, log_shorten, c);
    bool ok = config_file_read(c->config_path, &config, ret_err);
    if (ok) {
        config_use(c, &config);
        ok = controller_load(c, still ? still : writer_store(writer), seq, ret_err);
    }
    if (still)
        store_close(still);
    if (ok && still)
        turns_begin_away(c->turns, &away);
    return ok;
}

static bool signals_start(struct controller *c, struct err *ret_err)
{
    return loop_on_signal(c->loop, SIGTERM, on_stop_signal, c, ret_err) &&
           loop_on_signal(c->loop, SIGINT, on_stop_signal, c, ret_err) &&
           loop_on_signal(c->loop, SIGHUP, on_hangup, c, ret_err);
}

static bool listen_start(struct controller *c, struct err *ret_err)
{
    mode_t mode = geteuid() == 0 ? 0666 : 0600;
    const char *path = state_socket_path(c->state_dir, c->arena);
    c->listener = listener_new(c->loop, path, mode, session_accept, c->sessions, ret_err);
    return c->listener != NULL;
}

static bool listen_again(struct controller *c, struct err *ret_err)
{
    listener_free(c->listener);
    c->listener = NULL;
    return listen_start(c, ret_err);
}

/* A port that is taken must not keep the cluster down: its own host works on. */
static void hosts_start(struct controller *c)
{
    struct err err = {0};
    if (core_hosts_count(c->core) > 0 && !hosts_listen(c->hosts, &err))
        log_error(c->log, "other hosts cannot connect: %s", err.text);
}

static void remote_came(struct controller *c, int fd, struct tls_context *tls)
{
    session_accept_remote(c->sessions, fd, tls);
}

static bool controller_start(struct controller *c, struct err *ret_err)
{
    c->start_us = clock_now_us();
    c->config_path = controller_path(c, "remuda.conf");
    c->loop = loop_new(ret_err);
    if (!c->loop)
        return false;
    c->users = users_new(c->loop, USER_MAX_AGE_US);
    c->mailer = mailer_new(c->loop, c->log);
    c->programs = program_runs_new(c);
    c->hosts = hosts_new(c, remote_came);
    private_files_mend(c);
    if (!signals_start(c, ret_err) || !store_start(c, ret_err) || !listen_start(c, ret_err))
        return false;
    if (joined_settle(c, &c->config)) /* left by one that was killed, or by another store */
        controller_reconfigure(c);
    hosts_start(c);
    c->metrics = metrics_port_new(c);
    metrics_port_configure(c->metrics);
    past_begin(c->past);
    series_store_begin(c->series);
    c->owners = owner_watch_new(c);
    c->place = place_watch_new(c, c->lock, listen_again);
    return true;
}

static bool dirs_make(struct controller *c, struct err *ret_err)
{
    umask(022);
    mode_t mode = geteuid() == 0 ? 0755 : 0700;
    bool ok =
        dir_make(c->state_dir, mode, ret_err) && dir_make(controller_path(c, "log"), mode, ret_err);
    umask(077); /* scripts and environments are nobody else's business */
    return ok;
}

/* With the lock held. */
static bool controller_run(struct controller *c, const struct options *o, int ready,
                           struct err *ret_err)
{
    enum log_severity most = o->verbose ? LOG_IS_DEBUG : LOG_IS_INFO;
    c->log =
        log_open(o->foreground ? NULL : controller_path(c, "log/controller.log"), most, ret_err);
    if (!c->log)
        return false;
    last_words_prepare("remudad controller",
                       o->foreground ? NULL : controller_path(c, "log/controller.log"));
    daemon_descriptors_raise();
    unlink(state_down_path(c->state_dir, c->arena)); /* who connects may wait again */
    const char *running = controller_path(c, "running");
    c->killed = access(running, F_OK) == 0;
    bool switched = false;
    bool ok = store_switch_finish(c->state_dir, c->arena, &switched, ret_err);
    if (switched)
        log_warning(c->log, "`remuda restore` or `remuda repair` was cut off: the store that it "
                            "made has its place now");
    else if (ok)
        store_switch_drop(c->state_dir, c->arena);
    ok = ok && controller_start(c, ret_err);
    if (ok && !file_write_atomic(running, "", 0, 0600, &(struct err){0}))
        log_warning(c->log,
                    "%s cannot be written: whether this controller was killed would not be "
                    "known to triggers",
                    running);
    if (ok) {
        if (c->killed)
            log_info(c->log,
                     "the controller that was here before did not end by itself: it was "
                     "killed, as by the kernel for want of memory, or the machine went down");
        log_info(c->log, "controller of cluster %s, Remuda %s, process %d, state in %s",
                 core_settings(c->core)->cluster_name, build_name(), (int)getpid(), c->state_dir);
        work_prepare(c->loop);
        daemon_ready(ready);
        loop_run(c->loop);
        log_info(c->log, "stopped");
        unlink(running);
    } else if (!o->foreground) {
        log_error(c->log, "%s", ret_err->text);
    }
    controller_end(c);
    log_close(c->log);
    return ok;
}

static bool options_read(int argc, char **argv, struct options *o, struct err *ret_err)
{
    for (int i = 1; i < argc; i++) {
        if (text_starts(argv[i], "--state="))
            o->state_dir = argv[i] + strlen("--state=");
        else if (text_is(argv[i], "--state") && i + 1 < argc)
            o->state_dir = argv[++i];
        else if (text_is(argv[i], "--foreground") || text_is(argv[i], "-D"))
            o->foreground = true;
        else if (text_is(argv[i], "--verbose") || text_is(argv[i], "-v"))
            o->verbose = true;
        else
            return err_set(ret_err, ERR_INVALID,
                           "\"%s\" is not understood; --state DIR, --foreground and --verbose are",
                           argv[i]);
    }
    return true;
}

static bool state_dir_fill(struct controller *c, const char *given, struct err *ret_err)
{
    const char *dir = state_dir_find(given, c->arena);
    c->state_dir = dir;
    if (!dirs_make(c, ret_err))
        return false;
    char *full = realpath(dir, NULL);
    if (!full)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot use %s: %s", dir, strerror(errno));
    c->state_dir = arena_strdup(c->arena, full);
    free(full);
    return true;
}

static bool controller_daemon(struct controller *c, const struct options *o, struct err *ret_err)
{
    int ready = -1;
    struct pid_file lock;
    if (!state_dir_fill(c, o->state_dir, ret_err) ||
        (!o->foreground && !daemon_detach(&ready, ret_err)) ||
        !pid_file_lock_dir(&lock, controller_path(c, "controller.pid"), ret_err))
        return false;
    c->lock = &lock;
    bool ok = controller_run(c, o, ready, ret_err);
    pid_file_drop(&lock);
    return ok;
}

int controller_main(int argc, char **argv)
{
    struct controller c = {.arena = arena_new()};
    struct options o = {0};
    struct err err = {0};
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    c.host = host;
    c.smtp_program = release_program("remuda-smtp", "smtp", c.arena);
    c.report_program = release_program("remuda", "cli", c.arena);
    int status = 0;
    if (!options_read(argc, argv, &o, &err))
        status = 2;
    else if (!controller_daemon(&c, &o, &err))
        status = 1;
    if (status != 0)
        fprintf(stderr, "remudad controller: error: %s\n", err.text);
    arena_free(c.arena);
    return status;
}
