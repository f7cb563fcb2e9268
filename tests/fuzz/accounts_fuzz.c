/* Slurm's flat file of accounts (`sacctmgr load`): whoever administrates may have it from anybody.
 * Any text is read as changes, or refused with a sentence; no line is passed over. */
#include "fuzz.h"

#include "base/alloc.h"
#include "cli/accounts/load.c" /* its reader of lines is nobody else's */

const char *const fuzz_words[] = {
    "Cluster - 'c':",
    "Parent - 'root'\n",
    "Parent - 'bio'\n",
    "Account - 'bio':",
    "Project - chem:",
    "User - 'ada':",
    "User - root:",
    "Description='a:b':",
    "Organization=\"o\"",
    "Fairshare=2147483647",
    "Fairshare=parent:",
    "QOS='+normal,-long'",
    "QOS=normal:",
    "DefaultQOS=normal",
    "DefaultAccount='bio':",
    "AdminLevel=Operator:",
    "Coordinator='bio,chem'",
    "DefaultWCKey=w:",
    "Partition='p':",
    "GrpTRES=cpu=4,mem=1G:",
    "GrpTRESMins=cpu=2:",
    "MaxWallDurationPerJob=1-0",
    "MaxJobs=",
    "MaxTRESPerJob=node=1",
    "Priority=",
    "Comment='",
    "Name|Priority|Preempt|Flags|GrpTRES|MaxWall|UsageThres\n",
    "Name|MaxJobsPU|PreemptMode|Descr\n",
    "opp|25|normal|DenyOnLimit|cpu=4|1-0|0.5\n",
    "x|4|cancel|d\n",
    "|",
    "# a comment\n",
    "\r\n",
    "\n",
    "-1",
    NULL,
};

static size_t sentences;

/* Nothing is printed, nobody is asked. */
void sacctmgr_fail(struct sacctmgr *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    CHECK(text.len);
    str_done(&text);
    sentences++;
    s->rc = 1;
}

void sacctmgr_refuse(struct sacctmgr *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    str_done(&text);
    sentences++;
    s->rc = 1;
}

struct client *sacctmgr_connect(struct sacctmgr *s)
{
    (void)s;
    return NULL;
}

bool sacctmgr_query(struct sacctmgr *s, const struct msg_query *q, const struct fields *t,
                    void (*row)(void *ctx, const void *record), void *ctx)
{
    (void)s, (void)q, (void)t, (void)row, (void)ctx;
    return false;
}

bool sacctmgr_ask(struct sacctmgr *s, const char *what)
{
    (void)s, (void)what;
    return false;
}

static size_t lines_of(const char *data, size_t size)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += data[i] == '\n';
    return n;
}

static void change_check(const struct account_change *ch)
{
    const struct account *a = ch->account.v;
    const struct account_user *u = ch->user.v;
    const struct assoc *as = ch->assoc.v;
    CHECK(ch->account.n + ch->user.n + ch->assoc.n == 1);
    CHECK(!ch->account.n || a->name);
    CHECK(!ch->user.n || u->name);
    CHECK(!ch->assoc.n || as->account);
}

static void file_check(const char *data, size_t size, bool clean, struct arena *a)
{
    struct sacctmgr s = {.a = a, .rc = 1}; /* after a failure nothing is sent */
    struct load_loading g = {.s = &s,
                             .c = {.s = &s},
                             .parent = "root",
                             .path = "f",
                             .clean = clean,
                             .user = map_str_new(),
                             .account = map_str_new()};
    struct str text = STR_INIT;
    str_addn(&text, data, size);
    sentences = 0;
    file_load(&g, &text);
    CHECK(g.wrong ? sentences > 0 : g.line == lines_of(data, size) && !memchr(data, '\0', size));
    for (size_t i = 0; i < g.c.change.n; i++)
        change_check(&g.c.change.v[i]);
    changes_done(&g.c);
    map_str_free(g.user);
    map_str_free(g.account);
    str_done(&g.coordinators);
    str_done(&text);
    book_done(&g.b);
}

/* What `sacctmgr -P show qos` printed, or anything else. */
static void qos_check(const char *data, size_t size, struct arena *a)
{
    struct sacctmgr s = {.a = a};
    struct book b = {0};
    struct changes c = {.s = &s};
    struct str text = STR_INIT;
    str_addn(&text, data, size);
    sentences = 0;
    bool ok = qos_file_read(&s, &b, &c, "q", &text);
    CHECK(ok || sentences > 0);
    for (size_t i = 0; i < c.change.n; i++)
        CHECK(c.change.v[i].qos.n == 1 && ((const struct qos *)c.change.v[i].qos.v)->name);
    changes_done(&c);
    str_done(&text);
    book_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    qos_check((const char *)data, size, a);
    file_check((const char *)data, size, false, a);
    file_check((const char *)data, size, true, a);
    arena_free(a);
    return 0;
}
