/* Text has "    name = value" lines, broken behind a comma at 78 columns with a tab; JSON the same
 * with its groups as objects; dsv all of a thing on a line; XML (Torque) everything on one. */
#include "cli/pbs/attributes.h"

#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"

#include <string.h>

#define WIDTH 78

void pbs_attribute_add(struct pbs_attributes *t, const char *group, const char *name,
                       const char *value)
{
    struct pbs_attribute one = {group, name, value, false, false};
    if (!text_empty(value))
        vec_push(&t->v, one);
}

void pbs_attribute_number(struct pbs_attributes *t, const char *group, const char *name, int64_t n)
{
    pbs_attribute_add(t, group, name, arena_printf(t->a, "%lld", (long long)n));
}

void pbs_attribute_list(struct pbs_attributes *t, const char *group, const char *name,
                        const char *value)
{
    struct pbs_attribute one = {group, name, value, true, false};
    if (!text_empty(value))
        vec_push(&t->v, one);
}

void pbs_attribute_joined(struct pbs_attributes *t, const char *group, const char *name,
                          const char *value)
{
    struct pbs_attribute one = {group, name, value, false, true};
    if (!text_empty(value))
        vec_push(&t->v, one);
}

void pbs_attributes_done(struct pbs_attributes *t)
{
    vec_done(&t->v);
}

const char *pbs_date(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    if (us <= 0)
        return NULL;
    civil_format(us, us, "%a %b %e %H:%M:%S %Y", &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

const char *pbs_clock(int64_t us, struct arena *a)
{
    long long s = us / USEC_PER_SEC;
    return us < 0 ? NULL : arena_printf(a, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

bool pbs_form_parse(const char *text, enum pbs_form *ret)
{
    *ret = text_is(text, "json") ? PBS_JSON : PBS_DSV;
    return text_is(text, "json") || text_is(text, "dsv");
}

/* ---- text ---- */

/* The attribute as one name and one value, as all forms but JSON have it; false: what it says was
 * said with those of its group before it. */
static bool line_of(const struct pbs_attributes *t, size_t i, struct arena *a,
                    struct pbs_attribute *ret)
{
    const struct pbs_attribute *one = &t->v.v[i];
    struct str all = STR_INIT;
    *ret = *one;
    if (!one->joined)
        return true;
    if (i > 0 && text_is(t->v.v[i - 1].group, one->group))
        return false;
    for (size_t k = i; k < t->v.n && text_is(t->v.v[k].group, one->group); k++)
        str_addf(&all, "%s%s=%s", k > i ? "," : "", t->v.v[k].name, t->v.v[k].value);
    *ret = (struct pbs_attribute){NULL, one->group, arena_strdup(a, str_text(&all)), false, false};
    str_done(&all);
    return true;
}

/* Broken behind the last comma that fits; where there is none in time, it stays whole. */
static void wrapped_add(struct str *out, const char *line, bool whole)
{
    size_t room = WIDTH;
    while (!whole && strlen(line) > room) {
        size_t at = room;
        while (at > 0 && line[at - 1] != ',')
            at--;
        if (at == 0)
            break;
        str_addn(out, line, at);
        str_add(out, "\n\t");
        line += at;
        room = WIDTH - 8;
    }
    str_addf(out, "%s\n", line);
}

static void text_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t)
{
    str_addf(r->out, "%s%s\n", r->title, id);
    for (size_t i = 0; i < t->v.n; i++) {
        struct pbs_attribute one;
        if (!line_of(t, i, r->a, &one))
            continue;
        const char *line =
            arena_printf(r->a, "%s%s%s%s = %s", r->indent, one.group ? one.group : "",
                         one.group ? "." : "", one.name, one.value);
        wrapped_add(r->out, line, r->unbroken);
    }
    str_addc(r->out, '\n');
}

/* "Job Id: 12.server|Job_Name = x|…": a delimiter in a value stands behind a backslash. */
static void dsv_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t)
{
    size_t len = strlen(r->delimiter);
    str_addf(r->out, "%s%s", *r->title ? r->title : "Name=", id);
    for (size_t i = 0; i < t->v.n; i++) {
        struct pbs_attribute one;
        if (!line_of(t, i, r->a, &one))
            continue;
        str_addf(r->out, "%s%s%s%s=", r->delimiter, one.group ? one.group : "",
                 one.group ? "." : "", one.name);
        for (const char *c = one.value; *c; c++) {
            if (strncmp(c, r->delimiter, len) == 0)
                str_addc(r->out, '\\');
            str_addc(r->out, *c == '\n' ? ' ' : *c);
        }
    }
    str_addc(r->out, '\n');
}

/* ---- JSON ---- */

void pbs_json_text(struct str *out, const char *text)
{
    str_addc(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 32)
            str_addf(out, "\\u%04x", c);
        else
            str_addc(out, *text);
    }
    str_addc(out, '"');
}

/* PBS writes texts that are numbers as numbers. */
static bool is_number(const char *text)
{
    size_t digits = strspn(text += *text == '-', "0123456789"), more = 0;
    if (text[digits] == '.')
        more = 1 + strspn(text + digits + 1, "0123456789");
    return digits > 0 && digits < 16 && more != 1 && more < 16 && !text[digits + more] &&
           (digits == 1 || text[0] != '0');
}

static void json_value(struct str *out, const struct pbs_attribute *one, struct arena *a)
{
    struct span rest = span_of(one->value), piece;
    size_t n = 0;
    if (!one->list) {
        if (is_number(one->value))
            str_add(out, one->value);
        else
            pbs_json_text(out, one->value);
        return;
    }
    str_addc(out, '[');
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        str_add(out, n++ ? "," : "");
        pbs_json_text(out, arena_strndup(a, piece.data, piece.len));
    }
    str_addc(out, ']');
}

