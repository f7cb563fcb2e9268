/* Values that are taken and probably mean something else to who wrote them. */
#include "base/alloc.h"
#include "base/duration.h"
#include "script/lines.h"
#include "script/lint/lint.h"

#include <string.h>

#define TINY_MIB 32 /* less memory is a unit left out */

/* ---- times ---- */

static bool digits_take(const char **text, int64_t *ret)
{
    size_t n = strspn(*text, "0123456789");
    if (!n || n > 9)
        return false;
    *ret = 0;
    for (; n; n--)
        *ret = *ret * 10 + *(*text)++ - '0';
    return true;
}

/* "24:00", and no more: *ret_first is 24. */
static bool two_fields(const char *text, int64_t *ret_first, int64_t *ret_second)
{
    return text && digits_take(&text, ret_first) && *text++ == ':' &&
           digits_take(&text, ret_second) && !*text;
}

/* Numbers that people mean as hours: 1 to 4, a half day and whole days. */
static bool like_hours(int64_t n)
{
    return n <= 4 || (n >= 12 && n % 12 == 0 && n != 60);
}

static void minutes_find(struct lint *l, const struct lint_option *o, const char *value)
{
    int64_t first, second;
    if (!two_fields(value, &first, &second) || !like_hours(first))
        return;
    lint_find(l, RULE_TIME_UNIT, o->line, 0,
              "%s is minutes and seconds, %lld minute%s; %lld hour%s would be %lld:%02lld:00",
              value, (long long)first, first == 1 ? "" : "s", (long long)first,
              first == 1 ? "" : "s", (long long)first, (long long)second);
}

static void slurm_time(struct lint *l, const struct lint_option *o)
{
    int64_t n;
    minutes_find(l, o, o->value);
    if (o->value && text_to_i64(o->value, 1, 96, &n) && n >= 24 && n % 24 == 0)
        lint_find(l, RULE_TIME_UNIT, o->line, 0,
                  "%s is %lld minutes; %lld hours would be %lld:00:00", o->value, (long long)n,
                  (long long)n, (long long)n);
}

static void lsf_time(struct lint *l, const struct lint_option *o)
{
    int64_t first, second;
    if (two_fields(o->value, &first, &second))
        lint_find(l, RULE_HOURS, o->line, 0,
                  "%s is hours and minutes to LSF, %lld hour%s; --time=%s of sbatch would be %lld "
                  "minute%s",
                  o->value, (long long)first, first == 1 ? "" : "s", o->value, (long long)first,
                  first == 1 ? "" : "s");
}

/* The value of "walltime=" in "select=1:ncpus=4,walltime=90", in the arena. */
static const char *resource_of(struct lint *l, const char *value, const char *name)
{
    struct span rest = span_of(value), one, key;
    while (rest.data && span_next(&rest, ',', &one)) {
        one = span_trim(one);
        if (span_next(&one, '=', &key) && span_is_nocase(key, name) && one.data)
            return arena_strndup(l->a, one.data, one.len);
    }
    return NULL;
}

static void pbs_resources(struct lint *l, const struct lint_option *o)
{
    static const char *const sizes[] = {"mem", "pmem", "vmem"};
    const char *wall = resource_of(l, o->value, "walltime");
    int64_t n;
    if (wall)
        minutes_find(l, o, wall);
    if (wall && text_to_i64(wall, 1, 599, &n))
        lint_find(l, RULE_TIME_UNIT, o->line, 0,
                  "walltime=%s are %lld seconds to PBS; minutes are walltime=%lld:00, hours "
                  "walltime=%lld:00:00",
                  wall, (long long)n, (long long)n, (long long)n);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const char *size = resource_of(l, o->value, sizes[i]);
        if (size && text_to_i64(size, 1, INT64_C(1) << 25, &n))
            lint_find(l, RULE_TINY_MEMORY, o->line, 0,
                      "%s=%s are bytes to PBS; megabytes are %s=%smb", sizes[i], size, sizes[i],
                      size);
    }
}

/* ---- memory ---- */

static void memory_find(struct lint *l, const char *option, int64_t mib)
{
    unsigned line = lint_line_of(l, option);
    for (size_t i = 0; i < l->finding.n; i++)
        if (l->finding.v[i].line == line && l->finding.v[i].rule == RULE_TINY_MEMORY)
            return;
    if (mib > 0 && mib < TINY_MIB)
        lint_find(l, RULE_TINY_MEMORY, line, 0,
                  "that is %lld MB of memory (--%s); a number without a unit is in %s, so write "
                  "%lldG for gigabytes",
                  (long long)mib, option,
                  l->dialect == DIALECT_PBS   ? "bytes"
                  : l->dialect == DIALECT_LSF ? "the unit of the site (LsfUnitForLimits)"
                                              : "megabytes",
                  (long long)mib);
}

static void memory_look(struct lint *l)
{
    const struct job_request *q = &l->comp[0].spec.req;
    memory_find(l, "mem", q->mem_per_node_mib);
    memory_find(l, "mem-per-cpu", q->mem_per_cpu_mib);
    memory_find(l, "mem-per-gpu", q->mem_per_gpu_mib);
}

/* ---- names and patterns ---- */

static void name_look(struct lint *l, const struct lint_option *o, const char *name)
{
    const char *c = name ? strchr(name, '%') : NULL;
    if (c && strchr("jJAaIxuN", c[1]) && c[1])
        lint_find(l, RULE_NAME_PATTERN, o->line, 0,
                  "%%%c stays as it is in a name; it is put in only in the names of files", c[1]);
}

