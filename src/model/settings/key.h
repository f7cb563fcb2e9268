/* Keys of settings where a command shows or reads one in a form of its own, or something is said of
 * one: a key that is not in the table does not compile. */
#ifndef REMUDA_MODEL_SETTINGS_KEY_H
#define REMUDA_MODEL_SETTINGS_KEY_H

#include "model/settings/settings.h"

enum setting_key {
#define X(type, member, key, standard, unit, allowed, effect, doc) SETTING_KEY_##key,
    SETTINGS(X)
#undef X
};

/* Its text, a constant: SETTING_KEY(MaxArraySize). No literal: it is not put together with others
 * by the compiler. */
#define SETTING_KEY(key) (&#key[0 * SETTING_KEY_##key])

#endif
