/* remuda top: the cluster now. On a terminal a screen that is drawn anew every few seconds, until
 * q; else once, all of it. */
#include "cli/plot/top.h"

#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/program/window.h"
#include "model/job/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define ASKED_MOST  48u  /* jobs whose samples are asked for each time */
#define ASKED_ONCE  400u /* where it is printed once */
#define WIDTH_FILE  100
#define EVERY_LEAST 1

struct top_line {
    const char *state_dir, *sort;
    int64_t every_s;
    bool jobs, once;
};

static const char *const sorts[TOP_SORTS] = {"name", "busy", "free", "load"};

static SETTER(sort_set)
{
    struct top_line *l = to;
    (void)row;
    (void)env;
    for (size_t i = 0; i < TOP_SORTS; i++)
        if (text_is_nocase(value, sorts[i])) {
            l->sort = sorts[i];
            return true;
        }
    (void)a;
    return err_set(ret_err, ERR_USAGE, "--sort is by name, busy, free or load, not \"%.40s\"",
                   value);
}

#define AT(member) offsetof(struct top_line, member)
static const struct option_row rows[] = {
    OWN_HELP,
    OPT_FLAG("jobs", 'j', "jobs instead of nodes", AT(jobs)),
    OPT_FLAG("once", '1', "print it once, as where this is no terminal", AT(once)),
    OPT_VALUE("seconds", 'd', "seconds", "so often it is drawn anew; else every 2", set_own_number,
              AT(every_s), .min = EVERY_LEAST, .max = 3600),
    {.name = "sort",
     .letter = 's',
     .arg = ARG_REQUIRED,
     .metavar = "how",
     .set = sort_set,
     .doc = "by name, busy, free (jobs: GPUs) or load (jobs: CPUs)"},
    OWN_STATE(struct top_line),
};
OPTION_TABLE(top_options, rows, .usage = "remuda top [OPTIONS]",
             .about =
                 "  The cluster now: of each node its CPUs, how busy each GPU is, and its jobs.\n"
                 "  Keys: q leaves; Tab nodes or jobs; s another order; arrows, j, k, space, b, g, "
                 "G move; Enter opens the job\n"
                 "  that is chosen (of a node its first): what it did, until a key is hit.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* ---- the terminal ---- */

static struct termios terminal_before;
static volatile sig_atomic_t ends, resized;

static void on_signal(int signo)
{
    if (signo == SIGWINCH)
        resized = 1;
    else
        ends = 1;
}

static void put(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

/* Keys come one by one, unseen; another screen, without a cursor. */
static bool screen_begin(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    if (tcgetattr(STDIN_FILENO, &terminal_before) != 0)
        return false;
    struct termios raw = terminal_before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    sigaction(SIGWINCH, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put_text("\033[?1049h\033[?25l");
    return true;
}

static void screen_end(void)
{
    put_text("\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
}

enum top_key {
    KEY_NONE,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_CLOSED
};

static int escape_read(void)
{
    char text[8] = "";
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t n = 0;
    while (n < sizeof text - 1 && poll(&in, 1, 20) > 0 && read(STDIN_FILENO, &text[n], 1) == 1) {
        char c = text[n++];
        if (n > 1 && ((c >= 'A' && c <= 'Z') || c == '~'))
            break;
    }
    static const struct {
        const char *text;
        enum top_key key;
    } known[] = {{"[A", KEY_UP},       {"OA", KEY_UP},         {"[B", KEY_DOWN}, {"OB", KEY_DOWN},
                 {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}, {"[H", KEY_HOME}, {"[1~", KEY_HOME},
                 {"OH", KEY_HOME},     {"[F", KEY_END},        {"[4~", KEY_END}, {"OF", KEY_END}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (text_is(text, known[i].text))
            return known[i].key;
    return KEY_NONE;
}

/* The next key, for so long; KEY_NONE where none came, or the window changed. */
static int key_wait(int ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char c;
    if (ends || resized || poll(&in, 1, ms) <= 0)
        return KEY_NONE;
    if (read(STDIN_FILENO, &c, 1) != 1)
        return KEY_CLOSED;
    return c == 27 ? escape_read() : c;
}

/* ---- looking ---- */

struct topping {
    struct top_line *l;
    struct arena *a;
    struct client *client;
    struct top top;
    struct top_view view;
    struct map_str *shown; /* nodes that were drawn last; any value */
    struct map_u64 *shown_jobs;
    struct err err;
};

/* Jobs on the rows that were shown last. */
static void shown_first(void *ctx, struct top *t)
{
    const struct topping *p = ctx;
    for (size_t i = 0; i < t->node.n; i++)
        for (size_t k = 0; p->shown && k < t->node.v[i]->job.n; k++)
            if (map_str_get(p->shown, t->node.v[i]->n->name))
                t->node.v[i]->job.v[k]->first = true;
    for (size_t i = 0; i < t->job.n; i++)
        if (p->shown_jobs && map_u64_get(p->shown_jobs, t->job.v[i]->j->id))
            t->job.v[i]->first = true;
}

static void shown_keep(struct topping *p)
{
    size_t fit = top_rows(&p->view), n = p->view.jobs ? p->top.job.n : p->top.node.n;
    map_str_free(p->shown);
    map_u64_free(p->shown_jobs);
    p->shown = map_str_new();
    p->shown_jobs = map_u64_new();
    for (size_t i = p->view.first; i < n && i - p->view.first < fit; i++)
        if (p->view.jobs)
            map_u64_put(p->shown_jobs, p->top.job.v[i]->j->id, p);
        else
            map_str_put(p->shown, p->top.node.v[i]->n->name, p);
}

/* A controller that is away is asked again the next time. */
static bool look(struct topping *p, size_t most)
{
    p->err = (struct err){0};
    if (!p->client)
        p->client = cluster_reach(state_dir_find(p->l->state_dir, p->a), &p->err);
    bool ok = p->client && top_read(&p->top, p->client, most, shown_first, p, &p->err);
    if (!ok && p->client) {
        client_close(p->client);
        p->client = NULL;
    }
    return ok;
}

static void window_look(struct topping *p)
{
    resized = 0;
    p->view.width = window_width(80);
    p->view.height = window_height(24);
}

static void draw(struct topping *p, bool ok)
{
    struct str out = STR_INIT, screen = STR_INIT;
    p->view.message = ok ? NULL : p->err.text;
    top_arrange(&p->top, &p->view);
    shown_keep(p);
    top_draw(&p->top, &p->view, &out);
    str_add(&screen, "\033[H");
    for (const char *at = str_text(&out); *at; at++) {
        if (*at == '\n')
            str_add(&screen, "\033[K\r"); /* what was there before goes */
        str_addc(&screen, *at);
    }
    str_add(&screen, "\033[K\033[J");
    put(str_text(&screen), screen.len);
    str_done(&out);
    str_done(&screen);
}

/* ---- a job ---- */

static const struct top_job *chosen(const struct topping *p)
{
    const struct top *t = &p->top;
    size_t at = p->view.at;
    if (p->view.jobs)
        return at < t->job.n ? t->job.v[at] : NULL;
    return at < t->node.n && t->node.v[at]->job.n ? t->node.v[at]->job.v[0] : NULL;
}

/* Charts as high as all of them fit, and only the first value where they do not. */
static const char *values_that_fit(const struct topping *p, const struct top_job *j, int *ret_rows)
{
    int nodes = j->j->alloc_nodes > 0 ? j->j->alloc_nodes : 1, room = p->view.height - 4,
        charts = 2 * j->gpus + 2 * nodes;
    const char *values = "util,mem,cpu,rss";
    if (charts > room) {
        values = j->gpus ? "util" : "cpu";
        charts = j->gpus ? j->gpus : nodes;
    }
    int each = room / charts - 1;
    *ret_rows = each < 1 ? 1 : each > 5 ? 5 : each;
    return values;
}

/* `remuda plot JOB`, drawn again and again, until a key is hit. */
static void job_open(struct topping *p)
{
    const struct top_job *j = chosen(p);
    char number[24], height[16];
    if (!j)
        return;
    snprintf(number, sizeof number, "%" PRIu64, j->j->id);
    while (!ends) {
        int rows_of;
        window_look(p);
        const char *values = values_that_fit(p, j, &rows_of);
        snprintf(height, sizeof height, "%d", rows_of);
        put_text("\033[H\033[2J");
        pid_t pid = fork();
        if (pid == 0) {
            dup2(STDOUT_FILENO, STDERR_FILENO);
            char *argv[] = {"remuda",   "plot",
                            "--state",  (char *)state_dir_find(p->l->state_dir, p->a),
                            "--value",  (char *)values,
                            "--height", height,
                            number,     NULL};
            execv("/proc/self/exe", argv);
            _exit(127);
        }
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        put_text("\r\nany key: back");
        resized = 0;
        int key = key_wait((int)p->l->every_s * 1000);
        if (key != KEY_NONE)
            return;
    }
}

/* ---- keys ---- */

static void move(struct topping *p, int64_t by)
{
    int64_t n = (int64_t)(p->view.jobs ? p->top.job.n : p->top.node.n),
            at = (int64_t)p->view.at + by;
    at = at < n ? at : n - 1;
    p->view.at = at > 0 ? (size_t)at : 0;
}

/* False: it is over. */
static bool key_do(struct topping *p, int key)
{
    int64_t page = (int64_t)top_rows(&p->view);
    switch (key) {
    case 'q':
    case 'Q':
    case 4: /* Ctrl-D */
    case KEY_CLOSED: return false;
    case '\t':
        p->view.jobs = !p->view.jobs;
        p->view.at = p->view.first = 0;
        return true;
    case 's': p->view.sort = (enum top_sort)((p->view.sort + 1) % TOP_SORTS); return true;
    case 'j':
    case KEY_DOWN: move(p, 1); return true;
    case 'k':
    case KEY_UP: move(p, -1); return true;
    case ' ':
    case KEY_PAGE_DOWN: move(p, page); return true;
    case 'b':
    case KEY_PAGE_UP: move(p, -page); return true;
    case 'g':
    case KEY_HOME: move(p, INT32_MIN); return true;
    case 'G':
    case KEY_END: move(p, INT32_MAX); return true;
    case '\r':
    case '\n':
    case 'o': job_open(p); return true;
    default: return true;
    }
}

static int64_t now_ms(void)
{
    return time_now_us() / 1000;
}

static void watch(struct topping *p)
{
    bool ok = true;
    int64_t due = 0;
    while (!ends) {
        window_look(p);
        if (now_ms() >= due || due - now_ms() > p->l->every_s * 1000) {
            ok = look(p, ASKED_MOST);
            due = now_ms() + p->l->every_s * 1000;
        }
        draw(p, ok);
        int64_t left = due - now_ms();
        int key = key_wait(left > 0 ? (int)left : 0);
        if (key != KEY_NONE && !key_do(p, key))
            return;
    }
}

static bool print_once(struct topping *p)
{
    struct str out = STR_INIT;
    p->view.width = window_width(WIDTH_FILE);
    if (!look(p, ASKED_ONCE))
        return false;
    top_arrange(&p->top, &p->view);
    top_draw(&p->top, &p->view, &out);
    fwrite(str_text(&out), 1, out.len, stdout);
    str_done(&out);
    return true;
}

static enum top_sort sort_of(const char *word)
{
    for (size_t i = 0; i < TOP_SORTS; i++)
        if (word && text_is(word, sorts[i]))
            return (enum top_sort)i;
    return TOP_BY_NAME;
}

int cmd_top(int argc, char **argv)
{
    struct top_line l = {.every_s = 2};
    struct topping p = {.l = &l, .a = arena_new()};
    struct option_line line = {.table = &top_options, .to = &l, .a = p.a};
    int status = 0;
    local_letters_read();
    if (own_line_read("remuda top", &line, argc, argv, &status)) {
        const char *term = getenv("TERM");
        bool screen = !l.once && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
                      !text_empty(term) && !text_is(term, "dumb");
        p.view = (struct top_view){.utf8 = window_has_utf8(),
                                   .colour = window_has_colour(),
                                   .jobs = l.jobs,
                                   .sort = sort_of(l.sort)};
        if (screen)
            window_look(&p);
        if (screen && look(&p, ASKED_MOST) && screen_begin()) {
            watch(&p);
            screen_end();
        } else if (screen ? p.err.code != 0 : !print_once(&p)) {
            status = own_line_failed("remuda top", &p.err);
        }
        if (p.client)
            client_close(p.client);
    }
    top_done(&p.top);
    map_str_free(p.shown);
    map_u64_free(p.shown_jobs);
    arena_free(p.a);
    return status;
}
