/* cmocka.h needs four headers before it. */
#ifndef REMUDA_TESTS_UNIT_H
#define REMUDA_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
