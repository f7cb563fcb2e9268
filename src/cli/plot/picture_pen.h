/* What a picture is drawn with: marks of SVG, or cairo. Places are in points from above left. */
#ifndef REMUDA_CLI_PLOT_PICTURE_PEN_H
#define REMUDA_CLI_PLOT_PICTURE_PEN_H

#include "cli/plot/picture.h"

#define PICTURE_WIDTH   960
#define PICTURE_COLOURS 8

/* Colours of a ground: "#rrggbb". */
struct picture_ground {
    /* colours, as CSS writes them */
    const char *ground, *ink, *grid, *shade, *line[PICTURE_COLOURS];
};
extern const struct picture_ground picture_light, picture_dark;

enum pen_letters { PEN_INK, PEN_FAINT, PEN_NAME, PEN_BIG };
enum pen_anchor { PEN_START, PEN_MIDDLE, PEN_END };
struct pen_point {
    double x, y; /* in units of the picture, from the upper left */
};

struct pen {
    void *ctx; /* of all these */
    /* The text is plain. */
    void (*text)(void *ctx, double x, double y, enum pen_letters how, enum pen_anchor at,
                 const char *text);
    void (*rule)(void *ctx, double x1, double y1, double x2, double y2);       /* of the grid */
    void (*shade)(void *ctx, double x, double y, double width, double height); /* of a phase */
    /* a colour's sample in the legend */
    void (*key)(void *ctx, double x, double y, double width, double height, size_t colour);
    void (*band)(void *ctx, const struct pen_point *p, size_t n, size_t colour); /* filled */
    /* through n points, in the colour of that number */
    void (*line)(void *ctx, const struct pen_point *p, size_t n, size_t colour);
};

/* In units of the picture; its width is PICTURE_WIDTH. */
double picture_height(const struct picture *p);
/* From the back to the front, whatever the pen writes: phases, title, charts, times. */
void picture_draw(const struct pen *pen, const struct picture *p);

#endif
