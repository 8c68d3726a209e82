/* graph.h: prints what a look has found, as a graph. */
#ifndef LT_WATCH_GRAPH_H
#define LT_WATCH_GRAPH_H

#include "watch/look.h"
#include "watch/text.h"

/* Writes a graph in Graphviz's language. */
void lt_draw(struct lt_text *text, const struct lt_look *look);

#endif
