/* remuda import slurm: a site's configuration and accounts, told what becomes of each line, and
 * taken over as a whole or not at all. */
#include "cli/accounts/import/import.h"

#include "base/plain.h"
#include "cli/accounts/accounts.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"

#include <stdio.h>

static const char *const titles[REMARK_COUNT] = {
    [NO_EFFECT] = "Without effect here:",
    [NO_EQUIVALENT] = "Without an equivalent:",
    [NOT_TAKEN] = "Not taken over:",
    [NOT_READ] = "Not understood:",
};

struct import_line {
    const char *from;
    struct import m;
};

static bool from_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct import_line *l = to;
    (void)a;
    if (l->from || !text_is_nocase(word, "slurm"))
        return err_set(ret_err, ERR_USAGE, "only \"slurm\" can be imported from, not \"%.60s\"",
                       word);
    l->from = word;
    return true;
}

static const struct option_row rows[] = {
    OPT_VALUE("accounts", 0, "file", "what `sacctmgr dump` wrote; the cluster must run",
              set_any_text, offsetof(struct import_line, m.accounts)),
    OPT_VALUE("conf", 0, "dir", "where slurm.conf is, and what lies beside it", set_any_text,
              offsetof(struct import_line, m.conf)),
    OPT_FLAG("dry-run", 'n', "say what would become of it, and change nothing",
             offsetof(struct import_line, m.dry_run)),
    OPT_VALUE("jobs", 0, "file",
              "past jobs, as `sacct -a -P -o JobID,JobIDRaw,…` printed them; the cluster must run",
              set_any_text, offsetof(struct import_line, m.jobs)),
    OPT_FLAG("leave-out", 0, "leave out lines of the configuration that are not understood",
             offsetof(struct import_line, m.leave_out)),
    OPT_VALUE("qos", 0, "file", "what `sacctmgr -P show qos` printed; the cluster must run",
              set_any_text, offsetof(struct import_line, m.qos)),
    OPT_VALUE("state", 0, "dir",
              "where the cluster lives; else /var/lib/remuda for root, ~/.local/state/remuda for "
              "users",
              set_any_text, offsetof(struct import_line, m.state_dir), .env = {"REMUDA_STATE"}),
    OWN_HELP,
};
OPTION_TABLE(import_options, rows, .usage = "remuda import [OPTIONS] slurm",
             .about = "  Takes a site over from Slurm: says what it understood, what has no effect "
                      "here and what has no equivalent, by\n"
                      "  file and line, then writes the configuration and loads the accounts: all "
                      "of it, or nothing;\n  past jobs come a piece at a time. "
                      "docs/migration.md.\n",
             .words = WORDS_MIXED, .word = from_take);

static void remarks_print(const struct import *m)
{
    struct str understood = STR_INIT; /* names in it are a stranger's, as remarks are */
    str_add_plain_lines(&understood, str_text(&m->understood));
    printf("Understood:\n%s", str_text(&understood));
    str_done(&understood);
    for (int kind = 0; kind < REMARK_COUNT; kind++) {
        bool any = false;
        for (size_t i = 0; i < m->remark.n; i++) {
            if ((int)m->remark.v[i].kind != kind)
                continue;
            struct str plain = STR_INIT;
            str_add_plain(&plain, m->remark.v[i].text);
            printf("%s%s  %s\n", any ? "" : titles[kind], any ? "" : "\n", str_text(&plain));
            str_done(&plain);
            any = true;
        }
    }
}

static size_t not_read(const struct import *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->remark.n; i++)
        n += m->remark.v[i].kind == NOT_READ;
    return n;
}

static bool accounts_take(struct import *m, bool trial)
{
    struct sacctmgr s = {.a = m->a,
                         .called = "remuda import",
                         .state_dir = m->state_dir,
                         .immediate = true,
                         .trial = trial,
                         .quiet = trial,
                         .qos_file = m->qos};
    char *word[] = {m->accounts ? arena_strdup(m->a, m->accounts) : NULL};
    accounts_load_file(&s, m->accounts ? 1 : 0, word);
    if (s.client)
        client_close(s.client);
    return s.rc == 0;
}

static bool conf_is_good(struct import *m)
{
    if (!import_conf_read(m))
        return false;
    remarks_print(m);
    if (!not_read(m) || m->leave_out || m->dry_run)
        return true;
    program_error("remuda import",
                  "nothing was written: %zu lines are not understood; change them, or leave them "
                  "out with --leave-out",
                  not_read(m));
    return false;
}

/* All is looked at before anything is changed. */
static int import(struct import *m)
{
    bool accounts = m->accounts || m->qos;
    if ((m->conf && !conf_is_good(m)) || (accounts && !accounts_take(m, true)) ||
        (m->jobs && !import_jobs_run(m, true)))
        return 1;
    if (m->dry_run) {
        puts("Nothing was changed: --dry-run");
        return 0;
    }
    if ((m->conf && !import_conf_write(m)) || (accounts && !accounts_take(m, false)) ||
        (m->jobs && !import_jobs_run(m, false)))
        return 1;
    if (m->conf)
        puts("`remuda up` starts the cluster; of one that runs, `scontrol reconfigure` takes it");
    return 0;
}

int cmd_import(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct import_line l = {.m = {.a = a}};
    struct option_line line = {.table = &import_options, .to = &l, .a = a};
    struct err e = {0};
    int rc;
    if (own_line_read("remuda import", &line, argc, argv, &rc)) {
        if (!l.from || (!l.m.conf && !l.m.accounts && !l.m.qos && !l.m.jobs)) {
            err_set(&e, ERR_USAGE,
                    "what is to be imported is missing: remuda import slurm with --conf DIR, "
                    "--qos FILE, --accounts FILE, --jobs FILE, or all of them");
            rc = own_line_failed("import", &e);
        } else {
            rc = import(&l.m);
        }
    }
    import_conf_done(&l.m);
    arena_free(a);
    return rc;
}
