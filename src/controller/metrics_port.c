/* Pages for Prometheus and its like.
 *
 * A page is made a slice at a time in the loop, one page at a time; all that asked for the same
 * before it was begun get the same one, but nobody gets one that was begun before he asked: so none
 * shows a job that had ended by then. After a page the loop is left alone for four times as long as
 * the page took, however many ask; and so it is by those who connect and ask for what costs less,
 * or for nothing: the port takes nobody in for four times as long as the last ones took. The socket
 * of the controller's user goes on meanwhile. */
#include "controller/metrics_port.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/plain.h"
#include "base/vec.h"
#include "controller/metrics_names.h"
#include "controller/query.h"
#include "controller/turn.h"
#include "core/metrics.h"
#include "io/build.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/net/http.h"
#include "io/net/socket_owner.h"
#include "io/net/tcp_socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT          6821
#define SLICE_US      2000 /* of the loop in one go */
#define SLICE_RECORDS 16   /* looked at between two looks at the clock */
/* Of the loop, by connections, before none is taken in for a while. */
#define CONNECTIONS_NS  1000000
#define REST_TIMES      4
#define AGAIN_US        (5 * USEC_PER_SEC) /* before an address that is taken is tried again */
#define TOKEN_MAX_BYTES 4096u
/* Of those without the secret; so there is always a place for who has it. */
#define WAITING_MAX (HTTP_CONNECTIONS_MAX * 3 / 4)

#define TEXT_PLAIN  "text/plain; charset=utf-8"
#define TEXT_FORMER "text/plain; version=0.0.4; charset=utf-8"
#define TEXT_OPEN   "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* A page that somebody waits for. */
struct metrics_page {
    unsigned sections;
    bool operates, plain;
    VEC(uint64_t) exchange;
    struct metrics_page *next;
};

struct metrics_port {
    struct controller *c;
    struct http_server *server; /* NULL = off */
    struct listener *tcp, *unix_socket;
    char *address; /* that `tcp` listens at */
    struct metrics_page *first, **last;
    struct metrics *making; /* of the first page */
    int64_t spent_us;       /* in it */
    int64_t rest_until_us;
    int64_t accepted_ns; /* that went into taking connections in */
    int64_t settled_ns;  /* for which, with what they asked, the port has rested */
    struct timer *next, *again;
    bool told; /* of a name that is none of this port's, to the log */
};

/* ---- who asks ------------------------------------------------------------------------------- */

/* Takes as long whatever is wrong. */
static bool secret_is(const char *secret, const char *given)
{
    size_t n = strlen(secret);
    unsigned differ = n != strlen(given);
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)secret[i] ^ (unsigned char)(differ ? 0 : given[i]);
    return n > 0 && !differ;
}

/* The first line of the file, read each time, as it may be changed; in the arena. */
static const char *secret_read(const struct controller *c, struct arena *a)
{
    struct err err = {0};
    const char *path = c->config.settings.metrics_token_file;
    const char *text = text_empty(path) ? NULL : file_read_text(path, TOKEN_MAX_BYTES, a, &err);
    if (!text && !text_empty(path))
        log_error(c->log, "MetricsTokenFile: %s", err.text);
    return text ? arena_strndup(a, text, strcspn(text, "\r\n")) : NULL;
}

static bool token_known(const struct controller *c, const char *given)
{
    struct arena *a = arena_new();
    const char *secret = secret_read(c, a);
    bool known = secret && secret_is(secret, given);
    arena_free(a);
    return known;
}

/* ---- making pages --------------------------------------------------------------------------- */

static void diag_take(void *ctx, const void *record)
{
    *(struct diag *)ctx = *(const struct diag *)record;
}

static void page_begin(struct metrics_port *p)
{
    struct controller *c = p->c;
    const struct metrics_page *page = p->first;
    struct msg_query q = {.what = QUERY_DIAG};
    struct metrics_asked asked = {.sections = page->sections,
                                  .operates = page->operates,
                                  .plain = page->plain,
                                  .version = build_name(),
                                  .store_away = turns_store_away(c->turns, NULL)};
    struct view view = {.row = diag_take, .ctx = &asked.diag};
    core_query(c->core, &q, NULL, clock_now_us(), &view, NULL);
    diag_complete(c, &asked.diag);
    p->making = metrics_new(&asked);
    p->spent_us = 0;
}

static void page_free(struct metrics_page *page)
{
    vec_done(&page->exchange);
    free(page);
}

static struct metrics_page *page_pop(struct metrics_port *p)
{
    struct metrics_page *page = p->first;
    p->first = page->next;
    if (!p->first)
        p->last = &p->first;
    return page;
}

static bool page_awaited(const struct metrics_port *p, const struct metrics_page *page)
{
    for (size_t i = 0; i < page->exchange.n; i++)
        if (http_waits(p->server, page->exchange.v[i]))
            return true;
    return false;
}

