#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "model/settings/settings.h"
#include "model/settings/settings_value.h"

#include <string.h>

static const struct setting *setting(const char *key)
{
    for (size_t i = 0; i < setting_count; i++)
        if (text_is(setting_table[i].key, key))
            return &setting_table[i];
    fail_msg("%s is no setting", key);
    return NULL;
}

static struct settings set(const char *key, const char *value)
{
    struct settings s;
    struct err e = {0};
    settings_default(&s);
    if (!setting_set(setting(key), &s, value, &e))
        fail_msg("%s=%s: %s", key, value, e.text);
    return s;
}

static void assert_refused(const char *key, const char *value, const char *says)
{
    struct settings s, before;
    struct err e = {0};
    settings_default(&s);
    before = s;
    assert_false(setting_set(setting(key), &s, value, &e));
    if (!strstr(e.text, says))
        fail_msg("%s=%s: %s", key, value, e.text);
    assert_memory_equal(&s, &before, sizeof s);
}

/* As scontrol show config prints it. */
static void assert_shown(const char *key, const char *value, const char *expected)
{
    struct settings s = set(key, value);
    struct str out = STR_INIT;
    setting_format(setting(key), &s, &out);
    assert_string_equal(str_text(&out), expected);
    str_done(&out);
}

static void test_every_key_has_a_default_that_it_accepts_itself(void **state)
{
    struct settings s;
    settings_default(&s);
    for (size_t i = 0; i < setting_count; i++) {
        struct str out = STR_INIT;
        setting_format(&setting_table[i], &s, &out);
        assert_true(out.len > 0 &&
                    (setting_table[i].doc[0] || setting_table[i].effect == EFFECT_KEPT));
        str_done(&out);
    }
    assert_string_equal(s.cluster_name, "remuda");
    assert_true(s.kill_wait_us == 30 * USEC_PER_SEC && s.job_requeue &&
                s.enforce_part_limits == LIMITS_REFUSE);
}

static void test_spans_are_seconds_unless_the_key_says_minutes(void **state)
{
    assert_true(set("KillWait", "45").kill_wait_us == 45 * USEC_PER_SEC);
    assert_true(set("OverTimeLimit", "5").over_time_limit_us == 5 * USEC_PER_MIN);
    assert_true(set("PriorityMaxAge", "14-0").priority_max_age_us == 14 * USEC_PER_DAY);
    assert_true(set("OverTimeLimit", "UNLIMITED").over_time_limit_us == TIME_UNLIMITED);
    assert_refused("KillWait", "soon", "seconds");
    assert_refused("OverTimeLimit", "-5", "time limit");
    assert_refused("HeartbeatInterval", "0", "a second or more");
}

static void test_numbers_have_a_range(void **state)
{
    assert_int_equal(set("FirstJobId", "1000").first_job_id, 1000);
    assert_refused("FirstJobId", "0", "from 1");
    assert_refused("PriorityWeightAge", "-1", "from 0");
    assert_refused("MaxJobCount", "many", "many");
    assert_refused("MaxArraySize", "2147483649", "2147483648");
}

static void test_ranges_of_ports(void **state)
{
    (void)state;
    int32_t first = 0, last = 0;
    assert_true(ports_parse("30000-30001", &first, &last, NULL));
    assert_int_equal(first, 30000);
    assert_int_equal(last, 30001);
    assert_refused("RendezvousPorts", "20000", "range of ports");
    assert_refused("RendezvousPorts", "2000-1000", "range of ports");
    assert_refused("SrunPortRange", "1-70000", "range of ports");
}

