/* trouble.h: the reason for a failure, as one line for the user.
 *
 * The text may quote a server's answer, so it is shown only by shown_add. The first trouble stays;
 * later ones are its consequences. */
#pragma once

#include <stdbool.h>

struct trouble {
    char said[240]; /* empty: there is no trouble */
    bool gone;      /* there is no listener at the address */
};

static inline bool is_trouble(const struct trouble *t)
{
    return t->said[0] != '\0';
}

__attribute__((format(printf, 2, 3))) void trouble_say(struct trouble *t, const char *format, ...);

/* Records the negative errno value `error`. */
void trouble_error(struct trouble *t, int error);
