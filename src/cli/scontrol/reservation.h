/* scontrol: reservations. */
#ifndef REMUDA_CLI_SCONTROL_RESERVATION_H
#define REMUDA_CLI_SCONTROL_RESERVATION_H

#include "base/vec.h"
#include "cli/scontrol/scontrol.h"
#include "model/record/reservation.h"

/* All reservations there are, in the arena; the vector is the caller's. False after an error was
 * printed. */
struct resv_found {
    struct arena *a;
    VEC(struct reservation *) v; /* copies, in the arena */
};
/* *f is overwritten; records live in the arena. False after an error was printed. */
bool scontrol_reservations_load(struct scontrol *s, struct resv_found *f);

enum resv_people { RESV_USERS, RESV_GROUPS, RESV_ACCOUNTS };
/* Users=, Groups= or Accounts=, with sign '+' or '-' += or -=, of a reservation that is made or has
 * the list `old` (NULL = none): *ret is the list then, in the arena; NULL = none. Returns NULL, or
 * what is wrong in Slurm's words; *ret is the value then. */
const char *scontrol_reservation_people(struct arena *a, enum resv_people kind, const char *old,
                                        const char *value, char sign, bool create,
                                        const char **ret);

/* scontrol show reservation[s] [NAME,…] */
void scontrol_show_reservations(struct scontrol *s, const char *names);
/* Are the words about a reservation? Then the command is done, or its error printed. */
bool scontrol_reservation_update(struct scontrol *s, int n, char **word);
/* False: the words are not about a reservation; what was wrong with one is said. */
bool scontrol_reservation_create(struct scontrol *s, int n, char **word);
bool scontrol_reservation_delete(struct scontrol *s, int n, char **word); /* likewise */

#endif
