/* A directory of Slurm's configuration, read with the parser that the controller reads its own with
 * (model/settings/config.c): what that does not know, or finds without effect, is said by line;
 * what it refuses is left out and it is asked again, so that all of it is said at once. The files
 * are a stranger's: bounded, and never more than text. */
#include "cli/accounts/import/import.h"

#include "base/alloc.h"
#include "cli/accounts/import/lines.h"
#include "cli/program/program.h"
#include "io/client/client.h"
#include "io/files.h"
#include "model/limits.h"
#include "model/settings/gres_conf.h"
#include "model/settings/key.h"
#include "model/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAME           "remuda import"
#define DBD_FILE       "slurmdbd.conf"
#define REMARKS_LOOKED 100  /* the same is said once, where it is said close by */
#define REFUSED_MOST   1000 /* lines that cannot be read; then it is no such file */

#define A_SECRET "a secret"

/* Keys that mean the machine Slurm runs on, or a secret. */
static const struct {
    const char *key, *why;
} not_taken[] = {
    {SETTING_KEY(StateSaveLocation),
     "the state lies where `remuda up --state DIR` starts the cluster"},
    {SETTING_KEY(SlurmctldHost), "the controller is where `remuda up` is run"},
    {SETTING_KEY(SlurmctldAddr), "the controller is where `remuda up` is run"},
    {"ControlMachine", "the controller is where `remuda up` is run"},
    {SETTING_KEY(SlurmUser),
     "the controller runs as who starts it; set it when the state directory is that "
     "user's"},
    {"AccountingStoragePass", A_SECRET "; there is no slurmdbd"},
    {"JobCompPass", A_SECRET},
    {"DefaultStoragePass", A_SECRET},
};

/* Of slurmdbd.conf; of any other key it is that accounting is in the controller's store. */
static const struct {
    const char *key, *why;
} dbd_without[] = {
    {"AuthInfo", "hosts are known by their certificates"},
    {"AuthType", "hosts are known by their certificates"},
    {SETTING_KEY(PrivateData), "it stands in remuda.conf, and holds for accounting, too"},
    {"StoragePass", "a secret; accounting is in the controller's store"},
    {"TrackWCKey", "it stands in remuda.conf"},
};

/* Files beside slurm.conf that nothing is read of. */
static const struct {
    const char *name, *why;
} no_files[] = {
    {"acct_gather.conf", "energy, bytes and profiles are gathered without it (`remuda plot`); not "
                         "from BMCs, nor into HDF5 or InfluxDB"},
    {"burst_buffer.conf", "there are no burst buffers"},
    {"helpers.conf", "features of nodes are not changed by programs"},
    {"job_container.conf", "jobs have no /tmp of their own"},
    {"mpi.conf", "--mpi=pmi2 and pmix need no settings"},
    {"oci.conf", "containers are run by the job"},
    {"plugstack.conf", "there are no SPANK plugins"},
};

static void remark_add(struct import *m, enum remark kind, const char *text)
{
    for (size_t i = m->remark.n > REMARKS_LOOKED ? m->remark.n - REMARKS_LOOKED : 0;
         i < m->remark.n; i++)
        if (m->remark.v[i].kind == kind && text_is(m->remark.v[i].text, text))
            return;
    vec_push(&m->remark, ((struct remark_line){kind, text}));
}

/* ---- taking files in ------------------------------------------------------------------------ */

/* Of the files themselves, and of what the parser reads of them, each time that it is asked. */
static bool read_counts(struct import *m, size_t bytes, struct err *ret_err)
{
    m->read += bytes + LIMIT_CONFIG_INCLUDE_COSTS;
    return m->read <= LIMIT_CONFIG_INCLUDED_BYTES ||
           err_set(ret_err, ERR_LIMIT, "too many files, or too large ones, are included");
}

/* Below the directory. An absolute path that is not there was one on the machine it comes from: the
 * file of that name beside slurm.conf. */
static const char *file_text(struct import *m, const char *path, struct err *ret_err)
{
    const char *slash = strrchr(path, '/');
    const char *beside = arena_printf(m->a, "%s/%s", m->conf, slash ? slash + 1 : path),
               *first = path[0] == '/' ? path : arena_printf(m->a, "%s/%s", m->conf, path);
    struct str text = STR_INIT;
    bool ok = import_file_read(m, access(beside, R_OK) == 0 && path[0] == '/' ? beside : first,
                               &text, ret_err) &&
              read_counts(m, text.len, ret_err);
    if (ok && memchr(str_text(&text), '\0', text.len))
        ok = err_set(ret_err, ERR_INVALID, "%s: a zero byte: this is no text", path);
    const char *kept = ok ? arena_strdup(m->a, str_text(&text)) : NULL;
    str_done(&text);
    return kept;
}