static void json_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t)
{
    const char *group = NULL;
    str_add(r->out, r->n ? ",\n        " : "\n        ");
    pbs_json_text(r->out, id);
    str_add(r->out, ":{");
    for (size_t i = 0; i < t->v.n; i++) {
        const struct pbs_attribute *one = &t->v.v[i];
        bool leaves = group && !text_is(group, one->group);
        bool enters = one->group && !text_is(group, one->group);
        if (leaves)
            str_add(r->out, "\n            }");
        str_add(r->out, i && (leaves || !enters || !group) ? ",\n" : "\n");
        if (enters)
            str_addf(r->out, "            \"%s\":{\n", one->group);
        str_add(r->out, one->group ? "                " : "            ");
        pbs_json_text(r->out, one->name);
        str_addc(r->out, ':');
        json_value(r->out, one, r->a);
        group = one->group;
    }
    str_add(r->out, group ? "\n            }\n        }" : "\n        }");
}

/* ---- XML ---- */

static void xml_text(struct str *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<')
            str_add(out, "&lt;");
        else if (c == '>')
            str_add(out, "&gt;");
        else if (c == '&')
            str_add(out, "&amp;");
        else if (c == '"')
            str_add(out, "&quot;");
        else
            str_addc(out, c < 32 && c != '\t' ? ' ' : *text);
    }
}

static void xml_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t)
{
    const char *group = NULL;
    bool job = text_is(r->element, "Job");
    str_addf(r->out, "<%s><%s>", r->element, job ? "Job_Id" : "name");
    xml_text(r->out, id);
    str_addf(r->out, "</%s>", job ? "Job_Id" : "name");
    for (size_t i = 0; i < t->v.n; i++) {
        struct pbs_attribute one;
        if (!line_of(t, i, r->a, &one))
            continue;
        if (group && !text_is(group, one.group))
            str_addf(r->out, "</%s>", group);
        if (one.group && !text_is(group, one.group))
            str_addf(r->out, "<%s>", one.group);
        str_addf(r->out, "<%s>", one.name);
        xml_text(r->out, one.value);
        str_addf(r->out, "</%s>", one.name);
        group = one.group;
    }
    if (group)
        str_addf(r->out, "</%s>", group);
    str_addf(r->out, "</%s>", r->element);
}

/* ---- the whole ---- */

void pbs_report_begin(struct pbs_report *r, const char *server, int64_t now_us)
{
    r->n = 0;
    if (r->form == PBS_XML)
        str_add(r->out, "<?xml version=\"1.0\"?>\n<Data>");
    if (r->form != PBS_JSON)
        return;
    str_addf(r->out,
             "{\n    \"timestamp\":%lld,\n    \"pbs_version\":\"" PBS_VERSION_TEXT
             "\",\n    \"pbs_server\":",
             (long long)(now_us / USEC_PER_SEC));
    pbs_json_text(r->out, server);
    str_addf(r->out, ",\n    \"%s\":{", r->kind);
}

void pbs_report_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t)
{
    switch (r->form) {
    case PBS_TEXT: text_add(r, id, t); break;
    case PBS_JSON: json_add(r, id, t); break;
    case PBS_DSV: dsv_add(r, id, t); break;
    case PBS_XML: xml_add(r, id, t); break;
    }
    r->n++;
}

void pbs_report_end(struct pbs_report *r)
{
    if (r->form == PBS_XML)
        str_add(r->out, "</Data>\n");
    if (r->form == PBS_JSON)
        str_add(r->out, r->n ? "\n    }\n}\n" : "}\n}\n");
}
