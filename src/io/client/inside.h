/* A connection of a command, between client.c and query.c. */
#ifndef REMUDA_IO_CLIENT_INSIDE_H
#define REMUDA_IO_CLIENT_INSIDE_H

#include "io/client/client.h"
#include "wire/framed.h"

#define CLIENT_PAUSE_FIRST_MS 10

struct client {
    int fd;            /* -1 = closed */
    uint64_t seq;      /* of the call sent last */
    struct framed way; /* what comes; what goes is sent whole */
    char *state_dir;   /* owned; where the socket was found */
    bool exact;        /* texts come as people gave them */
    /* What the other side said of the connection as a whole before it closed it. */
    char *parting;
    client_patience patience; /* NULL = none */
    bool broken;              /* the connection broke, and nobody said why */
};

/* As client_call takes timeouts; INT64_MAX = for ever. */
int64_t client_deadline(int timeout_ms);
/* Numbers it and sends it whole. */
bool client_message_send(struct client *c, struct message *m, struct err *ret_err);
/* The next frame, valid until the next call. */
bool client_frame_receive(struct client *c, int64_t deadline, struct frame *ret,
                          struct err *ret_err);
/* Keeps what a message says of the connection as a whole. */
void client_parting_keep(struct client *c, const struct message *m);
/* After a break. False: there is no patience, or it is over; ret_err stays what broke it, or says
 * that nobody is there. *until_ms 0: the patience begins now. */
bool client_return(struct client *c, int64_t *until_ms, int *pause_ms, struct err *ret_err);
/* The relay of a host that joined is there and the controller is not: the same as a break. */
bool client_is_away(struct client *c, const struct message *m);
/* The controller has enough of this user's requests for now (SlurmctldParameters=rl_enable): waits
 * as long as it says, a little unevenly, so that many who wait do not come back in one moment. */
bool client_is_told_to_wait(const struct message *m);

#endif
