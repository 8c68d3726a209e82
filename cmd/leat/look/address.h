/* address.h: the address at which the program serves its look, and its token. */
#pragma once

#include "look/trouble.h"

enum { TOKEN_MOST = 4096 };

struct address {
    const char *given;          /* as the user has written it */
    char connect[300];          /* for leat_connect */
    char host[300];             /* for the head of the request */
    char token[TOKEN_MOST + 1]; /* empty: none */
};

/* Reads unix:/path, unix:@name, host:port, or http://host:port/. No name is looked up. */
void address_read(struct address *a, const char *given, struct trouble *why);

/* Takes the first line of a file as the token; with a NULL path, the variable LEAT_LOOK_TOKEN, if
 * it is set. */
void address_read_token(struct address *a, const char *path, struct trouble *why);