static bool is_include(struct span line, const char **ret_path, struct arena *a)
{
    const char *text = arena_strndup(a, line.data, line.len);
    text += strspn(text, " \t");
    if (strlen(text) < 8 || !text_is_nocase(arena_strndup(a, text, 7), "Include") ||
        !strchr(" \t=", text[7]))
        return false;
    text += 7 + strspn(text + 7, " \t=");
    *ret_path = arena_strndup(a, text, strcspn(text, " \t\r#"));
    return true;
}

/* Files that include files are worked off by a list: who knows how deep they are. */
static bool taken_fill(struct import *m, struct taken *t, struct err *ret_err)
{
    struct open_file {
        struct span rest;
        const char *name;
        int line;
    };
    VEC(struct open_file) open = {0};
    const char *text = file_text(m, t->name, ret_err);
    bool ok = text != NULL;
    if (ok)
        vec_push(&open, ((struct open_file){span_of(text), t->name, 0}));
    while (ok && open.n) {
        struct open_file *top = &open.v[open.n - 1];
        struct span line;
        const char *path;
        if (!span_next(&top->rest, '\n', &line)) {
            open.n--;
            continue;
        }
        top->line++;
        if (line.len && line.data[line.len - 1] == '\r')
            line.len--;
        if (is_include(line, &path, m->a)) {
            struct err err = {0};
            const char *inner = file_text(m, path, &err);
            if (!inner || open.n > LIMIT_CONFIG_INCLUDE_DEPTH)
                ok = err_set(ret_err, ERR_INVALID, "%s:%d: Include %s: %s", top->name, top->line,
                             path, inner ? "files include each other too deep" : err.text);
            else
                vec_push(&open, ((struct open_file){span_of(inner), path, 0}));
            continue;
        }
        vec_push(&t->origin, ((struct origin){.file = top->name, .line = top->line}));
        str_addn(&t->text, line.data, line.len);
        str_addc(&t->text, '\n');
        if (t->text.len > LIMIT_CONFIG_BYTES)
            ok = err_set(ret_err, ERR_LIMIT, "%s: with what it includes it is larger than %u bytes",
                         t->name, LIMIT_CONFIG_BYTES);
    }
    vec_done(&open);
    secrets_out(t);
    return ok;
}

static struct taken *taken_find(const struct import *m, const char *name)
{
    for (size_t i = 0; i < m->file.n; i++)
        if (text_is(m->file.v[i]->name, name))
            return m->file.v[i];
    return NULL;
}

static bool taken_add(struct import *m, const char *name, bool needed, struct err *ret_err)
{
    const char *path = arena_printf(m->a, "%s/%s", m->conf, name);
    struct taken *t;
    if (!needed && access(path, F_OK) != 0)
        return true;
    t = xcalloc(1, sizeof *t);
    t->name = name;
    vec_push(&m->file, t);
    return taken_fill(m, t, ret_err);
}

