/* The terminal that a picture is drawn on. */
#ifndef REMUDA_CLI_PROGRAM_WINDOW_H
#define REMUDA_CLI_PROGRAM_WINDOW_H

#include <stdbool.h>

/* Columns of the terminal on standard output, else of COLUMNS, else `otherwise`; 40 to 400. */
int window_width(int otherwise);
/* Rows, the same way with LINES; 5 to 400. */
int window_height(int otherwise);
/* A terminal that has colours, and NO_COLOR is not set. */
bool window_has_colour(void);
/* Its letters are UTF-8. Call setlocale(LC_CTYPE, "") before. */
bool window_has_utf8(void);

#endif
