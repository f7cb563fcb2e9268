/* A herd of shepherds in a directory of its own, with a test in the place of the node daemon. */
#ifndef REMUDA_TESTS_SHEPHERD_WORLD_H
#define REMUDA_TESTS_SHEPHERD_WORLD_H

#include "agent/note.h"
#include "node/step/command.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <sys/types.h>

struct herd_world {
    char dir[64];  /* of the node: /tmp/shepherd-test-XXXXXX */
    char out[96];  /* default output file of steps */
    char *cgroups; /* bases; NULL = none */
    pid_t parent;  /* remuda-shepherd */
    int plans, steps;
    int listening, notes[8]; /* of notes_socket.h */
    size_t nnotes;
    char pending[8192];
    size_t npending;
};

void world_begin(struct herd_world *w);
void world_end(struct herd_world *w);
/* Starts the shepherds' parent (again). */
void world_serve(struct herd_world *w);
void world_stop_serving(struct herd_world *w);

/* A plan for job `id` with the body of a bash script. */
struct step_plan world_plan(struct herd_world *w, int64_t id, const char *script);
void world_send(struct herd_world *w, const struct step_plan *p);
/* The next note, whatever it is; fails the test after 10 s. */
struct note world_note(struct herd_world *w);
/* The next note of that kind; others are dropped. */
struct note world_wait(struct herd_world *w, enum note_kind kind);
bool world_quiet(struct herd_world *w, int ms); /* no note for so long */
void world_command(struct herd_world *w, pid_t shepherd, const struct step_command *c);
/* Text of a file, "" if there is none; valid until the next call. */
const char *world_file(const char *path);
const char *world_output(struct herd_world *w);

#endif
