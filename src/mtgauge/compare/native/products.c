/* Loops over two texts' vectors: squared distances and best partners, in both precisions. */

#include "tiles.h"

#define REAL float
#define NAMED(name) name##_float
#include "products_of.h"
#undef REAL
#undef NAMED

#define REAL double
#define NAMED(name) name##_double
#include "products_of.h"