static const char *taken_read(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    struct import *m = ctx;
    const struct taken *t = taken_find(m, path);
    if (t)
        return read_counts(m, t->text.len, ret_err) ? arena_strdup(a, str_text(&t->text)) : NULL;
    err_set(ret_err, ERR_NOT_FOUND, "%s is not there", path);
    return NULL;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* "slurm.conf:12: …": the file and the line, and where the rest begins; false: it begins
 * otherwise. */
static bool placed(const struct import *m, const char *text, struct taken **ret, size_t *ret_line,
                   const char **ret_rest)
{
    for (size_t i = 0; i < m->file.n; i++) {
        struct taken *t = m->file.v[i];
        size_t len = strlen(t->name);
        char *end;
        if (strncmp(text, t->name, len) != 0 || text[len] != ':')
            continue;
        unsigned long line = strtoul(text + len + 1, &end, 10);
        if (*end != ':' || line < 1 || line > t->origin.n)
            continue;
        *ret = t;
        *ret_line = line;
        *ret_rest = end + 1 + strspn(end + 1, " ");
        return true;
    }
    return false;
}

static const char *said_at(const struct import *m, const struct taken *t, size_t line,
                           const char *rest)
{
    const struct origin *o = &t->origin.v[line - 1];
    return arena_printf(m->a, "%s:%d: %s", o->file, o->line, rest);
}

/* A line that has nothing else is left out. In another it would act, or more than it would go: it
 * has to be put on a line of its own. The value of a secret is gone already. */
static void not_taken_look(struct import *m, struct taken *t, size_t line, const char *key,
                           const char *why)
{
    bool first = line_key_is(t, line, key), alone = first && line_has_one_pair(t, line),
         harmless = alone || text_starts(why, A_SECRET);
    if (!first && !line_has_key(t, line, key))
        return;
    remark_add(m, harmless ? NOT_TAKEN : NOT_READ,
               said_at(m, t, line,
                       arena_printf(m->a, "%s: %s%s", key, why,
                                    harmless ? "" : "; it needs a line of its own")));
    if (!harmless || alone)
        line_mark(t, line);
}

static void not_taken_find(struct import *m, struct taken *t)
{
    for (size_t line = 1; line <= t->origin.n; line++)
        for (size_t k = 0; k < ARRAY_LEN(not_taken); k++)
            not_taken_look(m, t, line, not_taken[k].key, not_taken[k].why);
    lines_out(t);
}

/* ---- slurmdbd.conf -------------------------------------------------------------------------- */

static void taken_line_add(struct taken *t, struct origin from, const char *text)
{
    vec_push(&t->origin, from);
    str_addf(&t->text, "%s\n", text);
}

/* How long the past is kept is a setting of the controller here. True: it became a line of the main
 * file. */
static bool dbd_pair(struct import *m, struct origin from, const char *key, const char *value)
{
    const char *why = "accounting is in the controller's store";
    if ((strncasecmp(key, "Purge", 5) == 0 || strncasecmp(key, "Archive", 7) == 0) &&
        setting_find(key)) {
        taken_line_add(m->file.v[0], from, arena_printf(m->a, "%s=%s", key, value));
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(dbd_without); i++)
        if (text_is_nocase(key, dbd_without[i].key))
            why = dbd_without[i].why;
    remark_add(m, NO_EQUIVALENT,
               arena_printf(m->a, "%s:%d: %s: %s", from.file, from.line, key, why));
    return false;
}

/* How many settings of the line were taken. */
static size_t dbd_line(struct import *m, struct origin from, const char *at)
{
    size_t taken = 0;
    for (at += strspn(at, " \t"); *at && *at != '#'; at += strspn(at, " \t")) {
        size_t word = strcspn(at, " \t=#");
        const char *key = arena_strndup(m->a, at, word);
        at += word + strspn(at + word, " \t");
        if (!word || *at != '=') {
            remark_add(m, NOT_READ,
                       arena_printf(m->a, "%s:%d: Key=Value is expected", from.file, from.line));
            return taken;
        }
        at += 1 + strspn(at + 1, " \t");
        size_t len = *at == '"' ? 1 + strcspn(at + 1, "\"") : strcspn(at, " \t#");
        len += *at == '"' && at[len] == '"';
        taken += dbd_pair(m, from, key, arena_strndup(m->a, at, len));
        at += len;
    }
    return taken;
}

/* Its settings go to the end of the main file, after a line that nothing can go on in. */
static bool dbd_take(struct import *m, size_t *ret_taken, struct err *ret_err)
{
    struct taken dbd = {.name = DBD_FILE};
    *ret_taken = 0;
    if (access(arena_printf(m->a, "%s/" DBD_FILE, m->conf), F_OK) != 0)
        return true;
    bool ok = taken_fill(m, &dbd, ret_err);
    if (ok && dbd.origin.n)
        taken_line_add(m->file.v[0], dbd.origin.v[0], "");
    for (size_t line = 1; ok && line <= dbd.origin.n; line++) {
        struct str whole = STR_INIT;
        struct origin from = dbd.origin.v[line - 1];
        for (; line_goes_on(&dbd, line); line++) {
            str_addn(&whole, line_at(&dbd, line), dbd.origin.v[line - 1].joint - 1);
            str_addc(&whole, ' '); /* as the parser joins them */
        }
        str_addn(&whole, line_at(&dbd, line), line_length(&dbd, line));
        *ret_taken += dbd_line(m, from, str_text(&whole));
        str_done(&whole);
    }
    lines_find(m->file.v[0]);
    str_done(&dbd.text);
    vec_done(&dbd.origin);
    return ok;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool parse(struct import *m, struct config *ret)
{
    struct taken *main_file = m->file.v[0], *t;
    for (size_t refused = 0;; refused++) {
        struct err err = {0};
        size_t line;
        const char *rest;
        if (config_parse(str_text(&main_file->text), MAIN_FILE, taken_read, m, ret, &err))
            return true;
        if (refused == REFUSED_MOST || m->read > LIMIT_CONFIG_INCLUDED_BYTES ||
            !placed(m, err.text, &t, &line, &rest)) {
            program_error(NAME, "%s", err.text);
            return false;
        }
        remark_add(m, NOT_READ, said_at(m, t, line, rest));
        line_mark(t, line);
        lines_out(t);
    }
}

static void warnings_sort(struct import *m, const struct config *c)
{
    struct taken *t;
    size_t line;
    const char *rest;
    for (size_t i = 0; i < c->nwarnings; i++) {
        const char *text = c->warning[i];
        bool unknown = c->weighs[i] == WEIGHS_UNKNOWN;
        if (!placed(m, text, &t, &line, &rest)) {
            remark_add(m, unknown ? NO_EQUIVALENT : NO_EFFECT, arena_strdup(m->a, text));
            continue;
        }
        remark_add(m, unknown ? NO_EQUIVALENT : NO_EFFECT, said_at(m, t, line, rest));
        bool whole = unknown || strstr(rest, "is known to Slurm but has no effect") ||
                     strstr(rest, "it is kept for compatibility");
        if (whole && line_has_one_pair(t, line))
            line_mark(t, line);
    }
    for (size_t i = 0; i < m->file.n; i++)
        lines_out(m->file.v[i]);
}

static void understood_say(struct import *m, const struct config *c, size_t dbd)
{
    const char *first = NULL;
    for (size_t i = 0; i < c->nparts; i++)
        if (c->part[i].is_default)
            first = c->part[i].name;
    str_addf(&m->understood, "  cluster %s: %zu nodes, %zu partitions%s%s\n",
             c->settings.cluster_name, c->nnodes, c->nparts, first ? ", default " : "",
             first ? first : "");
    for (size_t i = 0; i < c->nparts; i++)
        str_addf(&m->understood, "  partition %s: %s\n", c->part[i].name,
                 c->part[i].nodes ? c->part[i].nodes : "no nodes");
    for (size_t i = 0; i < m->file.n; i++)
        str_addf(&m->understood, "  %s: %zu lines\n", m->file.v[i]->name, m->file.v[i]->origin.n);
    if (dbd)
        str_addf(&m->understood, "  " DBD_FILE ": %zu settings, at the end of remuda.conf\n", dbd);
}

/* gres.conf is read by each node for itself; what the first of them makes of it stands for all. */
static bool gres_check(struct import *m, const struct config *c, struct err *ret_err)
{
    struct taken *t = taken_find(m, "gres.conf"), *at;
    struct gres_conf out;
    struct err err = {0};
    size_t line;
    const char *rest;
    for (size_t refused = 0; t && refused < REFUSED_MOST; refused++) {
        if (gres_conf_parse(str_text(&t->text), t->name, c->nnodes ? c->node[0].name : "", m->a,
                            &out, &err)) {
            if (out.remarks)
                remark_add(m, NO_EFFECT, arena_printf(m->a, "%s: %s", t->name, out.remarks));
            return true;
        }
        if (!placed(m, err.text, &at, &line, &rest))
            return err_set(ret_err, err.code, "%s", err.text);
        remark_add(m, NOT_READ, said_at(m, at, line, rest));
        line_mark(at, line);
        lines_out(at);
        err = (struct err){0};
    }
    return true;
}

static void files_without(struct import *m)
{
    for (size_t i = 0; i < ARRAY_LEN(no_files); i++)
        if (access(arena_printf(m->a, "%s/%s", m->conf, no_files[i].name), F_OK) == 0)
            remark_add(m, NO_EQUIVALENT,
                       arena_printf(m->a, "%s: %s", no_files[i].name, no_files[i].why));
}

bool import_conf_read(struct import *m)
{
    static const char *const others[] = {"cgroup.conf", "topology.conf", "gres.conf"};
    struct config c = {0};
    struct err err = {0};
    size_t dbd;
    bool ok = import_conf_open(m, &err) && taken_add(m, MAIN_FILE, true, &err);
    for (size_t i = 0; ok && i < ARRAY_LEN(others); i++)
        ok = taken_add(m, others[i], false, &err);
    if (!ok) {
        program_error(NAME, "%s", err.text);
        return false;
    }
    not_taken_find(m, m->file.v[0]);
    if (!dbd_take(m, &dbd, &err)) {
        program_error(NAME, "%s", err.text);
        return false;
    }
    if (!parse(m, &c))
        return false;
    ok = gres_check(m, &c, &err);
    if (!ok)
        program_error(NAME, "%s", err.text);
    warnings_sort(m, &c);
    files_without(m);
    understood_say(m, &c, dbd);
    config_done(&c);
    return ok;
}

void import_conf_done(struct import *m)
{
    for (size_t i = 0; i < m->file.n; i++) {
        str_done(&m->file.v[i]->text);
        vec_done(&m->file.v[i]->origin);
        free(m->file.v[i]);
    }
    vec_done(&m->file);
    vec_done(&m->remark);
    str_done(&m->understood);
}
