/* OpenSSL's errors as ours. For the files that use OpenSSL alone. */
#ifndef REMUDA_IO_OPENSSL_ERR_H
#define REMUDA_IO_OPENSSL_ERR_H

#include "base/err.h"

#include <openssl/err.h>
#include <stdbool.h>

/* "cannot WHAT: reason"; false. The library's queue of errors is empty afterwards. */
static inline bool openssl_failed(enum err_code code, const char *what, struct err *ret_err)
{
    char text[256] = "no reason given";
    unsigned long reason = ERR_get_error();
    if (reason)
        ERR_error_string_n(reason, text, sizeof text);
    ERR_clear_error();
    return err_set(ret_err, code, "cannot %s: %s", what, text);
}

#endif
