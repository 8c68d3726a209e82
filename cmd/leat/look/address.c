#define _GNU_SOURCE
#include "look/address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char forms[] = "ADDRESS is unix:/path, unix:@name, host:port or http://host:port/";

static void copy_connect(struct address *a, const char *from, size_t len, struct trouble *why)
{
    if (len >= sizeof a->connect) {
        trouble_say(why, "ADDRESS is too long");
        return;
    }
    memcpy(a->connect, from, len);
    a->connect[len] = '\0';
}

/* Whether all is printable ASCII, from the character `least` on. The text goes into the head of a
 * request, where a line's end would begin another field. */
static bool is_plain(const char *text, char least)
{
    for (; *text; text++)
        if (*text < least || *text >= 0x7f)
            return false;
    return true;
}

/* A token may have spaces inside; at its end the head's reader would drop them. */
static bool is_token(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n <= TOKEN_MOST && text[0] != ' ' && text[n - 1] != ' ' && is_plain(text, ' ');
}

/* The beginning of the port, at its colon; NULL if there is none. Colons in brackets belong to the
 * host. */
static const char *find_port(const char *host)
{
    const char *bracket = strrchr(host, ']');
    const char *colon = strrchr(bracket ? bracket : host, ':');
    return colon && colon[1] ? colon : NULL;
}

static void read_host(struct address *a, const char *text, size_t len, bool url,
                      struct trouble *why)
{
    copy_connect(a, text, len, why);
    if (is_trouble(why))
        return;
    memcpy(a->host, a->connect, len + 1);
    if (!is_plain(a->host, '!') || strpbrk(a->host, "/@?#") || !len) {
        trouble_say(why, "%s", forms);
        return;
    }
    if (find_port(a->host))
        return;
    if (!url || a->host[len - 1] == ':')
        trouble_say(why, "the port is missing: %s", forms);
    else if (len + 4 > sizeof a->connect)
        trouble_say(why, "ADDRESS is too long");
    else
        strcat(a->connect, ":80"); /* NOLINT: there is room */
}

/* The part after the host is ignored, as far as it is one that a browser shows; any other is
 * refused. */
static void read_url(struct address *a, const char *text, struct trouble *why)
{
    size_t host = strcspn(text, "/?#");
    const char *rest = text + host;
    if (strstr(rest, "token="))
        trouble_say(why, "a token on the command line is seen by others: use --token=FILE or "
                         "LEAT_LOOK_TOKEN");
    else if (*rest && strcmp(rest, "/") != 0 && strcmp(rest, "/json") != 0)
        trouble_say(why, "%s", forms);
    read_host(a, text, host, true, why);
}

void address_read(struct address *a, const char *given, struct trouble *why)
{
    static const char http[] = "http://";
    a->given = given;
    if (strncmp(given, "unix:", 5) == 0) {
        strcpy(a->host, "localhost"); /* NOLINT: there is room */
        copy_connect(a, given, strlen(given), why);
        if (!given[5] || strcmp(given, "unix:@") == 0)
            trouble_say(why, "the path is missing: %s", forms);
    } else if (strncasecmp(given, http, sizeof http - 1) == 0) {
        read_url(a, given + sizeof http - 1, why);
    } else if (strncmp(given, "udp:", 4) == 0 || strstr(given, "://")) {
        trouble_say(why, "%s", forms);
    } else {
        read_host(a, given, strlen(given), false, why);
    }
}

static void read_file(struct address *a, const char *path, struct trouble *why)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        trouble_say(why, "%s: %s", path, strerror(errno));
        return;
    }
    /* One byte more than a token may have, and a NUL. */
    char line[TOKEN_MOST + 2] = "";
    if (!fgets(line, sizeof line, file) && ferror(file))
        trouble_say(why, "%s: %s", path, strerror(errno));
    fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (is_token(line))
        strcpy(a->token, line); /* NOLINT: there is room */
    else
        trouble_say(why, "%s: its first line is no token", path);
}

void address_read_token(struct address *a, const char *path, struct trouble *why)
{
    const char *variable = getenv("LEAT_LOOK_TOKEN");
    if (path)
        read_file(a, path, why);
    else if (variable && *variable && !is_token(variable))
        trouble_say(why, "LEAT_LOOK_TOKEN is no token");
    else if (variable)
        strcpy(a->token, variable); /* NOLINT: there is room */
}
