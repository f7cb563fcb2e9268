/* sacctmgr show: accounts, users, associations, QOS, with the columns Slurm shows unasked. */
#include "cli/accounts/accounts.h"
#include "cli/table/listing.h"

#include <stdio.h>

/* ---- tables --------------------------------------------------------------------------------- */

/* The heading is Slurm's name of the column here, between '|' too. */
static void parsable_row(struct table_out *t, const void *record)
{
    for (size_t i = 0; i < t->format.item.n; i++) {
        const struct column *c = t->format.item.v[i].column;
        if (i)
            str_addc(&t->out, '|');
        if (record)
            c->print(&t->env, record, &t->out);
        else
            str_add(&t->out, c->header ? c->header : c->name);
    }
    str_add(&t->out, t->s->parsable == 'p' ? "|\n" : "\n");
}

bool table_begin(struct table_out *t, struct sacctmgr *s, const struct column_table *columns,
                 const char *format, const void *more)
{
    *t = (struct table_out){.s = s, .env = listing_env()};
    listing_time_format_check("sacctmgr");
    t->env.cluster = s->cluster;
    t->env.more = more;
    if (!fields_read(s, columns, format, &t->format)) {
        format_done(&t->format);
        return false;
    }
    if (s->noheader)
        return true;
    if (s->parsable)
        parsable_row(t, NULL);
    else
        format_print_ruled_header(&t->format, &t->out);
    return true;
}

void table_row(struct table_out *t, const void *record)
{
    if (t->s->parsable)
        parsable_row(t, record);
    else
        format_print_row(&t->format, &t->env, record, &t->out);
    if (t->out.len > 1 << 16)
        listing_flush(&t->out);
}

void table_end(struct table_out *t)
{
    listing_flush(&t->out);
    str_done(&t->out);
    format_done(&t->format);
}

/* ---- which rows ----------------------------------------------------------------------------- */

struct show_filter {
    const char *names, *accounts, *users, *partitions, *parent, *ids, *default_qos, *qos;
    const char *description, *organization, *default_account, *default_wckey, *admin;
    uint32_t flags;       /* that a QOS has, all of them */
    int32_t preempt_mode; /* < 0: any */
    bool elsewhere;       /* of clusters that are not this one */
    bool deleted, sub, only_defaults, with_assoc, with_coord;
};

static const char *join(const char *a, const char *b, struct arena *arena)
{
    return !a ? b : !b ? a : arena_printf(arena, "%s,%s", a, b);
}

static void filter_read(const struct specs *sp, struct arena *a, struct show_filter *f)
{
    *f = (struct show_filter){.names = specs_where(sp, KEY_NAMES, a),
                              .accounts = specs_where(sp, KEY_ACCOUNTS, a),
                              .users = specs_where(sp, KEY_USERS, a),
                              .partitions = specs_where(sp, KEY_PARTITIONS, a),
                              .parent = specs_where(sp, KEY_PARENT, a),
                              .ids = specs_where(sp, KEY_IDS, a),
                              .default_qos = specs_where(sp, KEY_DEFAULT_QOS, a),
                              .qos = specs_where(sp, KEY_QOS_LIST, a),
                              .description = specs_where(sp, KEY_DESCRIPTION, a),
                              .organization = specs_where(sp, KEY_ORGANIZATION, a),
                              .default_account = specs_where(sp, KEY_DEFAULT_ACCOUNT, a),
                              .default_wckey = specs_where(sp, KEY_DEFAULT_WCKEY, a),
                              .admin = specs_where(sp, KEY_ADMIN_LEVEL, a),
                              .preempt_mode = -1,
                              .deleted = specs_flag(sp, KEY_WITH_DELETED),
                              .sub = specs_flag(sp, KEY_WITH_SUB),
                              .only_defaults = specs_flag(sp, KEY_ONLY_DEFAULTS),
                              .with_assoc = specs_flag(sp, KEY_WITH_ASSOC),
                              .with_coord = specs_flag(sp, KEY_WITH_COORD)};
    if (sp->entity == ENTITY_ACCOUNT) {
        f->accounts = join(f->names, f->accounts, a);
    } else if (sp->entity == ENTITY_USER) {
        f->users = join(f->names, f->users, a);
    } else if (sp->entity == ENTITY_ASSOC) {
        f->ids = join(f->names, f->ids, a);
    } else if (sp->entity == ENTITY_QOS) {
        f->names = join(f->names, f->qos, a);
    }
}

