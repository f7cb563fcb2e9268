/* Private to the configuration parser: its state, shared by config.c (files, lines, settings) and
 * config_lines.c (lines that describe nodes and partitions). */
#ifndef REMUDA_MODEL_CONFIG_PARSER_H
#define REMUDA_MODEL_CONFIG_PARSER_H

#include "base/map.h"
#include "base/vec.h"
#include "model/settings/config_keys.h"
#include "model/settings/settings.h"

struct word {
    const char *key, *value; /* in the arena; value "" for `Key=` */
};

/* One line, with its continuations. */
struct line {
    const struct word *word;
    size_t n; /* at least 1 */
};

/* The file beside the configuration to which joining hosts add a line each; its readers include it
 * last. */
#define CONFIG_JOINED "joined.conf"

/* Where something was said. */
struct place {
    const char *file;
    int line; /* from 1 */
};

/* Lines that speak of nodes which may be described further down; config_lines_finish resolves
 * them. */
struct node_set {
    struct place at;                    /* where it is written */
    const char *name, *nodes, *feature; /* nodes and feature NULL: not given */
};
struct down_nodes {
    struct place at;
    const char *names, *reason; /* patterns, as written */
    const char *state;
};

struct parser {
    struct arena *a;           /* the configuration's */
    struct settings *settings; /* filled in */
    config_reader reader;
    void *reader_ctx;
    struct place at; /* of the line at hand */
    unsigned depth;  /* of Include */
    size_t read;     /* bytes of files that were included, as LIMIT_CONFIG_INCLUDED_BYTES */
    bool joined;     /* CONFIG_JOINED is read: what hosts that joined said of themselves */
    struct node_draft default_node; /* of the lines NodeName=DEFAULT so far */
    struct partition default_part;
    struct partition cluster_part; /* what partitions have that do not say it themselves */
    struct map_str *node_index;    /* name → a size_t in the arena: index in node */
    struct map_str *part_seen;     /* names */
    VEC(struct node) node;         /* expanded when the last line is read */
    VEC(struct partition) part;
    VEC(struct place) part_at; /* of part[i] */
    VEC(struct node_set) set;
    VEC(struct down_nodes) down;
    VEC(struct topo_row) topo;
    VEC(struct place) topo_at; /* of each of topo: where it is written */
    const char *block_sizes;
    VEC(const char *) warning; /* in the order of the lines */
    VEC(uint8_t) weighs;       /* of warning[i] */
    struct place *given;       /* by setting: where it was given last; file NULL = it was not */
};

/* A key of the cluster that says what partitions have, such as DefMemPerGPU=. *ret_is: it is. */
bool config_cluster_part_take(struct parser *p, const char *key, const char *value, bool *ret_is,
                              struct err *ret_err);

/* Adds "file:line: …" to the warnings. */
void config_warn(struct parser *p, enum config_weight weight, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a key that is not known at all; `names` are the known ones, one of which may have
 * been meant. */
void config_warn_unknown(struct parser *p, const char *key, const char *where,
                         const char *const *names, size_t n);
/* A key that has an effect may have values that have none: says so. */
void config_warn_value(struct parser *p, const char *key, const char *value);
/* Puts "file:line: what: " before the error. Returns false. */
bool config_error_at(const struct place *at, const char *what, struct err *ret_err);

/* Reads topology.conf if it is there and no line has described switches, and checks the whole. */
bool config_topology_finish(struct parser *p, struct config *ret, struct err *ret_err);
/* Takes the lines of a file. */
bool config_file_parse(struct parser *p, const char *text, const char *file, struct err *ret_err);
/* SwitchName= */
bool config_switch_line(struct parser *p, const struct line *line, struct err *ret_err);
/* BlockName= */
bool config_block_line(struct parser *p, const struct line *line, struct err *ret_err);
/* BlockSizes=: checked when the last line was read */
bool config_block_sizes(struct parser *p, const struct line *line, struct err *ret_err);

/* A line that starts with one of NodeName, PartitionName, NodeSet, DownNodes, FrontendName,
 * SwitchName, BlockName and BlockSizes. *ret_mine false: it starts with none of them and nothing
 * was done. */
bool config_line_parse(struct parser *p, const struct line *line, bool *ret_mine,
                       struct err *ret_err);
/* After the last line: node sets, DownNodes, and the node lists of the partitions. */
bool config_lines_finish(struct parser *p, struct err *ret_err);

#endif
