/* What a user's jobs take of the controller's memory and disk, and of the queue. Only core/
 * includes this. */
#ifndef REMUDA_CORE_RECORD_USERS_USER_ROOM_H
#define REMUDA_CORE_RECORD_USERS_USER_ROOM_H

#include "core/record/state.h"

/* Bytes of its long texts; those beyond are not told apart. */
uint32_t texts_long(const struct job_spec *spec);
/* Bytes of what an array has left to start, in memory and as it is written; few are none. */
uint32_t pending_bytes(const struct idset *pending);
/* Bytes of a row of such a job in the store, but for those. */
uint32_t row_short(const struct job_spec *spec);
/* May the user's jobs have so many more? Operators may have any number. Else why, in words. */
bool user_room_texts_fit(const struct core *c, uint32_t uid, int64_t more, struct str *why);
/* Counts the job, once, and the long texts and what is left of an array that it has now; what it
 * had before no more. An element has its array's texts. */
void user_room_count(struct core *c, struct jobrec *r);
/* Its room is its user's again, before it goes. */
void user_room_uncount(struct core *c, struct jobrec *r);
/* Has the queue room for so many more jobs, and for that many of this user? Else why, in words. */
bool user_room_jobs_fit(const struct core *c, uint32_t uid, size_t more, struct str *why);
/* The same of elements of an array that are to get records of their own. */
bool user_room_elements_fit(const struct core *c, uint32_t uid, size_t more, struct str *why);
/* The same of one element that becomes a record without anybody's asking. */
bool user_room_goes_on(const struct core *c, uint32_t uid);
/* May steps of the user's jobs keep so many more bytes of what they were asked with? Operators' may
 * keep any number. Else why, in words. payer: job_payer of the job. */
bool user_room_asked_fits(const struct core *c, uint32_t payer, size_t more, struct str *why);
/* Counts them, with sign +1 when they are kept and −1 when they are freed. */
void user_room_asked(struct core *c, uint32_t payer, size_t bytes, int sign);
/* The job is over: it may make room for its user's others sooner than after MinJobAge. */
void user_room_over(struct core *c, const struct jobrec *r);
/* Of the user's jobs the one that was over first of those not named yet; NULL = no other is. */
struct jobrec *user_room_oldest(struct core *c, uint32_t uid);
/* Counts what it waits for, as kept, with sign +1 after it came and −1 before it goes: of an
 * element, too, which has it for itself. */
void user_room_conditions(struct core *c, const struct jobrec *r, int sign);
int64_t conditions_bytes(const struct dependency_list *list); /* that count */
/* The same of what stays on the disk, so many bytes a day: scripts and environments, and long texts
 * once for each row that has them. */
bool user_room_disk_fits(const struct core *c, uint32_t uid, uint64_t bytes, struct str *why);
/* Counts what is written; without MaxUserScripts nothing is counted. */
void user_room_disk(struct core *c, uint32_t uid, uint64_t bytes);
/* The same of a row of such a job, but for its long texts. */
void user_room_row(struct core *c, uint32_t uid, const struct job_spec *spec);
/* The texts of what is submitted. */
bool user_room_fits(const struct core *c, const struct msg_submit *m, struct str *why);
/* Stops the program where what is counted is not what is there: looks at every job, for tests.
 * asked: bytes that steps of all jobs keep of what they were asked with. */
void user_rooms_check(const struct core *c, size_t asked);
/* At the end of the controller. */
void user_rooms_free(struct core *c);

#endif
