/* What the configuration says of nodes that are there, when it is read again. */
#include "core_help.h"

#include <stdio.h>

#define REST "ClusterName=test\nPartitionName=main Nodes=n1 Default=YES State=UP\n"

static const char *const words[] = {"UNKNOWN", "DRAIN", "FAIL"};

/* Until the next. */
static const char *file_with(const char *word, bool down_nodes)
{
    static char text[256];
    const char *off = text_is(word, "UNKNOWN") ? "#" : "";
    if (down_nodes)
        snprintf(text, sizeof text,
                 "NodeName=n1 CPUs=8\n%sDownNodes=n1 State=%s Reason=fans\n" REST, off, word);
    else
        snprintf(text, sizeof text, "NodeName=n1 CPUs=8 State=%s Reason=fans\n" REST, word);
    return text;
}

static void is(const char *when, bool drain, bool fail, const char *reason)
{
    if (node("n1")->drain != drain || node("n1")->fail != fail ||
        (reason && !text_is(node("n1")->reason, reason)))
        fail_msg("%s: drain %d, fail %d, %s", when, node("n1")->drain, node("n1")->fail,
                 node("n1")->reason);
}

/* Nothing of it was done, and nothing said that it was not. What the file does not say any more
 * stays, as does what it said before and an operator took back. */
static void a_state_that_is_new_in_the_file_counts(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < 3 * 3 * 2; k++) {
        const char *was = words[k % 3], *now = words[k / 3 % 3], *when;
        bool down_nodes = k / 9;
        world_close();
        world_open(file_with(was, down_nodes), 1);
        when = arena_printf(w.a, "%s, then %s", was, now);
        configure(file_with(now, down_nodes));
        is(when, k % 3 == 1 || k / 3 % 3 == 1, k % 3 == 2 || k / 3 % 3 == 2, k % 9 ? "fans" : NULL);
        am_root();
        struct msg_update_node m = {.names = "n1", .state = "RESUME"};
        say(900, MSG_UPDATE_NODE, &m);
        configure(file_with(now, down_nodes));
        is(when, false, false, NULL);
        m = (struct msg_update_node){.names = "n1", .state = "DRAIN", .reason = "mine"};
        say(900, MSG_UPDATE_NODE, &m);
        configure(file_with("UNKNOWN", down_nodes));
        configure(file_with("FAIL", down_nodes));
        is(when, true, true, "mine");
    }
}

static void a_node_that_is_down_from_the_next_start_on_is_said(void **unused)
{
    (void)unused;
    world_close();
    world_open(file_with("UNKNOWN", false), 1);
    configure(file_with("DOWN", false));
    size_t said = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        said += w.fx.v[i].kind == FX_LOG && strstr(w.fx.v[i].text, "n1: State=DOWN counts when");
    assert_int_equal(said, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_state_that_is_new_in_the_file_counts),
        STORY(a_node_that_is_down_from_the_next_start_on_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