static void test_yes_and_no(void **state)
{
    static const char *const yes[] = {"YES", "yes", "1", "TRUE", "on"}, *const no[] = {"NO", "0",
                                                                                       "False",
                                                                                       "off"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(set("JobRequeue", yes[i]).job_requeue);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(set("JobRequeue", no[i]).job_requeue);
    assert_refused("JobRequeue", "maybe", "YES or NO");
    assert_refused("JobRequeue", "2", "YES or NO");
}

static void test_memory_has_units_and_may_be_unlimited(void **state)
{
    assert_int_equal(set("DefMemPerCPU", "2G").def_mem_per_cpu_mib, 2048);
    assert_int_equal(set("MaxMemPerNode", "1500").max_mem_per_node_mib, 1500);
    assert_int_equal(set("MaxMemPerNode", "UNLIMITED").max_mem_per_node_mib, 0);
    assert_refused("DefMemPerCPU", "much", "memory size");
}

static void test_slurms_own_spellings(void **state)
{
    assert_true(set("ReturnToService", "2").return_to_service);
    assert_true(set("ReturnToService", "1").return_to_service);
    assert_false(set("ReturnToService", "0").return_to_service);
    assert_true(set("JobAcctGatherFrequency", "task=15,energy=60").accounting_freq_us ==
                15 * USEC_PER_SEC);
    assert_true(set("JobAcctGatherFrequency", "15").accounting_freq_us == 15 * USEC_PER_SEC);
    assert_int_equal(set("EnforcePartLimits", "ALL").enforce_part_limits, LIMITS_ALL);
    assert_int_equal(set("EnforcePartLimits", "ANY").enforce_part_limits, LIMITS_REFUSE);
    assert_int_equal(set("EnforcePartLimits", "NO").enforce_part_limits, LIMITS_PEND);
    assert_int_equal(set("EnforcePartLimits", "clamp").enforce_part_limits, LIMITS_CLAMP);
    assert_refused("EnforcePartLimits", "SOME", "REFUSE, PEND or CLAMP");
}

static void test_words_of_a_closed_set(void **state)
{
    assert_string_equal(set("PreemptType", "preempt/partition_prio").preempt_type,
                        "preempt/partition_prio");
    assert_string_equal(set("PreemptMode", "SUSPEND,GANG").preempt_mode, "SUSPEND,GANG");
    assert_refused("PreemptType", "preempt/sometimes", "preempt/partition_prio");
    assert_refused("PreemptMode", "SLEEP", "REQUEUE");
    assert_refused("PriorityType", "priority/basic,priority/multifactor", "one of");
}

static void test_every_word_is_known_in_any_letter_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < setting_word_count; i++) {
        const struct setting_word *w = &setting_word_table[i];
        const struct setting *k = setting(w->key);
        struct str text = STR_INIT;
        for (const char *p = w->word; *p; p++)
            str_addc(&text, (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p));
        if (w->kind == WORD_NUMBER)
            str_add(&text, "=17");
        if (w->kind == WORD_CHOICE)
            str_addf(&text, "=%.*s", (int)strcspn(w->choices, "|"), w->choices);
        struct settings s;
        struct err e = {0};
        settings_default(&s);
        if (!setting_set(k, &s, str_text(&text), &e))
            fail_msg("%s=%s: %s", w->key, str_text(&text), e.text);
        const void *at = (const char *)&s.word + w->offset;
        if (w->kind == WORD_FLAG)
            assert_true(*(const bool *)at);
        if (w->kind == WORD_NUMBER)
            assert_int_equal(*(const int64_t *)at, 17);
        if (w->kind == WORD_CHOICE)
            assert_int_equal(*(const int32_t *)at, 0);
        if (k->allowed.form == FORM_WORD)
            assert_string_equal(*(const char *const *)((const char *)&s + k->offset), w->word);
        str_done(&text);
    }
}

static void test_a_typo_is_named_with_the_nearest_word_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < setting_word_count; i++) {
        const struct setting_word *w = &setting_word_table[i];
        struct str text = STR_INIT;
        if (strlen(w->word) < 5) { /* too short to be near to anything */
            str_addf(&text, "%s_qx", w->word);
            assert_refused(w->key, str_text(&text), str_text(&text));
            str_done(&text);
            continue;
        }
        str_addf(&text, "%.*s_%s", (int)strlen(w->word) - 2, w->word,
                 w->word + strlen(w->word) - 2);
        assert_refused(w->key, str_text(&text), "did you mean ");
        str_done(&text);
    }
    assert_refused("SelectTypeParameters", "CR_Core_Memori", "did you mean CR_Core_Memory?");
    assert_refused("SchedulerParameters", "bf_window=60,prommises=all", "did you mean promises?");
    assert_refused("SchedulerParameters", "promises=everybody",
                   "promises=head|aged|all is expected");
    assert_refused("SchedulerParameters", "max_switch_wait=long",
                   "max_switch_wait=NUMBER is expected");
    assert_refused("SchedulerParameters", "max_switch_wait", "max_switch_wait=NUMBER is expected");
    assert_refused("SchedulerParameters", "zzzzzzzzz", "docs/settings.md");
    assert_refused("TopologyParam", "TopoOptional=yes", "takes no value");
    assert_refused("PropagateResourceLimits", "MEMLOK", "did you mean MEMLOCK?");
    assert_refused("PriorityType", "", "one of");
}