/* Conditions that have a value which may be none. False after an error was printed. */
static bool filter_check(struct sacctmgr *s, const struct specs *sp, struct show_filter *f)
{
    struct span rest = span_of(f->ids ? f->ids : ""), piece;
    struct err e = {0};
    uint64_t id;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(s->a, piece.data, piece.len);
        if (!*word || text_to_u64(word, UINT32_MAX, &id))
            continue;
        sacctmgr_fail(s, "Invalid value for %s (%s)",
                      sp->entity == ENTITY_QOS ? "QOS ID" : "AssocId", word);
        return false;
    }
    const char *mode = specs_where(sp, KEY_PREEMPT_MODE, s->a),
               *flags = specs_where(sp, KEY_FLAGS, s->a);
    if (mode && !enum_value(&preempt_mode_names, mode, &f->preempt_mode)) {
        sacctmgr_fail(s, "Unknown preempt_mode given '%s'", mode);
        sacctmgr_refuse(s, " Bad Preempt Mode given: preemptmode=%s", mode);
        return false;
    }
    if (flags && sp->entity == ENTITY_QOS &&
        !flag_words_parse(qos_flag_words, QOS_FLAG_COUNT, flags, &f->flags, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return false;
    }
    return true;
}

static const char *qos_names(const struct book *b, struct arena *a)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < b->qos.n; i++)
        if (!b->qos.v[i]->q->deleted)
            str_addf(&out, "%s%s", out.len ? "," : "", b->qos.v[i]->q->name);
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* A condition names QOS that are there. False after an error was printed. */
static bool qos_check(struct sacctmgr *s, const struct specs *sp, const struct book *b)
{
    for (size_t i = 0; i < sp->where.n && sp->entity != ENTITY_QOS; i++) {
        const struct spec *w = &sp->where.v[i];
        struct span rest = span_of(w->value), piece;
        if (w->key != KEY_QOS_LIST && w->key != KEY_DEFAULT_QOS)
            continue;
        while (span_next(&rest, ',', &piece)) {
            const char *name = name_lowered(arena_strndup(s->a, piece.data, piece.len), s->a);
            if (!*name || book_qos(b, name))
                continue;
            sacctmgr_fail(s, "You gave a bad qos '%s'. Valid QOS's are %s", name,
                          qos_names(b, s->a));
            sacctmgr_refuse(s, " Unknown condition: %s%s", w->typed,
                            sp->entity == ENTITY_ASSOC ? ""
                                                       : "\n Use keyword 'set' to modify value");
            return false;
        }
    }
    return true;
}

static bool account_matches(const struct show_filter *f, const struct assoc_view *v)
{
    for (; v; v = f->sub ? v->up : NULL)
        if (specs_match(f->accounts, v->a->account))
            return true;
    return false;
}

static const char *default_qos_of(const struct assoc_view *v)
{
    while (v && !v->a->default_qos)
        v = v->up;
    return v ? v->a->default_qos : NULL;
}

static bool qos_matches(const struct book *b, const char *list, const struct assoc_view *v)
{
    struct arena *a = arena_new();
    struct span rest = span_of(list ? list : ""), piece;
    const char *own = list ? assoc_view_qos(b, v, a) : "";
    bool found = text_empty(list);
    while (!found && span_next(&rest, ',', &piece))
        found = *own && specs_match(own, arena_strndup(a, piece.data, piece.len));
    arena_free(a);
    return found;
}

