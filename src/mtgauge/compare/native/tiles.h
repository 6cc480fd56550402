/* tiles_of.h for single and for double precision: names end in _float and _double. */

#ifndef MTGAUGE_TILES_H
#define MTGAUGE_TILES_H

#include "lanes.h"

/* Rows and columns of the tile whose sums run side by side: as many as there are registers for.
   Each sum is its own, so the shape does not move a bit. */
#if PARTS == 1
#define TILE_ROWS 4
#define TILE_COLS 4
#elif PARTS == 2 || defined(__aarch64__)
#define TILE_ROWS 2
#define TILE_COLS 2
#else
#define TILE_ROWS 1
#define TILE_COLS 2
#endif

#define REAL float
#define NAMED(name) name##_float
#include "tiles_of.h"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_double
#include "tiles_of.h"
#undef REAL
#undef NAMED

#endif
