#include "controller/long_read.h"

#include <stdlib.h>

void long_read_free(struct long_read *r)
{
    if (!r)
        return;
    answer_free(r->answer);
    timer_free(r->next);
    core_query_end(&r->at);
    arena_free(r->arena);
    free(r);
}