static bool assoc_matches(const struct book *b, const struct show_filter *f,
                          const struct assoc_view *v)
{
    char id[16] = "";
    if ((v->a->deleted && !f->deleted) || f->elsewhere)
        return false;
    const struct account_user *u = f->only_defaults ? book_user(b, v->a->user) : NULL;
    if (f->only_defaults && !(u && text_is(u->default_account, v->a->account)))
        return false;
    if (f->ids)
        snprintf(id, sizeof id, "%u", v->a->id);
    if (f->default_qos && !specs_match(f->default_qos, default_qos_of(v)))
        return false;
    return account_matches(f, v) && (!f->users || specs_match(f->users, v->a->user)) &&
           (!f->partitions || specs_match(f->partitions, v->a->partition)) &&
           (!f->parent || (!v->a->user && specs_match(f->parent, v->a->parent))) &&
           specs_match(f->ids, id) && qos_matches(b, f->qos, v);
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct sacctmgr_showing {
    struct sacctmgr *s;
    const struct specs *sp;
    struct book b;
    struct show_filter f;
    VEC(struct account_row) row;
};

static const char *coordinators_of(struct sacctmgr_showing *g, const char *account)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < g->b.user.n; i++)
        if (!g->b.user.v[i]->deleted && book_coordinates(&g->b, g->b.user.v[i]->name, account))
            str_addf(&out, "%s%s", out.len ? "," : "", g->b.user.v[i]->name);
    const char *text = arena_strdup(g->s->a, str_text(&out));
    str_done(&out);
    return text;
}

static const char *coordinated_by(struct sacctmgr_showing *g, const char *user)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < g->b.account.n; i++)
        if (!g->b.account.v[i]->deleted && book_coordinates(&g->b, user, g->b.account.v[i]->name))
            str_addf(&out, "%s%s", out.len ? "," : "", g->b.account.v[i]->name);
    const char *text = arena_strdup(g->s->a, str_text(&out));
    str_done(&out);
    return text;
}

static void row_add(struct sacctmgr_showing *g, struct account_row row)
{
    row.book = &g->b;
    row.own_limits =
        specs_flag(g->sp, KEY_WITHOUT_PARENT_LIMITS) || specs_flag(g->sp, KEY_WITHOUT_PARENT_INFO);
    row.own_qos = specs_flag(g->sp, KEY_WITH_RAW) || specs_flag(g->sp, KEY_WITHOUT_PARENT_INFO);
    row.owner = row.qos ? &row.qos->owner : row.assoc ? &row.assoc->owner : NULL;
    vec_push(&g->row, row);
}

static void account_rows(struct sacctmgr_showing *g)
{
    for (size_t i = 0; i < g->b.account.n; i++) {
        const struct account *a = g->b.account.v[i];
        struct account_row row = {.account = a};
        if ((a->deleted && !g->f.deleted) || !specs_match(g->f.accounts, a->name) ||
            (g->f.description && !specs_match(g->f.description, a->description)) ||
            (g->f.organization && !specs_match(g->f.organization, a->organization)))
            continue;
        if (g->f.with_coord)
            row.coordinators = coordinators_of(g, a->name);
        if (!g->f.with_assoc) {
            row_add(g, row);
            continue;
        }
        for (int users = 0; users < 2; users++) /* its own first */
            for (size_t k = 0; k < g->b.assoc.n; k++) {
                row.assoc = g->b.assoc.v[k];
                if (!row.assoc->a->user == !users && assoc_matches(&g->b, &g->f, row.assoc) &&
                    text_is(row.assoc->a->account, a->name))
                    row_add(g, row);
            }
    }
}

static bool user_matches(const struct show_filter *f, const struct account_user *u)
{
    return (!u->deleted || f->deleted) && specs_match(f->users, u->name) &&
           (!f->default_account || specs_match(f->default_account, u->default_account)) &&
           (!f->default_wckey || specs_match(f->default_wckey, u->default_wckey)) &&
           (!f->admin ||
            text_starts_nocase(enum_name(&admin_level_names, u->admin_level), f->admin));
}

