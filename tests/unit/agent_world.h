/* A node's machine for tests: they feed it events and compare what it wants done, one line an
 * effect. */
#ifndef REMUDA_TESTS_AGENT_WORLD_H
#define REMUDA_TESTS_AGENT_WORLD_H

#include "unit.h"

#include "agent/agent.h"
#include "base/str.h"

extern struct agent *agent;
extern char last_health[1024]; /* device_health of the last message that had one */
extern struct str said;        /* the effects since the last EXPECT */
extern struct str visits_said; /* what is kept of visits, apart from that */
extern int64_t now_us;
extern int64_t last_from_us;             /* of the last device that was to be looked at */
extern uint32_t last_uid;                /* likewise */
extern char last_apart[64];              /* GPUs that were kept from who did not have them: "0 " */
extern char last_users[64];              /* who had steps then: "1000 1001 " */
extern struct msg_node_welcome settings; /* that welcome() gives */

#define EXPECT(text)                                                                               \
    do {                                                                                           \
        assert_string_equal(str_text(&said), text);                                                \
        str_clear(&said);                                                                          \
    } while (0)

#define VISITS(text)                                                                               \
    do {                                                                                           \
        assert_string_equal(str_text(&visits_said), text);                                         \
        str_clear(&visits_said);                                                                   \
    } while (0)

int setup(void **state);
int teardown(void **state);
void step(struct agent_event ev);
/* Where there are thousands of steps: neither checked nor said, only counted. */
void step_of_many(struct agent_event ev);
extern size_t effects_of[AGENT_FIND + 1]; /* that came of those; by kind */
void message(enum message_kind kind, const void *body);
void up(void);
void down(void);
void welcome(void);
void launch(uint64_t id, uint32_t attempt);
void terminate(uint64_t id, uint32_t attempt);
void ack(uint64_t seq);
struct note ids(enum note_kind kind, int64_t id, int64_t attempt);
void note(struct note n);
void started(int64_t id, int64_t attempt);
void exited(int64_t id, int64_t attempt, int64_t status, bool clean);
void program_done(enum agent_event_kind kind, int64_t id, bool ok, const char *text);
void begin(void);
int setup_gpus(void **state);
void looked(int32_t index, uint64_t use, enum device_sign sign, const char *why);
void both_clean(void);
void launch_with(uint64_t id, const char *alloc);
void wait_us(int64_t us);
void step_launch(uint64_t id, int64_t step_id, const char *alloc);
void step_note(enum note_kind kind, int64_t step_id);
void found(int64_t id);
size_t visits(void);                               /* that are open */
void site(const char *prolog, const char *epilog); /* begins with these programs */
void prolog_ends(int64_t id, uint32_t attempt, int64_t step_id, const char *why);
void prolog_ok(int64_t id, uint32_t attempt, int64_t step_id);
void epilog_ok(int64_t id); /* that followed no step */
void visited(int64_t id, bool prepared);

#define TEST_GPUS(name) cmocka_unit_test_setup_teardown(test_##name, setup_gpus, teardown)
#define TEST(name)      cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#endif
