/* Requests that are more than can be worked out: long constraints, very many alternatives, numbers
 * whose products are none any more. They are refused in words, soon. */
#include "sched_help.h"

#include "model/limits.h"
#include "sched/books/feature.h"

static struct cluster *cl;

static int setup(void **state)
{
    cl = cluster_new();
    struct node n = a_node(NULL);
    n.features = "x,y";
    n.gres = "gpu:a:1,gpu:b:1,gpu:c:1,gpu:d:1";
    put_nodes(cl, "n[1-2]", n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    return 0;
}

static int teardown(void **state)
{
    cluster_free(cl);
    return 0;
}

static void refuses(struct job_request req, enum refusal r, const char *words)
{
    struct str detail = STR_INIT;
    assert_string_equal(refusal_text(sched_check(cl, &req, 1000, "users", NULL, &detail)),
                        refusal_text(r));
    if (!strstr(str_text(&detail), words))
        fail_msg("\"%s\" does not say \"%s\"", str_text(&detail), words);
    str_done(&detail);
}

static void takes(struct job_request req)
{
    struct str detail = STR_INIT;
    if (sched_check(cl, &req, 1000, "users", NULL, &detail) != REFUSE_NONE)
        fail_msg("refused: %s", str_text(&detail));
    str_done(&detail);
}

/* FIRST, and `more` more of PIECE behind it. */
static char *chain(struct arena *a, const char *first, const char *piece, size_t more)
{
    size_t len = strlen(first), each = strlen(piece);
    char *text = arena_alloc(a, len + more * each + 1);
    memcpy(text, first, len);
    for (size_t i = 0; i < more; i++)
        memcpy(text + len + i * each, piece, each);
    text[len + more * each] = '\0';
    return text;
}

/* ---- constraints ---- */

static const struct {
    const char *first, *piece;
} CHAINS[] = {{"[x]", "&x"}, {"x", "&x"},   {"x", "|x"},     {"x*2", "&x"},  {"[x]", "|[x]"},
              {"x", ",x"},   {"(x)", "&y"}, {"x*1", "|x*1"}, {"[x|y", "|x"}, {"x*1", "&y*1"}};

static void constraints_name_so_many_features(void **state)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(CHAINS); i++) {
        const char *more =
            chain(a, CHAINS[i].first, CHAINS[i].piece, LIMIT_TEXT_BYTES / strlen(CHAINS[i].piece));
        refuses((struct job_request){.constraint = more}, REFUSE_FEATURE, "at most 256 features");
        refuses((struct job_request){.prefer = more}, REFUSE_PREFER, "at most 256 features");
    }
    takes((struct job_request){.constraint = chain(a, "x", "|y", 255)});
    takes((struct job_request){.constraint = chain(a, "[x]", "&(x|y)", 5)});
    refuses((struct job_request){.constraint = chain(a, "x", "|y", 256)}, REFUSE_FEATURE,
            "at most 256 features");
    arena_free(a);
}

/* The longest that is read, in each form. */
static void what_is_read_is_read_soon(void **state)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(CHAINS); i++) {
        struct feature_arms arms;
        struct err e = {0};
        const char *text = chain(a, CHAINS[i].first, CHAINS[i].piece, 200);
        for (size_t k = 0; k < 20; k++)
            if (feature_parse(text, a, &arms, &e))
                for (size_t n = 0; n < arms.n; n++)
                    feature_arm_holds(&arms.arm[n], "x,y");
    }
    arena_free(a);
}

/* Also of those behind the first 64: each is one that there is. */
static void each_feature_is_known(void **state)
{
    struct arena *a = arena_new();
    refuses((struct job_request){.constraint = chain(a, chain(a, "x", "|y", 200), "|zz", 1)},
            REFUSE_FEATURE, "there is no feature \"zz\"");
    arena_free(a);
}

static void reservations_too(void **state)
{
    struct arena *a = arena_new();
    struct str detail = STR_INIT;
    struct reservation r = {.name = "r",
                            .features = chain(a, "[x]", "&x", 32000),
                            .node_count = 1,
                            .start_us = NOW + HOUR,
                            .end_us = NOW + 2 * HOUR};
    assert_int_equal(sched_reserve(cl, &r, NOW, a, &detail), REFUSE_FEATURE);
    assert_non_null(strstr(str_text(&detail), "at most 256 features"));
    str_done(&detail);
    arena_free(a);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(constraints_name_so_many_features),
        T(what_is_read_is_read_soon),
        T(each_feature_is_known),
        T(reservations_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
