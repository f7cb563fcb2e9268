/* What the listing commands do alike: filters as Slurm's users write them → texts of a query; user
 * names → uids. */
#ifndef REMUDA_CLI_TABLE_LISTING_H
#define REMUDA_CLI_TABLE_LISTING_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/table/columns.h"

#include <stdbool.h>
#include <sys/types.h>

/* Names of the groups of a user, with commas, as this host knows them; NULL = too many. */
const char *listing_groups(const char *user, gid_t primary, struct arena *a);
/* "alice,1001" → "1000,1001". Error "Invalid user: NAME". */
bool listing_uids(const char *users, struct arena *a, const char **ret, struct err *ret_err);
/* The same of users that there are; the others are named on stderr and left out, as in Slurm. "" =
 * nobody; NULL if `users` is empty. */
const char *listing_uids_known(const char *command, const char *users, struct arena *a);
/* "R,pending,CG" → state names; states of Slurm's that no job here is ever in are dropped (*ret may
 * become "NONE", which matches no job). "all" stays "all". Slurm's line about one that is none is
 * printed as `command`'s, by the caller if that is NULL. */
bool listing_states(const char *command, const char *states, struct arena *a, const char **ret,
                    struct err *ret_err);
/* -M: our own cluster's name (as far as this command can know) and "all" are fine; anything else is
 * an error. */
bool listing_clusters(const char *clusters, struct err *ret_err);
/* Of a list of clusters (NULL = none) from `from` ("--cluster", or the variable's name): `own`
 * (NULL or "" = any) and "all" are fine. Slurm's own line about another is printed as `command`'s.
 */
bool listing_cluster_check(const char *command, const char *clusters, const char *from,
                           const char *own, struct err *ret_err);
/* The environment's SLURM_TIME_FORMAT and SLURM_BITSTR_LEN, and the clock. */
struct cell_env listing_env(void);
/* Says so where SLURM_TIME_FORMAT is no form of times; they are printed in the standard one. */
void listing_time_format_check(const char *command);
/* Does a filter let the word through: is it in the list (list_has), or is there none (NULL)? */
bool listing_has(const char *list, const char *word);
/* Adds ",value" to a list option given several times. */
const char *listing_join(const char *list, const char *value, struct arena *a);
/* Writes all of `out` to stdout and empties it. */
void listing_flush(struct str *out);

#endif
