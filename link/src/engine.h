/* engine.h: a connection to the engine. One task uses it; another may only end its waits by
 * lk_engine_shut.
 *
 * Bounds of memory: a reply has LK_REPLY_MOST bytes at most, since it is read into memory as a
 * whole. Its arrays announce PARTS_MOST parts at most, all together, since hiredis makes room for
 * all parts that an array announces, and some 64 bytes for each part that comes. hiredis itself
 * refuses an array within more than seven others.
 *
 * Requests gather in `request`, are written at once, and answered in order. When the connection
 * fails, the caller connects again (lk_engine_return) and repeats what has no reply yet: each
 * script may run twice with the same arguments. */
#pragma once

#include "keys.h"
#include "line.h"
#include "link.h"
#include "scripts.h"

#include <hiredis/hiredis.h>
#include <pthread.h>

enum { LK_REPLY_MOST = 128 << 20 };

#if HIREDIS_MAJOR >= 1
typedef size_t lk_elements;
#else
typedef int lk_elements;
#endif

struct lk_engine {
    const leat_link *link;
    struct lk_line line; /* closed: away. `lock` guards changes, and the other task's use */
    pthread_mutex_t lock;
    leat_scope *connecting; /* NULL: it does not connect. Guarded by `lock`, as `shut` is */
    bool shut;
    redisReader *reader;
    redisReplyObjectFunctions functions; /* of the reader; `array` is its own function for arrays */
    void *(*array)(const redisReadTask *, lk_elements);
    size_t received;   /* bytes since the last reply */
    size_t parts;      /* of arrays since then */
    size_t reply_size; /* about the bytes of the last reply */
    bool refused;      /* a reply had too many parts */
    bool greeted;      /* connected: a reply may be slow as long as bytes come */
    struct lk_request request;
    char sha[LK_SCRIPTS][41];
    int64_t away_since; /* 0: it answers */
    int64_t pause;      /* before the next attempt */
    bool reported;      /* that it is away */
    char why[128];      /* the last reason that it gave for not answering */
    char bytes[1 << 14];
};

void lk_engine_init(struct lk_engine *engine, const leat_link *link);
void lk_engine_free(struct lk_engine *engine);

/* Connects, sends the user and the password, checks the engine's settings, and loads the scripts.
 * Reports why it fails. 0; -EACCES, -ENOTSUP or -EPROTO: another try would fail too; or another
 * error. */
int lk_engine_connect(struct lk_engine *engine, int64_t deadline);

/* Whether another try may succeed after this error. */
bool lk_engine_may_return(int error);

/* Tries to connect, with pauses, until it succeeds or the channel `stop` (or NULL) closes. 0;
 * -EHOSTDOWN when the engine was away for longer than the link allows; -ESHUTDOWN; -ECANCELED; or
 * an error that will stay. */
int lk_engine_return(struct lk_engine *engine, leat_chan *stop);

/* Notes that a request has succeeded. */
void lk_engine_is_there(struct lk_engine *engine);

/* Begins a call of a script: `n` words must follow. */
void lk_engine_call(struct lk_engine *engine, enum lk_script script, const struct lk_keys *keys,
                    size_t n);

/* Writes the requests. 0 or an error. */
int lk_engine_send(struct lk_engine *engine);

/* Receives the next reply, which the caller frees. A reply that has begun may go on after the
 * deadline, as long as no lease passes without a byte. 0; -ESTALE when a script says that the run
 * was opened again or removed; -EIO when it says that items are lost; -EAGAIN when the engine
 * cannot answer now; -EMSGSIZE for more than LK_REPLY_MOST bytes; or another error. After an error
 * there is no reply. */
int lk_engine_reply(struct lk_engine *engine, redisReply **reply, int64_t deadline);

/* Sends the requests, and receives the reply of the first. */
int lk_engine_ask(struct lk_engine *engine, redisReply **reply, int64_t deadline);

/* Receives the next reply, which must be a number, within a lease. 0, -EPROTO, or as
 * lk_engine_reply. */
int lk_engine_expect_number(struct lk_engine *engine);

/* Whether some bytes of a later reply have come with the last one. */
bool lk_engine_has_more(const struct lk_engine *engine);

/* Closes the connection. */
void lk_engine_leave(struct lk_engine *engine);

/* Ends the task's waits now, and all later ones, with -ESHUTDOWN. From any party. */
void lk_engine_shut(struct lk_engine *engine);
