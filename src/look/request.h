/* request.h: what a client of the look asks for, read from the head of its HTTP/1.1 request
 * (RFC 9112). A body is never read. */
#ifndef LT_LOOK_REQUEST_H
#define LT_LOOK_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct lt_request {
    const char *path;  /* "/json" */
    const char *query; /* what follows the '?', or "" */
    const char *host;  /* the header's value, or NULL */
    const char *token; /* of "Authorization: Bearer TOKEN", or NULL */
    bool cross_site;   /* a page of another site made the browser ask */
};

/* Whether the n bytes at `head` have a whole head: it ends with an empty line. */
bool lt_request_is_whole(const char *head, size_t n);

/* Takes a whole head apart, in place; `head[n]` is writable. 0, or an HTTP status: 400, 405. */
int lt_request_parse(struct lt_request *to, char *head, size_t n);

/* Copies the value of the query's parameter `name` to `value`, cut off where it does not fit, with
 * %XX decoded. False: there is none. */
bool lt_request_query(const struct lt_request *request, const char *name, char *value, size_t size);

/* Whether the host is this machine by a number or as localhost, or not given. A page of another
 * site whose name leads here (DNS rebinding) asks with that name. */
bool lt_request_is_for_loopback(const struct lt_request *request);

/* Compares in a time that tells nothing of `wanted` but its length. */
bool lt_token_is(const char *token, const char *wanted);

#endif
