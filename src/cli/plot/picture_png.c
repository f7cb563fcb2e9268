/* The picture as PNG, drawn by cairo, which is opened when it is wanted: no command needs it
 * otherwise, and none is linked to it. Its functions are those of cairo 1.0 and later, which keeps
 * them as they are. */
#include "cli/plot/picture_pen.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define SCALE        2.0 /* readable where screens are fine, and at half its size */
#define FORMAT_RGB24 1
#define PIXELS_MOST  32000 /* of either side: cairo has no larger surfaces */

typedef void *surface;
typedef void *cairo;

/* X(result, name, arguments) */
#define CAIRO_CALLS(X)                                                                             \
    X(surface, image_surface_create, (int format, int width, int height))                          \
    X(int, surface_status, (surface s))                                                            \
    X(int, surface_write_to_png_stream,                                                            \
      (surface s, int (*write)(void *ctx, const unsigned char *data, unsigned n), void *ctx))      \
    X(void, surface_destroy, (surface s))                                                          \
    X(cairo, create, (surface s))                                                                  \
    X(void, destroy, (cairo c))                                                                    \
    X(void, scale, (cairo c, double x, double y))                                                  \
    X(void, set_source_rgba, (cairo c, double red, double green, double blue, double alpha))       \
    X(void, paint, (cairo c))                                                                      \
    X(void, set_line_width, (cairo c, double width))                                               \
    X(void, set_line_join, (cairo c, int how))                                                     \
    X(void, move_to, (cairo c, double x, double y))                                                \
    X(void, line_to, (cairo c, double x, double y))                                                \
    X(void, rectangle, (cairo c, double x, double y, double width, double height))                 \
    X(void, close_path, (cairo c))                                                                 \
    X(void, fill, (cairo c))                                                                       \
    X(void, stroke, (cairo c))                                                                     \
    X(void, select_font_face, (cairo c, const char *family, int slant, int weight))                \
    X(void, set_font_size, (cairo c, double size))                                                 \
    X(void, text_extents, (cairo c, const char *text, double extents[6]))                          \
    X(void, show_text, (cairo c, const char *text))

struct calls {
#define X(result, name, arguments) result(*name) arguments;
    CAIRO_CALLS(X)
#undef X
};

struct sheet {
    struct calls call;
    cairo c;
    const struct picture_ground *ground;
};

/* The library stays open: its fonts do, too, until the process ends. */
static bool calls_find(struct calls *to, struct err *ret_err)
{
    const char *path = getenv("REMUDA_CAIRO");
    void *library = dlopen(path && *path ? path : "libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "a PNG is drawn by cairo, which is not installed here (Debian: libcairo2): "
                       "--svg needs nothing, and every browser shows it");
#define X(result, name, arguments)                                                                 \
    *(void **)&to->name = dlsym(library, "cairo_" #name);                                          \
    if (!to->name)                                                                                 \
        return err_set(ret_err, ERR_UNSUPPORTED,                                                   \
                       "cairo is not as it should be, there is no cairo_" #name                    \
                       ": --svg needs nothing");
    CAIRO_CALLS(X)
#undef X
    return true;
}

/* ---- the pen ---- */

static void colour_set(const struct sheet *s, const char *colour, double alpha)
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    s->call.set_source_rgba(s->c, (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                            (double)(rgb & 255) / 255, alpha);
}

static void png_text(void *ctx, double x, double y, enum pen_letters how, enum pen_anchor at,
                     const char *text)
{
    const struct sheet *s = ctx;
    double extents[6] = {0}; /* the fifth: how far the next letter would be */
    s->call.select_font_face(s->c, "DejaVu Sans", 0, how == PEN_NAME || how == PEN_BIG);
    s->call.set_font_size(s->c, how == PEN_BIG ? 18 : 14);
    s->call.text_extents(s->c, text, extents);
    colour_set(s, s->ground->ink, how == PEN_FAINT ? 0.75 : 1);
    s->call.move_to(s->c, x - extents[4] * (at == PEN_START ? 0 : at == PEN_MIDDLE ? 0.5 : 1), y);
    s->call.show_text(s->c, text);
}

static void png_rule(void *ctx, double x1, double y1, double x2, double y2)
{
    const struct sheet *s = ctx;
    colour_set(s, s->ground->grid, 1);
    s->call.set_line_width(s->c, 1);
    s->call.move_to(s->c, x1, y1);
    s->call.line_to(s->c, x2, y2);
    s->call.stroke(s->c);
}

static void png_shade(void *ctx, double x, double y, double width, double height)
{
    const struct sheet *s = ctx;
    colour_set(s, s->ground->shade, 1);
    s->call.rectangle(s->c, x, y, width, height);
    s->call.fill(s->c);
}

static void png_key(void *ctx, double x, double y, double width, double height, size_t colour)
{
    const struct sheet *s = ctx;
    colour_set(s, s->ground->line[colour], 1);
    s->call.rectangle(s->c, x, y, width, height);
    s->call.fill(s->c);
}

static void points_draw(const struct sheet *s, const struct pen_point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (i ? s->call.line_to : s->call.move_to)(s->c, p[i].x, p[i].y);
}

static void png_band(void *ctx, const struct pen_point *p, size_t n, size_t colour)
{
    const struct sheet *s = ctx;
    colour_set(s, s->ground->line[colour], 0.22);
    points_draw(s, p, n);
    s->call.close_path(s->c);
    s->call.fill(s->c);
}

static void png_line(void *ctx, const struct pen_point *p, size_t n, size_t colour)
{
    const struct sheet *s = ctx;
    colour_set(s, s->ground->line[colour], 1);
    s->call.set_line_width(s->c, 1.6);
    s->call.set_line_join(s->c, 1);
    points_draw(s, p, n);
    s->call.stroke(s->c);
}

/* ---- the sheet ---- */

static int bytes_take(void *ctx, const unsigned char *data, unsigned n)
{
    str_addn(ctx, (const char *)data, n);
    return 0;
}

bool picture_png(const struct picture *p, enum picture_theme theme, struct str *out,
                 struct err *ret_err)
{
    struct sheet s = {.ground = theme == PICTURE_DARK ? &picture_dark : &picture_light};
    const struct pen pen = {&s, png_text, png_rule, png_shade, png_key, png_band, png_line};
    double height = picture_height(p), scale = SCALE * height < PIXELS_MOST ? SCALE : 1;
    if (!calls_find(&s.call, ret_err))
        return false;
    surface image = s.call.image_surface_create(FORMAT_RGB24, (int)(scale * PICTURE_WIDTH),
                                                (int)(scale * height));
    s.c = s.call.create(image);
    s.call.scale(s.c, scale, scale);
    colour_set(&s, s.ground->ground, 1);
    s.call.paint(s.c);
    picture_draw(&pen, p);
    bool ok = s.call.surface_status(image) == 0 &&
              s.call.surface_write_to_png_stream(image, bytes_take, out) == 0;
    s.call.destroy(s.c);
    s.call.surface_destroy(image);
    return ok || err_set(ret_err, ERR_INTERNAL,
                         "cairo could not draw it (%.0f points high): --value draws fewer charts",
                         height);
}