/* Every setting whose value is words, or has words in it, however they are read. */
static void test_a_typo_in_any_setting_with_words_is_named(void **state)
{
    static const struct {
        const char *key, *value, *near;
    } cases[] = {
        {"JobAcctGatherFrequency", "taks=30", "task"},
        {"JobAcctGatherFrequency", "task=30,enrgy=10", "energy"},
        {"GpuIdle", "wran:30m", "warn"},
        {"GpuIdle", "warn:30m,exmpt:physics", "exempt"},
        {"GpuIdle", "gracee:30m", "grace"},
        {"PriorityWeightTRES", "Nods=5", "Node"},
        {"EnforcePartLimits", "REFUS", "REFUSE"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str says = STR_INIT;
        str_addf(&says, "; did you mean %s?", cases[i].near);
        assert_refused(cases[i].key, cases[i].value, str_text(&says));
        str_done(&says);
    }
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *k = &setting_table[i];
        if (k->type == SETTING_BOOL)
            assert_refused(k->key, "YESS", "; did you mean YES?");
        if (k->type == SETTING_POLICY)
            assert_refused(k->key, "CLAMPP", "; did you mean CLAMP?");
    }
    assert_refused("PriorityWeightTRES", "CPU=many", "are expected, not \"CPU=many\"");
    assert_refused("GpuIdle", "warn:long", "expected after warn:");
}

/* A row whose value is one word or a list has its words in the table, and none is there for
 * another. */
static void test_words_are_those_of_settings_that_have_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *k = &setting_table[i];
        bool any = false;
        for (size_t j = 0; j < setting_word_count; j++)
            any |= text_is(setting_word_table[j].key, k->key);
        assert_true(any == (k->allowed.form == FORM_WORD || k->allowed.form == FORM_WORDS));
    }
}

static void test_words_given_again_take_the_place_of_those_before(void **state)
{
    (void)state;
    struct settings s = set("PriorityFlags", " max_tres , no_fair_tree,");
    assert_true(s.word.max_tres && s.word.no_fair_tree);
    assert_true(setting_set(setting("PriorityFlags"), &s, "INCR_ONLY", NULL));
    assert_true(!s.word.max_tres && !s.word.no_fair_tree && s.word.increase_only);
    assert_true(setting_set(setting("PriorityFlags"), &s, "", NULL));
    assert_false(s.word.increase_only);
    assert_int_equal(set("KillWait", "1").word.max_switch_wait_s, -1);
    assert_true(set("SelectTypeParameters", "cr_cpu_memory").word.cr_cpu_memory);
    assert_false(set("SelectTypeParameters", "CR_CPU").word.cr_core_memory);
}

static void test_what_a_newer_controller_says_is_read_as_far_as_it_is_known(void **state)
{
    (void)state;
    struct settings s;
    struct arena *a = arena_new();
    settings_default(&s);
    assert_true(setting_read_shown(setting("LaunchParameters"), &s,
                                   "some_day,use_interactive_step,later=3", a));
    assert_true(s.word.use_interactive_step);
    arena_free(a);
}

static void line_keep(void *ctx, const char *line, bool missed)
{
    str_addf(ctx, "%s%s\n", line, missed ? " (missed)" : "");
}

static void test_words_without_effect_are_said_a_line_each_reason(void **state)
{
    (void)state;
    struct str said = STR_INIT;
    setting_words_idle("SchedulerParameters",
                       "bf_continue,promises=all,bf_interval=60,bf_window=2880,spec_cores_first",
                       line_keep, &said);
    assert_string_equal(
        str_text(&said),
        "SchedulerParameters=bf_continue,bf_interval has no effect in Remuda: every waiting job is "
        "considered in "
        "each pass, and a pass is made when something changed\n"
        "SchedulerParameters=bf_window has no effect in Remuda: the plan has no end\n"
        "SchedulerParameters=spec_cores_first is known to Slurm but has no effect in Remuda\n");
    str_clear(&said);
    setting_words_idle("SelectTypeParameters", "CR_Socket_Memory,CR_LLN", line_keep, &said);
    assert_string_equal(str_text(&said),
                        "SelectTypeParameters=CR_Socket_Memory: as CR_Core_Memory: sockets are not "
                        "given out whole (missed)\n"
                        "SelectTypeParameters=CR_LLN is known to Slurm but has no effect in Remuda "
                        "(missed)\n");
    str_done(&said);
}

