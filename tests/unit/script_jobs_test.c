/* 120 scripts, 40 of each system, and the job each becomes (tests/unit/script_jobs): fields of its
 * record that are not as if nothing was asked. Each goes to the other systems' words as well, whose
 * commands must take it. */
#include "script_help.h"

#include "script/lines.h"
#include "script/lint/lint.h"
#include "script/translate.h"

#include <stdio.h>

#define SCRIPTS_EACH 40

static const char *file_read(const char *name, struct arena *a)
{
    const char *root = getenv("REMUDA_SOURCE");
    const char *path = arena_printf(a, "%s/tests/unit/script_jobs/%s.txt", root ? root : ".", name);
    FILE *f = fopen(path, "re");
    struct str text = STR_INIT;
    char block[4096];
    size_t n;
    if (!f)
        fail_msg("cannot open %s; REMUDA_SOURCE names the source folder", path);
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        str_addn(&text, block, n);
    fclose(f);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

/* ---- the record in words ---- */

static void name_add(const struct field *f, const char *unit, struct str *out)
{
    size_t len = strlen(f->name), cut = unit ? strlen(unit) : 0;
    str_addf(out, "%s%.*s=", out->len ? " " : "", (int)(len - cut), f->name);
}

static void number_add(const struct field *f, int64_t n, struct str *out)
{
    if (!n)
        return;
    name_add(f, NULL, out);
    str_add_i64(out, n);
}

static void amount_add(const struct field *f, int64_t n, struct str *out)
{
    if (!n)
        return;
    name_add(f, f->type == FIELD_MIB ? "_mib" : "_us", out);
    if (f->type == FIELD_TIME)
        civil_format_iso(n, &civil_utc, out);
    else if (f->type == FIELD_SPAN)
        str_addf(out, "%llds", (long long)(n / USEC_PER_SEC));
    else if (n == MEM_ALL)
        str_add(out, "all");
    else
        str_addf(out, "%lldM", (long long)n);
}

static void field_add(const struct field *f, const struct job_spec *j, struct str *out)
{
    const void *at = field_ptr(f, j);
    switch (f->type) {
    case FIELD_BOOL:
        if (*(const bool *)at) {
            name_add(f, NULL, out);
            str_add(out, "true");
        }
        return;
    case FIELD_TEXT:
        if (*(const char *const *)at) {
            name_add(f, NULL, out);
            str_add(out, *(const char *const *)at);
        }
        return;
    case FIELD_ENUM:
        if (*(const int32_t *)at) {
            name_add(f, NULL, out);
            str_add(out, enum_name(f->aux, *(const int32_t *)at));
        }
        return;
    case FIELD_I32: return number_add(f, *(const int32_t *)at, out);
    case FIELD_U32: return number_add(f, *(const uint32_t *)at, out);
    case FIELD_I64:
    case FIELD_U64: return number_add(f, *(const int64_t *)at, out);
    case FIELD_MIB:
    case FIELD_SPAN:
    case FIELD_TIME: return amount_add(f, *(const int64_t *)at, out);
    case FIELD_BLOB:
    case FIELD_LIST: return;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct field *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static const char *job_in_words(const struct job_spec *j, struct arena *a)
{
    const struct field *sorted[256];
    struct str out = STR_INIT;
    size_t n = 0;
    for (size_t i = 0; i < job_spec_fields.n && n < ARRAY_LEN(sorted); i++)
        if (strncmp(job_spec_fields.field[i].name, "dialect", 7) != 0)
            sorted[n++] = &job_spec_fields.field[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++)
        field_add(sorted[i], j, &out);
    const char *kept = arena_strdup(a, str_text(&out));
    str_done(&out);
    /* the time limit is what people call the time */
    char *limit;
    while ((limit = strstr(kept, "time_limit=")))
        memmove(limit + 4, limit + 10, strlen(limit + 10) + 1);
    return kept;
}

/* ---- the scripts ---- */

struct one {
    const char *name, *script, *job;
};

/* "=== NAME", the script, "---", the job on a line. */
static bool next_take(const char **text, struct one *ret, struct arena *a)
{
    const char *head = strstr(*text, "=== ");
    if (!head)
        return false;
    const char *begin = strchr(head, '\n') + 1, *end = strstr(begin, "\n---\n");
    assert_non_null(end);
    const char *job = end + 5, *over = strchr(job, '\n');
    *ret = (struct one){arena_strndup(a, head + 4, (size_t)(begin - head - 5)),
                        arena_strndup(a, begin, (size_t)(end + 1 - begin)),
                        arena_strndup(a, job, (size_t)(over - job))};
    *text = over;
    return true;
}

static void into_words_of_others(struct world *w, const struct one *s, enum dialect from)
{
    for (unsigned to = DIALECT_SLURM; to <= DIALECT_PBS; to++) {
        struct translation t;
        struct lint l = {.dialect = (enum dialect)to, .env = &w->env, .a = w->a};
        if (to == from)
            continue;
        if (!script_translate(s->script, strlen(s->script), from, (enum dialect)to, &w->env, "job",
                              w->a, &t, &w->err))
            fail_msg("%s: %s", s->name, w->err.text);
        lint_read_alone(&l, t.text, t.len, 0, NULL);
        if (!l.readable || lint_count(&l, LINT_ERROR))
            fail_msg("%s: %s does not take\n%s: %s", s->name, script_command((enum dialect)to),
                     t.text, l.finding.v[0].text);
        lint_done(&l);
        translation_done(&t);
    }
}

static size_t script_look(struct world *w, const struct one *s, enum dialect d)
{
    struct dialect_site site = dialect_site_standard();
    struct lint l = {.dialect = d, .env = &w->env, .a = w->a};
    site.torque = !strncmp(s->name, "torque: ", 8);
    w->env.site = &site;
    lint_read_alone(&l, s->script, strlen(s->script), 0, NULL);
    const char *job = l.readable && !lint_count(&l, LINT_ERROR)
                          ? job_in_words(&l.comp[0].spec, w->a)
                      : l.finding.n ? l.finding.v[0].text
                                    : "no job";
    bool same = !strcmp(job, s->job);
    if (!same)
        print_error("%s\nbecomes:  %s\nexpected: %s\n", s->name, job, s->job);
    lint_done(&l);
    into_words_of_others(w, s, d);
    w->env.site = NULL;
    return !same;
}

static void scripts_look(struct world *w, const char *name, enum dialect d)
{
    const char *text = file_read(name, w->a);
    struct one s;
    size_t n = 0, wrong = 0;
    while (next_take(&text, &s, w->a)) {
        wrong += script_look(w, &s, d);
        n++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(n, SCRIPTS_EACH);
}

static void scripts_of_slurm(void **state)
{
    scripts_look(*state, "slurm", DIALECT_SLURM);
}

static void scripts_of_lsf(void **state)
{
    scripts_look(*state, "lsf", DIALECT_LSF);
}

static void scripts_of_pbs(void **state)
{
    scripts_look(*state, "pbs", DIALECT_PBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scripts_of_slurm, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(scripts_of_lsf, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(scripts_of_pbs, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