static void page_end(struct metrics_port *p)
{
    struct str *text;
    size_t n = metrics_texts(p->making, &text);
    struct http_body *body = http_body_new(text, n);
    struct metrics_page *page = page_pop(p);
    for (size_t i = 0; i < page->exchange.n; i++)
        http_answer(p->server, page->exchange.v[i], 200, page->plain ? TEXT_FORMER : TEXT_OPEN,
                    body);
    http_body_unref(body);
    metrics_free(p->making);
    p->making = NULL;
    page_free(page);
    p->rest_until_us = clock_monotonic_us() + REST_TIMES * p->spent_us;
}

static void page_go(void *ctx)
{
    struct metrics_port *p = ctx;
    int64_t began = clock_monotonic_us(), now = began;
    while (!p->making && p->first && !page_awaited(p, p->first))
        page_free(page_pop(p)); /* whoever asked is gone */
    if (!p->first)
        return;
    if (!p->making && now < p->rest_until_us) {
        timer_set(p->next, p->rest_until_us - now);
        return;
    }
    if (!p->making)
        page_begin(p);
    bool more = true;
    while (more && now - began < SLICE_US) {
        more = metrics_part(p->making, p->c->core, clock_now_us(), SLICE_RECORDS);
        now = clock_monotonic_us();
    }
    p->spent_us += now - began;
    if (!more)
        page_end(p);
    if (p->first)
        timer_set(p->next, 0);
}

static void page_want(struct metrics_port *p, uint64_t exchange, unsigned sections, bool operates,
                      bool plain)
{
    struct metrics_page *page = p->making ? p->first->next : p->first;
    while (page &&
           (page->sections != sections || page->operates != operates || page->plain != plain))
        page = page->next;
    if (!page) {
        page = xcalloc(1, sizeof *page);
        *page = (struct metrics_page){.sections = sections, .operates = operates, .plain = plain};
        *p->last = page;
        p->last = &page->next;
    }
    vec_push(&page->exchange, exchange);
    if (!p->making)
        timer_set(p->next, 0);
}

/* ---- requests ------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    unsigned sections;
    const char *doc;
} pages[] = {
    {"/metrics", METRICS_ALL, "all of these pages in one"},
    {"/metrics/jobs", METRICS_JOBS, "jobs by state"},
    {"/metrics/jobs-users-accts", METRICS_JOBS_USERS_ACCTS, "the same by user and by account"},
    {"/metrics/nodes", METRICS_NODES, "nodes"},
    {"/metrics/partitions", METRICS_PARTITIONS, "partitions"},
    {"/metrics/scheduler", METRICS_SCHEDULER, "the planner, the queue, GPUs, the controller"},
    {"/metrics/running", METRICS_RUNNING, "each running job, and each device that it has"},
};

static void answer_text(struct metrics_port *p, uint64_t exchange, int status, const char *text)
{
    struct http_body *body = http_body_of(text);
    http_answer(p->server, exchange, status, TEXT_PLAIN, body);
    http_body_unref(body);
}

static void answer_index(struct metrics_port *p, uint64_t exchange, int status, const char *first)
{
    struct str out = STR_INIT;
    str_add(&out, first);
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        str_addf(&out, "  %s: %s\n", pages[i].path, pages[i].doc);
    str_add(&out, "  /livez, /healthz: the controller runs\n"
                  "  /readyz: it can commit what it is asked\n");
    answer_text(p, exchange, status, str_text(&out));
    str_done(&out);
}

static void answer_ready(struct metrics_port *p, uint64_t exchange)
{
    bool away = turns_store_away(p->c->turns, NULL);
    if (p->c->stopping || away)
        answer_text(p, exchange, 503, away ? "the store is away\n" : "stopping\n");
    else
        answer_text(p, exchange, 200, "ok\n");
}

/* Who may read what operators may has shown the secret, which no page of another's has. */
static bool is_for_us(struct metrics_port *p, uint64_t exchange, const char *host)
{
    const struct settings *s = &p->c->config.settings;
    struct str name = STR_INIT;
    if (metrics_name_is_ours(host, p->c->host, s->metrics_address, s->slurmctld_host))
        return true;
    str_add_plain(&name, host);
    if (!p->told)
        log_warning(p->c->log,
                    "/metrics was asked for by the name %.100s, which is none of this machine's: "
                    "it is not answered. If it is one, MetricsAddress=%s,%.100s",
                    str_text(&name), s->metrics_address, str_text(&name));
    p->told = true;
    str_done(&name);
    answer_text(p, exchange, 421,
                "by this name nothing is told here: MetricsAddress=HOST:PORT,NAME in remuda.conf "
                "has further names\n");
    return false;
}

