/* The picture in marks of SVG. */
#include "cli/plot/picture_pen.h"

#include <string.h>

static void rules(struct str *out, const struct picture_ground *g)
{
    str_addf(out,
             ".ground{fill:%s}.ink{fill:%s}.faint{fill:%s;opacity:.75}.grid{stroke:%s;stroke-width:"
             "1}.shade{fill:%s}",
             g->ground, g->ink, g->ink, g->grid, g->shade);
    for (int i = 0; i < PICTURE_COLOURS; i++)
        str_addf(out, ".l%d{stroke:%s}.f%d{fill:%s}", i, g->line[i], i, g->line[i]);
}

static void style_write(enum picture_theme theme, struct str *out)
{
    str_add(out, "<style>text{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;"
                 "font-size:14px}.big{font-size:18px;font-weight:600}.name{font-weight:600}"
                 ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.band{opacity:.22}");
    if (theme != PICTURE_DARK)
        rules(out, &picture_light);
    if (theme == PICTURE_AUTO)
        str_add(out, "@media (prefers-color-scheme:dark){");
    if (theme != PICTURE_LIGHT)
        rules(out, &picture_dark);
    str_add(out, theme == PICTURE_AUTO ? "}</style>\n" : "</style>\n");
}

static void svg_text(void *ctx, double x, double y, enum pen_letters how, enum pen_anchor anchor,
                     const char *text)
{
    static const char *const class[] = {"ink", "faint", "ink name", "ink big"}, *const where[] = {
                                                                                    "start",
                                                                                    "middle",
                                                                                    "end"};
    struct str *out = ctx;
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class[how],
             where[anchor]);
    for (; *text; text++)
        if (strchr("<>&\"'", *text))
            str_addf(out, "&#%d;", *text);
        else
            str_addc(out, *text);
    str_add(out, "</text>\n");
}

static void svg_rule(void *ctx, double x1, double y1, double x2, double y2)
{
    str_addf(ctx, "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", x1,
             x2, y1, y2);
}

static void svg_shade(void *ctx, double x, double y, double width, double height)
{
    str_addf(ctx, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"shade\"/>\n",
             x, y, width, height);
}

static void svg_key(void *ctx, double x, double y, double width, double height, size_t colour)
{
    str_addf(ctx, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" class=\"f%zu\"/>\n",
             x, y, width, height, colour);
}

static void points_add(struct str *out, const struct pen_point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', p[i].x, p[i].y);
}

static void svg_band(void *ctx, const struct pen_point *p, size_t n, size_t colour)
{
    str_addf(ctx, "<path class=\"band f%zu\" d=\"", colour);
    points_add(ctx, p, n);
    str_add(ctx, "Z\"/>\n");
}

static void svg_line(void *ctx, const struct pen_point *p, size_t n, size_t colour)
{
    str_addf(ctx, "<path class=\"line l%zu\" d=\"", colour);
    points_add(ctx, p, n);
    str_add(ctx, "\"/>\n");
}

void picture_svg(const struct picture *p, enum picture_theme theme, struct str *out)
{
    const struct pen pen = {out, svg_text, svg_rule, svg_shade, svg_key, svg_band, svg_line};
    double height = picture_height(p);
    str_addf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
             "height=\"%.0f\" role=\"img\">\n",
             PICTURE_WIDTH, height, PICTURE_WIDTH, height);
    style_write(theme, out);
    str_add(out, "<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n");
    picture_draw(&pen, p);
    str_add(out, "</svg>\n");
}
