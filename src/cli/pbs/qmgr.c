/* qmgr: server, queues and nodes, listed and printed as lines that would make them; of what it sets
 * what may be set while the cluster runs: whether a queue takes and starts jobs, whether a node is
 * offline, and why. Everything else is refused with the line that does it. */
#include "cli/pbs/qmgr.h"
#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/table/listing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME      QMGR_NAME
#define LINE_SIZE 65536 /* of one directive */

enum qmgr_verb { LIST, PRINT, SET, HELP, QUIT, REFUSED };

#define FLAG(name_, member, doc_)                                                                  \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_flag, .at = offsetof(struct qmgr, member)           \
    }
static bool server_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return true; /* there is one */
}

static const struct option_row rows[] = {
    FLAG("a", stop, "the first line that fails is the last"),
    {.name = "c",
     .arg = ARG_REQUIRED,
     .metavar = "line",
     .doc = "this line, and no other",
     .set = set_any_text,
     .at = offsetof(struct qmgr, directive)},
    OPT_ACCEPTED("e", 0, ARG_NONE, "echo each line (those of a pipe are seen there)"),
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    FLAG("n", check, "look at the lines, do nothing"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
    FLAG("z", silent, "no errors"),
};
OPTION_TABLE(qmgr_options, rows, .usage = "qmgr [OPTIONS] [server]: list queue @default",
             .words = WORDS_MIXED, .word = server_take, .one_dash = true);

/* ---- words ---- */

static const struct {
    const char *word;
    enum qmgr_verb verb;
} verbs[] = {
    {"list", LIST},     {"print", PRINT},    {"set", SET},        {"help", HELP},
    {"quit", QUIT},     {"exit", QUIT},      {"create", REFUSED}, {"delete", REFUSED},
    {"unset", REFUSED}, {"active", REFUSED}, {"import", REFUSED}, {"export", REFUSED},
};
static const struct {
    const char *word, *instead; /* of OTHER: what does such things here */
    enum qmgr_object object;
} objects[] = {
    {"server", NULL, SERVER},
    {"queue", NULL, QUEUE},
    {"node", NULL, NODE},
    {"vnode", NULL, NODE},
    {"hook", "SubmitFilter, Prolog, Epilog of remuda.conf", OTHER},
    {"pbshook", "SubmitFilter, Prolog, Epilog of remuda.conf", OTHER},
    {"resource", "Gres= of remuda.conf; scontrol show nodes", OTHER},
    {"sched", "SchedulerParameters of remuda.conf; scontrol show config", OTHER},
};
static struct span word_next(struct span *rest)
{
    *rest = span_trim(*rest);
    size_t n = 0;
    while (n < rest->len && !isspace((unsigned char)rest->data[n]))
        n++;
    struct span word = {rest->data, n};
    *rest = span_trim((struct span){rest->data + n, rest->len - n});
    return word;
}

/* "l", "li", "list"; with `plural` also "lists". */
static bool is_short_for(struct span word, const char *whole, bool plural)
{
    size_t n = strlen(whole);
    if (plural && word.len == n + 1 && word.data[n] == 's')
        word.len = n;
    return word.len && word.len <= n && !strncasecmp(word.data, whole, word.len);
}

int qmgr_parse_failed(const struct qmgr *q, struct span word, const char *what, const char *known)
{
    if (!q->silent)
        fprintf(stderr, NAME ": %.*s is no %s; there are: %s\n", (int)word.len, word.data, what,
                known);
    return QMGR_PARSE;
}

int qmgr_refused(const struct qmgr *q, const char *what, const char *instead)
{
    if (!q->silent)
        fprintf(stderr, NAME ": %s: not done here; %s\n", what, instead);
    return QMGR_FAILED;
}

/* ---- names ---- */

/* Is it among the words "n1,n2", "n1@server", or are these "@default", "@active" or none? */
bool qmgr_is_named(const struct qmgr *q, struct span names, const char *name)
{
    struct span one;
    if (!names.len || names.data[0] == '@')
        return true;
    while (span_next(&names, ',', &one)) {
        const char *at = memchr(one.data, '@', one.len);
        one.len = at ? (size_t)(at - one.data) : one.len;
        if (span_is(one, name))
            return true;
    }
    return false;
}

/* Says which of the names there are none of. */
int qmgr_unknown_said(const struct qmgr *q, enum qmgr_object object, struct span names)
{
    struct span one;
    int status = 0;
    if (!names.len || names.data[0] == '@' || object == SERVER)
        return 0;
    while (span_next(&names, ',', &one)) {
        const char *at = memchr(one.data, '@', one.len);
        const char *name = arena_strndup(q->a, one.data, at ? (size_t)(at - one.data) : one.len);
        bool known = object == QUEUE ? pbs_queue_named(&q->seen, name) != NULL
                                     : pbs_node_named(&q->nodes, name) != NULL;
        if (known)
            continue;
        status = QMGR_FAILED;
        if (!q->silent)
            fprintf(stderr, NAME " obj=%s svr=default: Unknown %s\n", name,
                    object == QUEUE ? "queue" : "node");
    }
    return status;
}

/* ---- list and print ---- */

/* What is counted or seen, and is no line of print. */
static bool is_set_by_someone(const struct pbs_attribute *v)
{
    static const char *const seen[] = {
        "total_jobs", "state_count", "server_state", "server_host", "pbs_version",    "Mom",
        "ntype",      "pcpus",       "jobs",         "status",      "last_used_time", "np",
        "power_state"};
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        if (!v->group && text_is(v->name, seen[i]))
            return false;
    return !text_is(v->group, "resources_assigned");
}

static bool is_wanted(struct span wanted, const struct pbs_attribute *v)
{
    struct span one;
    if (!wanted.len)
        return true;
    while (span_next(&wanted, ',', &one))
        if (span_is(span_trim(one), v->name) || (v->group && span_is(span_trim(one), v->group)))
            return true;
    return false;
}

static void thing_list(struct qmgr *q, const char *title, const char *name, struct span wanted,
                       const struct pbs_attributes *t)
{
    struct pbs_attributes shown = {.a = q->look};
    struct pbs_report r = {.form = PBS_TEXT,
                           .title = title,
                           .indent = "    ",
                           .unbroken = true,
                           .a = q->look,
                           .out = &q->out};
    for (size_t i = 0; i < t->v.n; i++)
        if (is_wanted(wanted, &t->v.v[i]))
            vec_push(&shown.v, t->v.v[i]);
    pbs_report_add(&r, name, &shown);
    pbs_attributes_done(&shown);
}

static void thing_print(struct qmgr *q, const char *kind, const char *name, struct span wanted,
                        const struct pbs_attributes *t)
{
    if (name)
        str_addf(&q->out, "#\n# Create and define %s %s\n#\ncreate %s %s\n", kind, name, kind,
                 name);
    else
        str_add(&q->out, "#\n# Set server attributes.\n#\n");
    for (size_t i = 0; i < t->v.n; i++) {
        const struct pbs_attribute *v = &t->v.v[i];
        const char *quote = strpbrk(v->value, " ,") ? "\"" : "";
        if (!is_wanted(wanted, v) || !is_set_by_someone(v))
            continue;
        str_addf(&q->out, "set %s %s%s", kind, name ? name : "", name ? " " : "");
        str_addf(&q->out, "%s%s%s = %s%s%s\n", v->group ? v->group : "", v->group ? "." : "",
                 v->name, quote, v->value, quote);
    }
}

static void server_show(struct qmgr *q, enum qmgr_verb verb, struct span wanted)
{
    struct pbs_attributes t = {.a = q->look};
    pbs_server_attributes(&q->seen, &q->nodes.site, &t);
    if (verb == LIST)
        thing_list(q, "Server ", pbs_server(&q->nodes.site), wanted, &t);
    else
        thing_print(q, "server", NULL, wanted, &t);
    pbs_attributes_done(&t);
}

static void queues_show(struct qmgr *q, enum qmgr_verb verb, struct span names, struct span wanted)
{
    for (size_t i = 0; i < q->seen.queue.n; i++) {
        const struct partition *p = q->seen.queue.v[i];
        struct pbs_attributes t = {.a = q->look};
        if (!qmgr_is_named(q, names, p->name))
            continue;
        pbs_queue_attributes(&q->seen, p, &t);
        if (verb == LIST)
            thing_list(q, "Queue ", p->name, wanted, &t);
        else
            thing_print(q, "queue", p->name, wanted, &t);
        pbs_attributes_done(&t);
    }
}

static void nodes_show(struct qmgr *q, enum qmgr_verb verb, struct span names, struct span wanted)
{
    for (size_t i = 0; i < q->nodes.node.n; i++) {
        const struct node *n = q->nodes.node.v[i];
        struct pbs_attributes t = {.a = q->look};
        if (!qmgr_is_named(q, names, n->name))
            continue;
        pbs_node_attributes(&q->nodes, n, &t);
        if (verb == LIST)
            thing_list(q, "Node ", n->name, wanted, &t);
        else
            thing_print(q, "node", n->name, wanted, &t);
        pbs_attributes_done(&t);
    }
}

static int show(struct qmgr *q, enum qmgr_verb verb, enum qmgr_object object, struct span names,
                struct span wanted)
{
    if (object == SERVER && verb == PRINT && !wanted.len) {
        str_add(&q->out, "#\n# Create queues and set their attributes.\n#\n");
        queues_show(q, verb, names, wanted);
    }
    if (object == SERVER)
        server_show(q, verb, wanted);
    else if (object == QUEUE)
        queues_show(q, verb, names, wanted);
    else
        nodes_show(q, verb, names, wanted);
    listing_flush(&q->out);
    return qmgr_unknown_said(q, object, names);
}

/* ---- a line ---- */

int qmgr_look(struct qmgr *q)
{
    struct err e = {0};
    q->seen.job.n = q->seen.queue.n = 0;
    pbs_nodes_clear(&q->nodes);
    arena_reset(q->look);
    if (pbs_seen_read(q->client, &q->seen, &e) && pbs_nodes_read(q->client, &q->nodes, &e))
        return 0;
    fprintf(stderr, NAME ": %s\n", e.text);
    return QMGR_NO_SERVER;
}

static int done(struct qmgr *q, enum qmgr_verb verb, struct span line)
{
    struct span kind = word_next(&line), names = {line.data, 0};
    size_t at = 0;
    while (at < ARRAY_LEN(objects) && !is_short_for(kind, objects[at].word, true))
        at++;
    if (at == ARRAY_LEN(objects))
        return qmgr_parse_failed(q, kind, "object", "server, queue, node");
    if (objects[at].object == OTHER)
        return qmgr_refused(q, objects[at].word, objects[at].instead);
    int status = qmgr_look(q);
    if (status)
        return status;
    struct span after = line, first = word_next(&after);
    bool server = objects[at].object == SERVER;
    if (!server ||
        (first.len && (first.data[0] == '@' || span_is(first, pbs_server(&q->nodes.site))))) {
        names = first;
        line = after;
    }
    return verb == SET ? qmgr_set(q, objects[at].object, names, line)
                       : show(q, verb, objects[at].object, names, line);
}

/* False: no line is read after it. */
static bool line_do(struct qmgr *q, struct span line, int *status)
{
    struct span word = word_next(&line);
    size_t at = 0;
    if (!word.len || word.data[0] == '#')
        return true;
    while (at < ARRAY_LEN(verbs) && !is_short_for(word, verbs[at].word, false))
        at++;
    int one = 0;
    if (at == ARRAY_LEN(verbs))
        one = qmgr_parse_failed(q, word, "command", "list, print, set, help, quit");
    else if (verbs[at].verb == QUIT)
        return false;
    else if (verbs[at].verb == HELP)
        puts("list server|queue|node [names] [attributes]\nprint server|queue|node [names]\n"
             "set queue NAMES enabled|started = True|False\n"
             "set node NAMES state = offline|free, comment = \"text\"\nquit");
    else if (verbs[at].verb == REFUSED)
        one = qmgr_refused(q, verbs[at].word,
                           "scontrol create and delete PartitionName=…; NodeName= of remuda.conf, "
                           "remuda token and remuda join; scontrol reconfigure");
    else
        one = done(q, verbs[at].verb, line);
    *status = one ? one : *status;
    return !(one && q->stop);
}

static int lines_do(struct qmgr *q, FILE *f)
{
    bool prompt = isatty(STDIN_FILENO) && !q->silent;
    char *line = NULL;
    size_t cap = 0;
    int status = 0;
    for (;;) {
        if (prompt)
            fputs("Qmgr: ", stdout);
        fflush(stdout);
        ssize_t n = getline(&line, &cap, f);
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n < 0 || n > LINE_SIZE || !line_do(q, (struct span){line, (size_t)n}, &status))
            break;
    }
    free(line);
    return status;
}

int cmd_qmgr(int argc, char **argv)
{
    struct qmgr q = {.a = arena_new(), .look = arena_new()};
    int status;
    if (pbs_line_read(NAME, &qmgr_options, &q, q.a, argc, argv, &status)) {
        const char *dir = state_dir_find(NULL, q.a);
        q.seen.a = q.nodes.a = q.look;
        q.nodes.site = pbs_site(dir, q.a);
        q.client = pbs_connect(NAME, dir);
        if (!q.client)
            status = QMGR_NO_SERVER;
        else if (q.directive)
            line_do(&q, span_of(q.directive), &status);
        else
            status = lines_do(&q, stdin);
        if (q.client)
            client_close(q.client);
    }
    pbs_seen_done(&q.seen);
    pbs_nodes_done(&q.nodes);
    str_done(&q.out);
    arena_free(q.look);
    arena_free(q.a);
    return status;
}
