/* quote.h: names inside messages, and arguments for a shell.
 *
 * A name that a shell would read as one plain word is shown as it is. Any other is quoted, so that
 * it can be pasted into a shell, and so that bytes that are not printable in the user's locale
 * cannot confuse the terminal. The form is that of coreutils 9.1, with one exception: if a name has
 * a ' and ends in something unprintable, a shell would read coreutils' form as another name. */
#pragma once

#include "shared/text.h"

void quote_name(struct text *to, const char *name);

/* Adds an argument as bash reads it, on one line, and as GNU parallel writes it, unless it has
 * control bytes. The same bytes give the same text in each locale, so that a log finds its commands
 * again. */
void quote_word(struct text *to, const char *argument);