static void user_rows(struct sacctmgr_showing *g)
{
    for (size_t i = 0; i < g->b.user.n; i++) {
        const struct account_user *u = g->b.user.v[i];
        struct account_row row = {.user = u};
        if (!user_matches(&g->f, u))
            continue;
        if (g->f.with_coord)
            row.coordinators = coordinated_by(g, u->name);
        if (!g->f.with_assoc)
            row_add(g, row);
        for (size_t k = 0; g->f.with_assoc && k < g->b.assoc.n; k++) {
            row.assoc = g->b.assoc.v[k];
            if (text_is(row.assoc->a->user, u->name) && assoc_matches(&g->b, &g->f, row.assoc))
                row_add(g, row);
        }
    }
}

static void assoc_rows(struct sacctmgr_showing *g)
{
    for (size_t i = 0; i < g->b.assoc.n; i++)
        if (assoc_matches(&g->b, &g->f, g->b.assoc.v[i]))
            row_add(g, (struct account_row){.assoc = g->b.assoc.v[i]});
}

/* One without a mode of its own is "off", too, as in Slurm. */
static bool mode_matches(int32_t asked, int32_t mode)
{
    return asked < 0 || mode == asked || (asked == PREEMPT_OFF && mode == PREEMPT_UNSET) ||
           (asked == PREEMPT_UNSET && mode == PREEMPT_OFF);
}

static void qos_rows(struct sacctmgr_showing *g)
{
    char id[16];
    for (size_t i = 0; i < g->b.qos.n; i++) {
        const struct qos *q = g->b.qos.v[i]->q;
        snprintf(id, sizeof id, "%u", q->id);
        if ((!q->deleted || g->f.deleted) && specs_match(g->f.names, q->name) &&
            specs_match(g->f.ids, id) && (q->flags & g->f.flags) == g->f.flags &&
            mode_matches(g->f.preempt_mode, q->preempt_mode) &&
            (!g->f.description || specs_match(g->f.description, q->description)))
            row_add(g, (struct account_row){.qos = g->b.qos.v[i]});
    }
}

/* ---- the columns shown unasked -------------------------------------------------------------- */

// clang-format off
#define ASSOC_LIMITS                                                                                         \
    "Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit," \
    "MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins"
#define ACCOUNT_LIMITS                                                                                       \
    "Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMem,GrpSubmit,GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,"  \
    "MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"
#define USER_LIMITS                                                                                          \
    "Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"
#define QOS_COLUMNS                                                                                          \
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThreshold,UsageFactor,"     \
    "GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall," \
    "MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,MaxJobsPA,MaxSubmitPA,MinTRES"
// clang-format on

static const char *assoc_default(const struct sacctmgr_showing *g)
{
    if (specs_flag(g->sp, KEY_WITHOUT_LIMITS) || specs_flag(g->sp, KEY_WITHOUT_PARENT_LIMITS))
        return "Cluster,Account,User,Partition";
    return specs_flag(g->sp, KEY_TREE) ? "Cluster,Account%-20,User,Partition," ASSOC_LIMITS
                                       : "Cluster,Account,User,Partition," ASSOC_LIMITS;
}

/* Slurm shows those of users where TrackWCKey says so; here where there are any. */
static bool keys_are_used(const struct book *b)
{
    for (size_t i = 0; i < b->wckey.n; i++)
        if (!b->wckey.v[i]->deleted)
            return true;
    return false;
}

static const char *default_format(const struct sacctmgr_showing *g)
{
    struct arena *a = g->s->a;
    const char *coord = g->f.with_coord ? ",Coordinators" : "";
    switch ((int)g->sp->entity) {
    case ENTITY_ACCOUNT:
        return arena_printf(a, "Account,Description,Organization%s%s",
                            g->f.with_assoc ? ",Cluster,ParentName,User," ACCOUNT_LIMITS : "",
                            coord);
    case ENTITY_USER:
        return arena_printf(
            a, "User,DefaultAccount%s,AdminLevel%s%s", keys_are_used(&g->b) ? ",DefaultWCKey" : "",
            g->f.with_assoc ? ",Cluster,Account,Partition," USER_LIMITS : "", coord);
    case ENTITY_QOS: return QOS_COLUMNS;
    default: return assoc_default(g);
    }
}