/* The first %X that is none of `known`; 0 = none. */
static char unknown_pattern(const char *file, const char *known)
{
    for (const char *c = file; c && *c; c++) {
        if (*c != '%')
            continue;
        c++;
        while (*c >= '0' && *c <= '9')
            c++;
        if (!*c || !strchr(known, *c))
            return *c ? *c : '%';
    }
    return 0;
}

static void pattern_look(struct lint *l, const struct lint_option *o)
{
    static const char *const known[] = {
        [DIALECT_SLURM] = "%AabJjNnstux", [DIALECT_LSF] = "JI", [DIALECT_PBS] = ""};
    static const char *const instead[] = {
        [DIALECT_SLURM] = "%j is the number, %A and %a those of an array, %x the name, %u the user",
        [DIALECT_LSF] = "%J is the number, %I the index of an array",
        [DIALECT_PBS] = "the default, NAME.oID, has the number; ^array_index^ is the index"};
    char c = unknown_pattern(o->value, known[l->dialect]);
    if (c)
        lint_find(l, RULE_PATTERN, o->line, 0, "%%%c is not replaced by %s; %s", c,
                  script_command(l->dialect), instead[l->dialect]);
}

static bool one_of(const char *name, const char *words)
{
    struct span rest = span_of(words), one;
    while (span_next(&rest, ' ', &one))
        if (span_is(one, name))
            return true;
    return false;
}

static void array_look(struct lint *l, const struct lint_option *o, const char *list)
{
    int64_t n;
    size_t digits = list ? strcspn(list, "%") : 0;
    if (digits && text_to_i64(arena_strndup(l->a, list, digits), 2, 1 << 30, &n))
        lint_find(l, RULE_ARRAY_OF_ONE, o->line, 0,
                  "that is one element, with the index %lld; %lld elements are 1-%lld",
                  (long long)n, (long long)n, (long long)n);
}

/* ---- each option ---- */

static void slurm_option(struct lint *l, const struct lint_option *o)
{
    const char *name = o->row->name;
    if (one_of(name, "time time-min"))
        slurm_time(l, o);
    else if (text_is(name, "job-name"))
        name_look(l, o, o->value);
    else if (one_of(name, "output error input") && !(o->value && strchr(o->value, '\\')))
        pattern_look(l, o);
    else if (text_is(name, "array"))
        array_look(l, o, o->value);
}

static void lsf_option(struct lint *l, const struct lint_option *o)
{
    const char *name = o->row->name;
    if (text_is(name, "W"))
        lsf_time(l, o);
    else if (text_is(name, "J")) {
        name_look(l, o, l->lsf.name);
        array_look(l, o, l->lsf.array);
    } else if (one_of(name, "o oo e eo i is"))
        pattern_look(l, o);
}

static void pbs_option(struct lint *l, const struct lint_option *o)
{
    const char *name = o->row->name;
    if (text_is(name, "l"))
        pbs_resources(l, o);
    else if (text_is(name, "N"))
        name_look(l, o, o->value);
    else if (one_of(name, "o e"))
        pattern_look(l, o);
    else if (one_of(name, "J t"))
        array_look(l, o, o->value);
}

/* Options of which all that are given count. */
static bool adds_up(const struct lint *l, const char *name)
{
    return l->dialect == DIALECT_LSF   ? one_of(name, "R env B N Ne notify")
           : l->dialect == DIALECT_PBS ? one_of(name, "l W")
                                       : one_of(name, "mail-type verbose quiet gres");
}

static void repeated_look(struct lint *l, size_t at)
{
    ASSERT(at < l->option.n);
    const struct lint_option *o = &l->option.v[at];
    if (o->error || l->ncomp > 1 || adds_up(l, o->row->name))
        return;
    for (size_t i = at; i-- > 0;) {
        const struct lint_option *before = &l->option.v[i];
        if (before->row != o->row || before->error)
            continue;
        if (!o->line || !before->line || text_is(o->value, before->value))
            return;
        struct str was = STR_INIT;
        lint_option_write(before, l->dialect != DIALECT_SLURM, &was);
        lint_find(l, RULE_REPEATED, o->line, before->line, "line %u says %s; the later line counts",
                  before->line, str_text(&was));
        str_done(&was);
        return;
    }
}

/* Of -l each resource for itself: the first value counts. */
static void resources_repeated(struct lint *l, size_t at)
{
    ASSERT(at < l->option.n);
    const struct lint_option *o = &l->option.v[at];
    struct span rest = span_of(o->value), one, name;
    while (!o->error && rest.data && span_next(&rest, ',', &one)) {
        one = span_trim(one);
        const char *value = arena_strndup(l->a, one.data, one.len);
        span_next(&one, '=', &name);
        const char *resource = arena_strndup(l->a, name.data, name.len);
        for (size_t i = 0; i < at; i++) {
            const struct lint_option *before = &l->option.v[i];
            const char *was =
                before->row == o->row ? resource_of(l, before->value, resource) : NULL;
            if (!was || before->error || text_is(was, one.data ? value + name.len + 1 : ""))
                continue;
            lint_find(l, RULE_REPEATED, o->line, before->line,
                      "line %u says %s=%s; of a resource the first value counts", before->line,
                      resource, was);
            break;
        }
    }
}

void lint_values_look(struct lint *l)
{
    for (size_t i = 0; i < l->option.n; i++) {
        const struct lint_option *o = &l->option.v[i];
        repeated_look(l, i);
        if (l->dialect == DIALECT_PBS && text_is(o->row->name, "l"))
            resources_repeated(l, i);
        if (o->error)
            continue;
        switch (l->dialect) {
        case DIALECT_SLURM: slurm_option(l, o); break;
        case DIALECT_LSF: lsf_option(l, o); break;
        case DIALECT_PBS: pbs_option(l, o); break;
        }
    }
    memory_look(l);
}
