#include "cli/table/json_slurm.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "model/grammar/signals.h"
#include "model/job/job.h"
#include "model/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One tree is written, that of the newest; those before it differ in members that are more. */
static const char *const parsers[] = {"v0.0.40", "v0.0.41", "v0.0.42", "v0.0.43"};

SETTER(json_form_set)
{
    enum json_form *form = (enum json_form *)((char *)to + row->at);
    const char *word = value && text_starts(value, "data_parser/") ? value + 12 : value;
    size_t len = word ? strcspn(word, "+") : 0;
    *form = text_is(row->name, "yaml") ? FORM_YAML : FORM_JSON;
    if (!len || (len == 6 && memcmp(word, "latest", 6) == 0))
        return true;
    if (text_is(word, "list")) {
        *form = FORM_LIST;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(parsers); i++)
        if (strlen(parsers[i]) == len && memcmp(word, parsers[i], len) == 0)
            return true;
    return err_set(ret_err, ERR_VALUE,
                   "--%s=%.100s: there is no such data parser; v0.0.40 to v0.0.43, latest and list "
                   "are allowed",
                   row->name, value);
}

bool json_form_listed(enum json_form form)
{
    if (form != FORM_LIST)
        return false;
    puts("Possible data_parser plugins:");
    for (size_t i = 0; i < ARRAY_LEN(parsers); i++)
        printf("data_parser/%s\n", parsers[i]);
    return true;
}

/* Who asks, and from which terminal. */
static void client(struct json_out *j)
{
    const struct passwd *pw = user_by_uid(getuid());
    const struct group *gr = group_by_gid(getgid());
    const char *tty = isatty(STDIN_FILENO) ? ttyname(STDIN_FILENO) : NULL;
    json_key(j, "client");
    json_object(j);
    json_key_text(j, "source", tty ? tty : "");
    json_key_text(j, "user", pw ? pw->pw_name : "");
    json_key_text(j, "group", gr ? gr->gr_name : "");
    json_object_end(j);
}

void json_slurm_begin(struct json_out *j, struct str *out, const char *command)
{
    json_begin(j, out, true);
    json_object(j);
    json_key(j, "meta");
    json_object(j);
    json_key(j, "plugin");
    json_object(j);
    json_key_text(j, "type", "");
    json_key_text(j, "name", "");
    json_key_text(j, "data_parser", "data_parser/v0.0.43");
    json_key_text(j, "accounting_storage", "accounting_storage/remuda");
    json_object_end(j);
    client(j);
    json_key(j, "command");
    json_array(j);
    json_text(j, command);
    json_array_end(j);
    json_key(j, "slurm");
    json_object(j);
    json_key(j, "version");
    json_object(j);
    json_key_text(j, "major", "25");
    json_key_text(j, "micro", "0");
    json_key_text(j, "minor", "05");
    json_object_end(j);
    json_key_text(j, "release", "25.05.0");
    struct arena *a = arena_new();
    json_key_text(j, "cluster", cluster_name(state_dir_find(NULL, a), a));
    arena_free(a);
    json_object_end(j);
    json_object_end(j);
}

static void empty_array(struct json_out *j, const char *key)
{
    json_key(j, key);
    json_array(j);
    json_array_end(j);
}

static void document_end(struct json_out *j, enum json_form form)
{
    empty_array(j, "warnings");
    json_object_end(j);
    str_addc(j->out, '\n');
    json_form_print(j->out, form);
    str_done(j->out);
}

void json_slurm_end(struct json_out *j, enum json_form form)
{
    empty_array(j, "errors");
    document_end(j, form);
}

#define CONNECTION_ERROR 1800 /* SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR */

void json_slurm_away(const char *command, enum json_form form)
{
    const char *text = refusal_text(REFUSE_NO_CONTROLLER);
    struct str out = STR_INIT;
    struct json_out j;
    json_slurm_begin(&j, &out, command);
    empty_array(&j, text_is(command, "sinfo") ? "sinfo" : "jobs");
    json_key(&j, "errors");
    json_array(&j);
    json_object(&j);
    json_key_text(&j, "description", text);
    json_key_i64(&j, "error_number", CONNECTION_ERROR);
    json_key_text(&j, "error", text);
    json_key_text(&j, "source", command);
    json_object_end(&j);
    json_array_end(&j);
    document_end(&j, form);
}

static void number(struct json_out *j, bool set, bool infinite, int64_t n)
{
    json_object(j);
    json_key_bool(j, "set", set);
    json_key_bool(j, "infinite", infinite);
    json_key_i64(j, "number", n);
    json_object_end(j);
}

void json_key_number(struct json_out *j, const char *key, bool set, int64_t n)
{
    json_key(j, key);
    number(j, set, false, set ? n : 0);
}

void json_key_limit(struct json_out *j, const char *key, int64_t us, int64_t unit_us)
{
    json_key(j, key);
    number(j, us != 0 && us != TIME_UNLIMITED, us == TIME_UNLIMITED,
           us == TIME_UNLIMITED ? 0 : us / unit_us);
}

void json_key_time(struct json_out *j, const char *key, int64_t us)
{
    json_key(j, key);
    number(j, true, false, us / USEC_PER_SEC);
}

void json_key_exit(struct json_out *j, const char *key, int32_t status)
{
    int signo = status_signal(status);
    json_key(j, key);
    json_object(j);
    json_key(j, "status");
    json_array(j);
    json_text(j, signo ? "SIGNALED" : status_code(status) ? "ERROR" : "SUCCESS");
    json_array_end(j);
    json_key_number(j, "return_code", true, status_code(status));
    json_key(j, "signal");
    json_object(j);
    json_key_number(j, "id", signo != 0, signo);
    json_key_text(j, "name", signo && signal_name(signo) ? signal_name(signo) : "");
    json_object_end(j);
    json_object_end(j);
}

void json_key_words(struct json_out *j, const char *key, const char *word, const char *more)
{
    json_key(j, key);
    json_array(j);
    if (word && *word)
        json_text(j, word);
    if (more && *more)
        json_text(j, more);
    json_array_end(j);
}

void json_key_word(struct json_out *j, const char *key, const char *text)
{
    json_key_text(j, key, text ? text : "");
}

void json_key_list(struct json_out *j, const char *key, const char *list)
{
    struct span rest = span_of(list ? list : ""), one;
    json_key(j, key);
    json_array(j);
    while (span_next(&rest, ',', &one)) {
        struct str word = STR_INIT;
        str_addn(&word, one.data, one.len);
        if (word.len)
            json_text(j, str_text(&word));
        str_done(&word);
    }
    json_array_end(j);
}

void json_absent(struct json_out *j, const struct json_absent *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (keys[i].kind) {
        case ABSENT_TEXT: json_key_text(j, keys[i].key, ""); break;
        case ABSENT_LIST: empty_array(j, keys[i].key); break;
        case ABSENT_OBJECT:
            json_key(j, keys[i].key);
            json_object(j);
            json_object_end(j);
            break;
        case ABSENT_ZERO: json_key_i64(j, keys[i].key, 0); break;
        case ABSENT_NUMBER: json_key_number(j, keys[i].key, false, 0); break;
        }
}
