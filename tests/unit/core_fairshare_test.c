/* Use of associations and QOS, and fair share along the tree. The table was printed by Slurm 22.05
 * (sshare -alP, with and without NO_FAIR_TREE) for this tree after runs that used so much. */
#include "core_fairshare_help.h"

/* ---- the same numbers ----------------------------------------------------------------------- */

static const char *parent_of(const char *account)
{
    return account[0] == 'b' && account[1] ? "b" : NULL;
}

static int32_t shares_of(const char *text)
{
    return text_is(text, "parent") ? SHARES_PARENT : text_is(text, "0") ? SHARES_NONE : atoi(text);
}

static void tree_make(void)
{
    for (size_t i = 1; i < ARRAY_LEN(slurm); i++) {
        const char *account = slurm[i].account;
        if (slurm[i].user[0])
            continue;
        change(VERB_ADD, NOUN_ACCOUNT)->account =
            (struct record_list){KEEP(struct account, .name = account), 1};
        change(VERB_ADD, NOUN_ASSOC)->assoc = (struct record_list){
            KEEP(struct assoc, .account = account, .parent = parent_of(account),
                 .shares = shares_of(slurm[i].shares)),
            1};
    }
    for (size_t i = 1; i < ARRAY_LEN(slurm); i++) {
        if (!slurm[i].user[0] || text_is(slurm[i].user, "root"))
            continue;
        change(VERB_ADD, NOUN_USER)->user = (struct record_list){
            KEEP(struct account_user, .name = slurm[i].user, .default_account = slurm[i].account),
            1};
        change(VERB_ADD, NOUN_ASSOC)->assoc =
            (struct record_list){KEEP(struct assoc, .account = slurm[i].account,
                                      .user = slurm[i].user, .shares = shares_of(slurm[i].shares)),
                                 1};
    }
    if (changed(false) != REFUSE_NONE)
        fail_msg("%s", answer()->detail);
}

static void use_put(uint32_t assoc, const char *tres)
{
    struct use_row row = {.tres = tres, .at_us = w.now};
    row.id = arena_printf(w.a, "assoc/%u", assoc);
    keep(&(struct effect){.kind = FX_STORE, .table = TABLE_USE, .record = &row});
}

static void part_add(struct str *out, int64_t part)
{
    int64_t millionths = (part * 1000000 + SHARE_ONE / 2) / SHARE_ONE;
    str_addf(out, "%lld.%06lld ", (long long)(millionths / 1000000),
             (long long)(millionths % 1000000));
}

static void same_as_slurm(const struct fair_share *s, const char *expected, bool tree)
{
    struct str is = STR_INIT;
    part_add(&is, s->norm_shares);
    if (s->depth)
        part_add(&is, s->norm_usage);
    else
        str_add(&is, "- ");
    part_add(&is, s->effective);
    if (s->factor >= 0)
        part_add(&is, s->factor);
    else
        str_add(&is, "- ");
    if (tree && (!s->depth || s->level_e6 == -2))
        str_add(&is, "- ");
    else if (tree && s->level_e6 == -1)
        str_add(&is, "inf ");
    else if (tree)
        str_addf(&is, "%lld.%06lld ", (long long)(s->level_e6 / 1000000),
                 (long long)(s->level_e6 % 1000000));
    str_cut(&is, is.len - 1);
    if (!text_is(str_text(&is), expected))
        fail_msg("%s %s: %s, and Slurm has %s", s->account, s->user ? s->user : "", str_text(&is),
                 expected);
    str_done(&is);
}

static void tree_check(bool tree)
{
    struct rows r = tree_rows();
    assert_int_equal(r.row.n, ARRAY_LEN(slurm));
    for (size_t i = 0; i < r.row.n; i++) {
        const struct fair_share *s = r.row.v[i];
        assert_string_equal(s->account, slurm[i].account); /* in the same order */
        assert_string_equal(s->user ? s->user : "", slurm[i].user);
        assert_int_equal(s->usage / 1000, slurm[i].usage);
        same_as_slurm(s, tree ? slurm[i].tree : slurm[i].classic, tree);
    }
    vec_done(&r.row);
}

/* DEPTH_OBLIVIOUS: Slurm works these out when a job of theirs comes, so that only those can be
 * compared who used nothing since. */
static void oblivious_check(void)
{
    struct rows r = tree_rows();
    same_as_slurm(share_in(&r, "a", ""), "0.142857 0.278846 0.278846 0.258471", false);
    same_as_slurm(share_in(&r, "b2", "man"), "0.095238 0.115385 0.115385 0.431808", false);
    same_as_slurm(share_in(&r, "g1", "www-data"), "0.047619 0.028846 0.030921 0.637571", false);
    same_as_slurm(share_in(&r, "d", "sys"), "1.000000 0.028846 0.028846 0.980204", false);
    vec_done(&r.row);
}

static void the_numbers_of_slurm(void **unused)
{
    world_open(SHARES, 1);
    tree_make();
    struct rows r = tree_rows();
    for (size_t i = 0; i < ARRAY_LEN(slurm); i++)
        if (slurm[i].user[0] && slurm[i].usage)
            use_put(share_in(&r, slurm[i].account, slurm[i].user)->assoc_id,
                    arena_printf(w.a, "billing=%lld", (long long)slurm[i].usage * 1000));
    vec_done(&r.row);
    restart(SHARES);
    tree_check(true);
    configure(SHARES_OF("PriorityFlags=NO_FAIR_TREE\n"));
    tree_check(false);
    configure(SHARES_OF("PriorityFlags=DEPTH_OBLIVIOUS\n"));
    oblivious_check();
    world_close();
}

/* ---- priorities ----------------------------------------------------------------------------- */

static uint64_t priority_as(void (*who)(void), const char *account)
{
    struct job_spec s = job_of(32, account, NULL); /* all there is */
    who();
    return submit(s);
}

/* alice used much in physics; in chem nobody did. A change of shares counts at once. */
static void who_comes_next(void **unused)
{
    configure(SHARES_OF("PriorityType=priority/multifactor\nPriorityWeightAge=0\n"));
    uint64_t first = submit(job_of(4, "physics", NULL));
    pass(5 * MIN);
    uint64_t in_physics = priority_as(am_alice, "physics"), in_chem = priority_as(am_alice, "chem"),
             bobs = priority_as(am_bob, "physics");
    assert_true(job(in_chem)->priority > job(bobs)->priority);
    assert_true(job(bobs)->priority > job(in_physics)->priority);
    assert_int_equal(state(first), JOB_RUNNING);
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "shares";
    ch->assoc =
        (struct record_list){KEEP(struct assoc, .account = "chem", .shares = SHARES_NONE), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_true(job(in_chem)->priority < job(in_physics)->priority);
    restart(SHARES_OF("PriorityType=priority/multifactor\nPriorityWeightAge=0\n"));
    assert_true(job(in_chem)->priority < job(in_physics)->priority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_of_slurm),
        USE_STORY(who_comes_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