static void page_asked(void *ctx, uint64_t exchange, const struct http_asked *asked)
{
    struct metrics_port *p = ctx;
    bool plain = strstr(asked->accept, "text/plain") && !strstr(asked->accept, "openmetrics");
    bool operates = asked->trusted;
    size_t len = strlen(asked->path);
    if (text_is(asked->path, "/livez") || text_is(asked->path, "/healthz")) {
        answer_text(p, exchange, 200, "ok\n");
        return;
    }
    if (text_is(asked->path, "/readyz")) {
        answer_ready(p, exchange);
        return;
    }
    if (!operates && asked->bearer && !(operates = token_known(p->c, asked->bearer))) {
        answer_text(p, exchange, 401, "this token is not that of MetricsTokenFile\n");
        return;
    }
    if (!operates && !is_for_us(p, exchange, asked->host))
        return;
    while (len > 1 && asked->path[len - 1] == '/')
        len--;
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (span_is((struct span){asked->path, len}, pages[i].path)) {
            if (!operates && http_waiting(p->server) > WAITING_MAX)
                answer_text(p, exchange, 503, "many wait for their pages: ask again later\n");
            else
                page_want(p, exchange, pages[i].sections, operates, plain);
            return;
        }
    bool root = text_is(asked->path, "/");
    answer_index(p, exchange, root ? 200 : 404,
                 root ? "Remuda's controller; there are:\n"
                      : "There is no such page; there are:\n");
}

/* ---- opening -------------------------------------------------------------------------------- */

/* What connections took of the loop since the last rest, accepting them among it. */
static int64_t connections_owe_ns(const struct metrics_port *p)
{
    return p->accepted_ns + http_spent_ns(p->server) - p->settled_ns;
}

static void came_by_tcp(void *ctx, int fd)
{
    struct metrics_port *p = ctx;
    int64_t began = clock_thread_ns();
    tcp_socket_tune(fd);
    http_serve(p->server, fd, false, socket_source(fd));
    p->accepted_ns += clock_thread_ns() - began;
    int64_t owed = connections_owe_ns(p);
    if (owed < CONNECTIONS_NS)
        return;
    p->settled_ns += owed;
    listener_rest(p->tcp, REST_TIMES * owed / 1000);
}

static void came_by_unix(void *ctx, int fd)
{
    http_serve(((struct metrics_port *)ctx)->server, fd, true, 0);
}

static void port_close(struct metrics_port *p)
{
    listener_free(p->tcp);
    listener_free(p->unix_socket);
    p->tcp = p->unix_socket = NULL;
    free(p->address);
    p->address = NULL;
    timer_stop(p->next);
    timer_stop(p->again);
    metrics_free(p->making);
    p->making = NULL;
    while (p->first)
        page_free(page_pop(p));
    http_server_free(p->server);
    p->server = NULL;
    p->accepted_ns = p->settled_ns = 0;
}

static bool tcp_open(struct metrics_port *p, const char *address, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *host = NULL;
    int port = PORT;
    const char *first = metrics_address_of(address, a);
    bool ok = tcp_address_split(first, a, &host, &port, ret_err);
    int fd = ok ? tcp_socket_listen(text_is(host, "*") ? NULL : host, port, ret_err) : -1;
    if (fd >= 0)
        p->tcp = listener_new_of(p->c->loop, fd, came_by_tcp, p, ret_err);
    arena_free(a);
    if (!p->tcp)
        return false;
    p->address = xstrdup(address);
    log_info(p->c->log, "metrics are served at http://%.*s/metrics", (int)strcspn(address, ","),
             address);
    return true;
}

void metrics_port_configure(struct metrics_port *p)
{
    const struct settings *s = &p->c->config.settings;
    struct err err = {0};
    if (!s->word.metrics_on || p->c->stopping) {
        port_close(p);
        return;
    }
    if (!http_there()) {
        log_error(p->c->log, "MetricsType: this Remuda was built without libhttp-parser, and "
                             "serves nothing by HTTP: install it and build again");
        return;
    }
    if (p->address && !text_is(p->address, s->metrics_address))
        port_close(p);
    if (!p->server)
        p->server = http_server_new(p->c->loop, (struct http_times){0}, page_asked, p);
    if (!p->unix_socket)
        p->unix_socket = listener_new(p->c->loop, controller_path(p->c, "metrics.sock"), 0600,
                                      came_by_unix, p, &err);
    if (!p->unix_socket)
        log_error(p->c->log, "%s", err.text);
    if (p->tcp || text_empty(s->metrics_address) || tcp_open(p, s->metrics_address, &err))
        return;
    log_error(p->c->log, "MetricsAddress: %s; tried again", err.text);
    timer_set(p->again, AGAIN_US);
}

static void open_again(void *ctx)
{
    metrics_port_configure(ctx);
}

struct metrics_port *metrics_port_new(struct controller *c)
{
    struct metrics_port *p = xcalloc(1, sizeof *p);
    p->c = c;
    p->last = &p->first;
    p->next = timer_new(c->loop, page_go, p);
    p->again = timer_new(c->loop, open_again, p);
    return p;
}

void metrics_port_free(struct metrics_port *p)
{
    if (!p)
        return;
    port_close(p);
    timer_free(p->next);
    timer_free(p->again);
    free(p);
}
