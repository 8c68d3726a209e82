/* url.h: the address of an engine. */
#pragma once

#include <stdbool.h>

/* The parts of an address: copies, or NULL. */
struct lk_url {
    char *address; /* for leat_connect and for messages: it has neither user nor password */
    char *host; /* its name or number, without brackets and zone; NULL: a socket of this machine */
    char *user, *password;
    char *database;
    bool tls;
};

/* 0; -EINVAL for what is no address of an engine; -ENOMEM. */
int lk_url_parse(struct lk_url *to, const char *text);

/* Wipes the password. */
void lk_url_free(struct lk_url *url);

/* Overwrites a secret, and frees it. NULL is allowed. */
void lk_wipe(char *text);
