/* queue.h: the address of a queue that has jobs of `leat map` for any `leat worker`:
 *
 *     redis://HOST/QUEUE   redis://HOST:PORT/DATABASE/QUEUE   redis+unix:/run/redis.sock/QUEUE
 *     rediss://HOST/QUEUE, and so on: with TLS
 *
 * The part before the last slash is the address of an engine, as in leat/link.h. It has no
 * password, since all users of the machine see a command line. */
#pragma once

#include <stdbool.h>

enum {
    QUEUE_NAME = 124,                        /* bytes of a queue's name at most */
    QUEUE_STAGE = sizeof "map-" + QUEUE_NAME /* of a stage's name, with its NUL */
};

/* A function that only a command with libleat-link has. Another command refuses all addresses of
 * queues, so it never calls one. */
#ifdef LEAT_CMD_LINK
#define QUEUE_FUNCTION
#else
#define QUEUE_FUNCTION __attribute__((weak))
#endif

struct queue {
    char *engine;
    char stage[QUEUE_STAGE]; /* the name of the queue, after "map-" */
};

/* Whether a text looks like such an address; REDIS:// does, too, since a message about it must not
 * repeat a password. */
bool queue_is_meant(const char *text);

/* Reads an address. Returns NULL, or what is wrong with it. */
const char *queue_read(struct queue *q, const char *text);
void queue_free(struct queue *q);

/* Takes LEAT_LINK_PASSWORD out of the environment, also where /proc shows a job the environment
 * with which this process began. */
void queue_hide_password(void);

/* Says why the engine cannot be used. */
const char *queue_error(const struct queue *q, int error);