static void test_counts_of_licences(void **state)
{
    (void)state;
    assert_string_equal(set("Licenses", "matlab:100,ansys").licenses, "matlab:100,ansys");
    assert_refused("Licenses", "matlab:1O0", "name:count is expected, not \"matlab:1O0\"");
    assert_refused("Licenses", ":5", "name:count");
    assert_refused("Licenses", "a:99999999999999999999", "name:count");
}

static void test_as_scontrol_show_config_prints_them(void **state)
{
    assert_shown("KillWait", "30", "30 sec");
    assert_shown("OverTimeLimit", "5", "5 min");
    assert_shown("OverTimeLimit", "UNLIMITED", "UNLIMITED");
    assert_shown("Prolog", "", "(null)");
    assert_shown("Prolog", "/etc/p.sh", "/etc/p.sh");
    assert_shown("MaxMemPerNode", "0", "UNLIMITED");
    assert_shown("MaxMemPerNode", "4G", "4096");
    assert_shown("JobRequeue", "0", "No");
    assert_shown("FirstJobId", "7", "7");
    assert_shown("MaxArraySize", "1001", "1001");
}

/* What a host without the file hears of its cluster. */
static void test_values_are_read_back_as_they_are_shown(void **state)
{
    (void)state;
    struct settings standard, heard;
    struct arena *a = arena_new();
    settings_default(&standard);
    standard.stream_tls = false;
    standard.wait_time_us = 90 * USEC_PER_SEC;
    standard.srun_port_range = "60000-60100";
    standard.over_time_limit_us = TIME_UNLIMITED;
    memset(&heard, 0, sizeof heard);
    for (size_t i = 0; i < setting_count; i++) {
        struct str shown = STR_INIT, again = STR_INIT;
        const struct setting *k = setting_find(setting_table[i].key);
        assert_ptr_equal(k, &setting_table[i]);
        setting_format(k, &standard, &shown);
        if (!setting_read_shown(k, &heard, arena_strdup(a, str_text(&shown)), a))
            fail_msg("%s=%s is not read", k->key, str_text(&shown));
        setting_format(k, &heard, &again);
        assert_string_equal(str_text(&again), str_text(&shown));
        str_done(&shown);
        str_done(&again);
    }
    assert_false(heard.stream_tls);
    assert_int_equal(heard.wait_time_us, 90 * USEC_PER_SEC);
    assert_string_equal(heard.srun_port_range, "60000-60100");
    assert_false(setting_read_shown(setting_find("WaitTime"), &heard, "soon", a));
    assert_int_equal(heard.wait_time_us, 90 * USEC_PER_SEC);
    assert_null(setting_find("NoSuchKey"));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_has_a_default_that_it_accepts_itself),
        cmocka_unit_test(test_spans_are_seconds_unless_the_key_says_minutes),
        cmocka_unit_test(test_numbers_have_a_range),
        cmocka_unit_test(test_ranges_of_ports),
        cmocka_unit_test(test_yes_and_no),
        cmocka_unit_test(test_memory_has_units_and_may_be_unlimited),
        cmocka_unit_test(test_slurms_own_spellings),
        cmocka_unit_test(test_words_of_a_closed_set),
        cmocka_unit_test(test_every_word_is_known_in_any_letter_case),
        cmocka_unit_test(test_a_typo_is_named_with_the_nearest_word_and_changes_nothing),
        cmocka_unit_test(test_a_typo_in_any_setting_with_words_is_named),
        cmocka_unit_test(test_words_are_those_of_settings_that_have_words),
        cmocka_unit_test(test_words_given_again_take_the_place_of_those_before),
        cmocka_unit_test(test_what_a_newer_controller_says_is_read_as_far_as_it_is_known),
        cmocka_unit_test(test_words_without_effect_are_said_a_line_each_reason),
        cmocka_unit_test(test_counts_of_licences),
        cmocka_unit_test(test_as_scontrol_show_config_prints_them),
        cmocka_unit_test(test_values_are_read_back_as_they_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
