/* What somebody may have said yes or no to, or nothing. */
#ifndef REMUDA_MODEL_TRISTATE_H
#define REMUDA_MODEL_TRISTATE_H

enum tristate { UNSET, YES, NO };

#endif
