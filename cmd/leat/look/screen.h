/* screen.h: puts the parts of a screen together. */
#pragma once

#include "look/canvas.h"
#include "look/document.h"
#include "look/history.h"
#include "look/trouble.h"
#include "look/view.h"

/* Draws the view, which is fresh. The history may be NULL. */
void screen_draw(struct canvas *c, struct view *v, const struct document *d,
                 const struct document *before, const struct history *h, const struct trouble *why);
