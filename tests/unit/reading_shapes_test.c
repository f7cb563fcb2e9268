/* What is said of the jobs of reading_shapes.txt ($READING_SHAPES), which says how they are
 * written: the words of all that is found, with any noise, and the sentences that are there. */
#include "base/alloc.h"
#include "base/duration.h"
#include "reading/reading.h"
#include "reading_help.h"
#include "share.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISES 2u /* so many times each job, with others */

struct shape {
    char *what;
    VEC(char *) curve;
    VEC(char *) says; /* "-TEXT": it is not said */
    char *found;      /* words of all findings, in their order */
    struct job job;
    int64_t gap_ms;
};

/* "4 CPUs, 2 nodes, 8000 MiB, FAILED, each 1 s, suspended 1800 s" */
static void shape_has(struct shape *s, const char *text)
{
    struct job *j = &s->job;
    struct span rest = span_of(text), part;
    *j = (struct job){.alloc_nodes = 1, .state = JOB_COMPLETED, .start_us = BEGAN_MS * 1000};
    s->gap_ms = 2000;
    while (span_next(&rest, ',', &part)) {
        char word[64] = "", one[64];
        long number = 0;
        snprintf(one, sizeof one, "%.*s", (int)part.len, part.data);
        if (sscanf(one, " each %ld s", &number) == 1)
            s->gap_ms = number * 1000;
        else if (sscanf(one, " suspended %ld s", &number) == 1)
            j->suspended_us = number * USEC_PER_SEC;
        else if (sscanf(one, " %ld %63s", &number, word) == 2 && !strncmp(word, "CPU", 3))
            j->alloc_cpus = (int32_t)number;
        else if (!strcmp(word, "nodes"))
            j->alloc_nodes = (int32_t)number;
        else if (!strcmp(word, "MiB"))
            j->alloc_mem_mib = number;
        else if (sscanf(one, " %63s", word) == 1 && !strcmp(word, "FAILED"))
            j->state = JOB_FAILED;
        else if (!strcmp(word, "COMPLETED"))
            j->state = JOB_COMPLETED;
        else if (!strcmp(word, "TIMEOUT"))
            j->state = JOB_TIMEOUT;
        else if (!strcmp(word, "OUT_OF_MEMORY"))
            j->state = JOB_OUT_OF_MEMORY;
        else
            fail_msg("%s: what is '%s'?", s->what, one);
    }
    j->spec.req.mem_per_node_mib = j->alloc_mem_mib / j->alloc_nodes;
}

/* The next of the file; false at its end. */
static bool shape_next(FILE *f, struct shape *s)
{
    char line[4096];
    bool any = false;
    *s = (struct shape){0};
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || (!line[0] && !any))
            continue;
        if (!line[0])
            break;
        any = true;
        if (!strncmp(line, "= ", 2))
            s->what = xstrdup(line + 2);
        else if (!strncmp(line, "has ", 4))
            shape_has(s, line + 4);
        else if (!strncmp(line, "found", 5))
            s->found = xstrdup(line + 5 + (line[5] == ' '));
        else if (!strncmp(line, "says ", 5))
            vec_push(&s->says, xstrdup(line + 5));
        else
            vec_push(&s->curve, xstrdup(line));
    }
    return any;
}

static void shape_done(struct shape *s)
{
    for (size_t i = 0; i < s->curve.n; i++)
        free(s->curve.v[i]);
    for (size_t i = 0; i < s->says.n; i++)
        free(s->says.v[i]);
    free(s->what);
    free(s->found);
    vec_done(&s->curve);
    vec_done(&s->says);
}

static void shape_read(struct shape *s, unsigned salt, struct reading *r)
{
    struct curves c = {0};
    size_t n = 0;
    for (size_t i = 0; i < s->curve.n; i++) {
        struct curves measured = {0};
        size_t of = curve_of_text(&measured, s->curve.v[i], s->gap_ms, 0);
        curves_done(&measured);
        n = of > n ? of : n;
    }
    s->job.end_us = (BEGAN_MS + (int64_t)n * s->gap_ms) * 1000;
    reading_bound(&c, &s->job, s->job.end_us, 1u << 20);
    for (size_t i = 0; i < s->curve.n; i++)
        curve_of_text(&c, s->curve.v[i], s->gap_ms, salt + (unsigned)i);
    curves_order(&c);
    reading_make(&c, &s->job, &civil_utc, r);
    curves_done(&c);
}

static bool says_what_it_must(struct shape *s, unsigned salt)
{
    struct reading r;
    struct str words = STR_INIT, text = STR_INIT;
    bool show = getenv("READING_SHOW") && salt < 1000;
    shape_read(s, salt, &r);
    for (size_t i = 0; i < r.found.n; i++)
        str_addf(&words, "%s%s", i ? " " : "", finding_word(r.found.v[i].kind));
    reading_write(&r, &text);
    bool ok = text_is(str_text(&words), s->found);
    for (size_t k = 0; k < s->says.n && salt < 1000; k++) {
        bool not = s->says.v[k][0] == '-';
        ok = ok && !strstr(str_text(&text), s->says.v[k] + not ) == not ;
    }
    if (!ok || show)
        print_error("= %s\n(noise %u) found [%s], wanted [%s]\n%s\n", s->what, salt,
                    str_text(&words), s->found, str_text(&text));
    str_done(&words);
    str_done(&text);
    reading_done(&r);
    return ok;
}

static void each_job_is_told_what_it_must_be_and_nothing_else(void **state)
{
    const char *path = getenv("READING_SHAPES");
    struct shape s;
    size_t wrong = 0, shapes = 0;
    (void)state;
    FILE *f = fopen(path ? path : "tests/unit/reading_shapes.txt", "r");
    assert_non_null(f);
    for (; shape_next(f, &s); shapes++) {
        wrong += !says_what_it_must(&s, (unsigned)shapes);
        for (unsigned i = 1; i < worlds_of(NOISES); i++)
            wrong += !says_what_it_must(&s, 1000 * i + (unsigned)shapes * 7);
        shape_done(&s);
    }
    fclose(f);
    assert_true(shapes >= 70);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_is_told_what_it_must_be_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