/* Each row of a tree stands below the nearest above it that is shown. Rows come in its order. */
static void depths_set(struct sacctmgr_showing *g)
{
    VEC(const struct account_row *) above = {0};
    for (size_t i = 0; i < g->row.n; i++) {
        struct account_row *r = &g->row.v[i];
        while (above.n) {
            const struct assoc_view *top = above.v[above.n - 1]->assoc, *v = r->assoc;
            while (v && v->depth > top->depth)
                v = v->up;
            if (v == top && v != r->assoc)
                break;
            above.n--;
        }
        r->depth = (int)above.n;
        vec_push(&above, r);
    }
    vec_done(&above);
}

/* Trees stand at the left edge, as wide as they are asked for. */
static const char *format_of(const struct sacctmgr_showing *g, const char *format)
{
    struct str out = STR_INIT;
    struct span rest = span_of(format), piece;
    while (span_next(&rest, ',', &piece)) {
        bool account = piece.len >= 3 &&
                       text_starts_nocase("account", arena_strndup(g->s->a, piece.data, piece.len));
        str_addf(&out, "%s%.*s%s", out.len ? "," : "", (int)piece.len, piece.data,
                 account ? "%-20" : "");
    }
    const char *text = arena_strdup(g->s->a, str_text(&out));
    str_done(&out);
    return text;
}

static void rows_show(struct sacctmgr_showing *g)
{
    struct table_out t;
    const char *format = specs_where(g->sp, KEY_FORMAT, g->s->a);
    bool tree = specs_flag(g->sp, KEY_TREE) && g->sp->entity == ENTITY_ASSOC;
    if (tree)
        depths_set(g);
    if (format && tree)
        format = format_of(g, format);
    if (!table_begin(&t, g->s, account_columns(g->sp->entity, g->s->a),
                     format ? format : default_format(g), NULL))
        return;
    for (size_t i = 0; i < g->row.n; i++)
        table_row(&t, &g->row.v[i]);
    table_end(&t);
}

/* Conditions on associations count only where they are shown. */
static bool needs_assoc(const struct sacctmgr_showing *g)
{
    const struct show_filter *f = &g->f;
    bool asked = f->partitions || f->default_qos || f->qos || f->parent ||
                 (g->sp->entity == ENTITY_USER && f->accounts) ||
                 (g->sp->entity == ENTITY_ACCOUNT && f->users);
    return asked && !f->with_assoc &&
           (g->sp->entity == ENTITY_USER || g->sp->entity == ENTITY_ACCOUNT);
}

void accounts_show(struct sacctmgr *s, const struct specs *sp)
{
    struct sacctmgr_showing g = {.s = s, .sp = sp};
    filter_read(sp, s->a, &g.f);
    g.f.with_assoc |= s->associations;
    if (!filter_check(s, sp, &g.f))
        return;
    if (needs_assoc(&g) &&
        !sacctmgr_ask(s, "You requested options that are only valid when querying with the "
                         "withassoc option.\nAre you sure you want to continue?"))
        return;
    if (book_read(s, &g.b) && qos_check(s, sp, &g.b)) {
        g.f.elsewhere = !specs_match(specs_where(sp, KEY_CLUSTERS, s->a), s->cluster);
        switch ((int)sp->entity) {
        case ENTITY_ACCOUNT: account_rows(&g); break;
        case ENTITY_USER: user_rows(&g); break;
        case ENTITY_QOS: qos_rows(&g); break;
        default: assoc_rows(&g); break;
        }
        if (s->json)
            accounts_json(s, &g.b, g.row.v, g.row.n, sp->entity);
        else
            rows_show(&g);
    }
    book_done(&g.b);
    vec_done(&g.row);
}
