/* What an answer says (http.h), as it is sent: piece by piece. */
#ifndef REMUDA_IO_NET_HTTP_BODY_H
#define REMUDA_IO_NET_HTTP_BODY_H

#include "io/net/http.h"

struct http_body {
    size_t refs, n, bytes; /* answers that are sending it */
    struct str piece[];
};

#endif
