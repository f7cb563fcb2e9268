/* Reservations in Slurm's words, for scontrol and sinfo. */
#ifndef REMUDA_CLI_RECORD_RESERVATION_WORDS_H
#define REMUDA_CLI_RECORD_RESERVATION_WORDS_H

#include "cli/table/columns.h"
#include "model/record/reservation.h"

/* As durations are shown, in the arena. */
const char *resv_span(int64_t us, struct arena *a);
/* "cpu=8,gres/gpu:a100=2,license/x=1" */
const char *resv_tres(const struct reservation *r, struct arena *a);

/* TRES=cpu=2,2,node=2,gres/gpu=4,license/x=1; members that are not named stay NULL or 0. */
struct resv_asked {
    const char *cores, *gres, *licenses; /* comma lists; NULL = not asked */
    int32_t node_count;
};
/* TRES=cpu=8,node=2,license/x=3 and as sacctmgr writes it; false: *ret_err names the word. */
bool resv_tres_parse(const char *text, struct arena *a, struct resv_asked *ret,
                     struct err *ret_err);

#endif
