/* Scripts and environments of jobs that are about to be launched: those submitted lately are at
 * hand, others are read from the store on a thread. */
#ifndef REMUDA_CONTROLLER_PAYLOAD_H
#define REMUDA_CONTROLLER_PAYLOAD_H

#include "controller/controller.h"
#include "model/message.h"

#define PAYLOAD_CACHE_BYTES (4u << 20)

struct payloads; /* opaque */
struct writer;

/* Both are borrowed, and outlive it. */
struct payloads *payloads_new(struct controller *c, const char *store_path, struct writer *writer);
void payloads_free(struct payloads *p); /* Waits for the thread; NULL is allowed. */
/* Keeps a copy, the oldest make room. */
void payloads_put(struct payloads *p, const struct payload *payload);
/* The payload if it is at hand, valid until the next call of payloads_…; else NULL. */
const struct payload *payloads_get(struct payloads *p, uint64_t job_id);
/* Reads it from the store; got(ctx, payload, why) comes later. payload is NULL with why set if it
 * cannot be read; a job without one gets an empty one. */
void payloads_read(struct payloads *p, uint64_t job_id,
                   void (*got)(void *ctx, const struct payload *payload, const struct err *why),
                   void *ctx);

#endif
