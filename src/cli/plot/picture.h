/* Curves as files: for programs (CSV, JSON), for people (SVG, PNG). */
#ifndef REMUDA_CLI_PLOT_PICTURE_H
#define REMUDA_CLI_PLOT_PICTURE_H

#include "model/job/job.h"
#include "reading/reading.h"

/* As `nvidia-smi --query-gpu=… --format=csv` writes them: a row for each sample of each device, all
 * columns of SERIES_VALUES that any of them has. With steps instead of devices where there are
 * none. */
void picture_csv(const struct curves *c, bool units, struct str *out);
/* One object: the job, its times in seconds since the epoch, and every series with its samples. */
void picture_json(const struct curves *c, const struct job *j, struct str *out);

enum picture_theme { PICTURE_AUTO, PICTURE_LIGHT, PICTURE_DARK }; /* AUTO: as the viewer's is */
struct picture {
    const struct curves *curves; /* borrowed, as the job is */
    const struct job *job;
    int64_t from_ms, to_ms;      /* of the epoch; what is outside is not drawn */
    const struct stretch *phase; /* of the job, shaded */
    size_t nphases;              /* 0 = none is */
};
/* One document of its own: no script, no font, no file beside it; colours by the theme. */
void picture_svg(const struct picture *p, enum picture_theme theme, struct str *out);
/* The same as the bytes of a PNG, by cairo, which is opened for it (REMUDA_CAIRO: another one than
 * the system's); AUTO is light. ERR_UNSUPPORTED: it is not there. */
bool picture_png(const struct picture *p, enum picture_theme theme, struct str *out,
                 struct err *ret_err);

#endif
