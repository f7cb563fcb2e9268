/* Commands that made allocations and steps in a simulated world and wait to hear of their ends:
 * each hears of it once, unless it hung up or the controller died. */
#ifndef REMUDA_SIM_CALLERS_H
#define REMUDA_SIM_CALLERS_H

#include "base/vec.h"
#include "model/message.h"

struct caller {
    uint64_t conn;
    bool gone, began, over;
};
struct callers {
    VEC(struct caller) v;
};

void callers_add(struct callers *c, uint64_t conn); /* it may be told things from now on */
/* An answer reaches its command. A sentence if it should not have come; NULL = all is well. */
const char *callers_hear(struct callers *c, uint64_t conn, enum message_kind kind);
void callers_forget(struct callers *c, uint64_t conn); /* it died */
/* The n-th; its connection, 0 = it is gone already */
uint64_t callers_hang_up(struct callers *c, size_t n);
/* The controller died: all connections with it */
void callers_lose(struct callers *c);
/* When all is over: who was not told; NULL = nobody */
const char *callers_audit(const struct callers *c);
void callers_done(struct callers *c); /* the list */

#endif
