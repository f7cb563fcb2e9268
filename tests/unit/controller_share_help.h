/* For tests of shares of the controller's time: a world in which the clock goes on by what is spent,
 * and by nothing else. */
#ifndef REMUDA_CONTROLLER_SHARE_HELP_H
#define REMUDA_CONTROLLER_SHARE_HELP_H

#include "loop_stand_in.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "controller/session/share.h"

#include <string.h>

#define US       INT64_C(1000) /* in nanoseconds */
#define GO_US    800           /* a slice, what a round allows, and what is forgiven meanwhile */
#define AGAIN_US 300           /* a slice of who goes on, and what is forgiven meanwhile */
#define FLOODER  1
#define LIGHT    50

/* ---- the world ---- */

static struct shares *world(void)
{
    stand_in_begin();
    return shares_new(NULL);
}

static void serve(struct user_share *s, int64_t us)
{
    note.now_us += us;
    share_spent(s, us * US);
}

static void rest(int64_t us)
{
    note.now_us += us;
    note.round++;
}

/* Those n flood for so long with requests of `each` µs, as many as are taken; *ret_go gets the most
 * that was done for one of them in one go. The time that was theirs. */
static int64_t flood(struct user_share **s, int n, int64_t each, int64_t for_us,
                     struct user_share *light, int64_t *ret_go)
{
    int64_t until = note.now_us + for_us, theirs = 0;
    *ret_go = 0;
    while (note.now_us < until) {
        bool any = false;
        for (int i = 0; i < n; i++) {
            int64_t go = 0;
            for (; share_may(s[i]) && go < 100 * USEC_PER_SEC; go += each, any = true)
                serve(s[i], each);
            theirs += go;
            *ret_go = go > *ret_go ? go : *ret_go;
        }
        if (light)
            serve(light, 50);
        assert_true(!light || share_may(light));
        rest(any ? 1 : 50);
    }
    return theirs;
}

#endif
