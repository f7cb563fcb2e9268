/* Features that two texts ask for, joined: it holds of the nodes of which both hold. */
#include "script_help.h"

#include "script/dialect.h"

#define FEATURES 4
#define ROUNDS   2000
#define SEED     20261130u

/* ---- what a text means of a node that has the features of the mask, a = 1, b = 2 ---- */

static bool either(const char **at, unsigned mask);

static bool factor(const char **at, unsigned mask)
{
    if (**at != '(')
        return mask >> (*(*at)++ - 'a') & 1;
    ++*at;
    bool holds = either(at, mask);
    assert_int_equal(*(*at)++, ')');
    return holds;
}

static bool both(const char **at, unsigned mask)
{
    bool holds = factor(at, mask);
    while (**at == '&') {
        ++*at;
        holds &= factor(at, mask);
    }
    return holds;
}

static bool either(const char **at, unsigned mask)
{
    bool holds = both(at, mask);
    while (**at == '|') {
        ++*at;
        holds |= both(at, mask);
    }
    return holds;
}

static bool holds_of(const char *text, unsigned mask)
{
    bool holds = either(&text, mask);
    assert_int_equal(*text, 0);
    return holds;
}

/* ---- texts ---- */

static unsigned next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static void text_make(unsigned *seed, unsigned depth, struct str *out)
{
    unsigned n = 1 + next(seed, 3);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            str_addc(out, "&|"[next(seed, 2)]);
        if (depth && next(seed, 3) == 0) {
            str_addc(out, '(');
            text_make(seed, depth - 1, out);
            str_addc(out, ')');
        } else {
            str_addc(out, (char)('a' + (int)next(seed, FEATURES)));
        }
    }
}

static void both_hold_of_what_is_joined(void **state)
{
    struct arena *a = arena_new();
    struct str text[2] = {STR_INIT, STR_INIT};
    unsigned seed = SEED;
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            str_clear(&text[k]);
            text_make(&seed, 2, &text[k]);
        }
        const char *x = str_text(&text[0]), *y = str_text(&text[1]);
        const char *all = dialect_features_join(x, y, a);
        for (unsigned mask = 0; mask < 1u << FEATURES; mask++)
            if (holds_of(all, mask) != (holds_of(x, mask) && holds_of(y, mask)))
                fail_msg("\"%s\" and \"%s\" are not \"%s\"", x, y, all);
    }
    assert_string_equal(dialect_features_join(NULL, "a|b", a), "a|b");
    assert_string_equal(dialect_features_join("[a|b]", "(c|d)*2", a), "[a|b]&(c|d)*2");
    str_done(&text[0]);
    str_done(&text[1]);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_hold_of_what_is_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
