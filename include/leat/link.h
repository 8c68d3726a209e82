/* leat/link.h: a stage over several machines. For the library libleat-link.
 *
 *     // Here: a stage whose function runs elsewhere.
 *     leat_link *link;
 *     leat_link_open(scope, "redis://queue.example", NULL, &link);
 *     leat_chan *thumbs = leat_remote(scope, photos, &(leat_remote_spec){
 *         .link = link, .stage = "resize", .run = "holiday-2026", .n = 64, .window = 4096,
 *         .out_size = sizeof(struct thumb) });
 *
 *     // Elsewhere, in any number of processes:
 *     leat_serve_stage(link, &(leat_serve_stage_spec){
 *         .stage = "resize", .n = 4, .run = resize });
 *
 * The two sides meet at an engine: a Redis of version 6.2 or later. It keeps the items that the
 * stage has taken and not yet delivered. The side with the channels is the near end; a process that
 * serves is a far end.
 *
 *     in ──▶ [window] ──▶ engine ──▶ [n leases] ──▶ far ends: run ──▶ engine ──▶ [in order] ──▶ out
 *
 * Promises.
 *  1. At most n items of a run are worked on at once, over all far ends together; if there are n
 *     items and n places, exactly n are. There is one exception. If a far end is cut off from the
 *     engine, or stopped, for longer than its lease, it still works on its items, although others
 *     may have them by then. The far end notices when it next renews its leases: it cancels the
 *     scopes of these items, and their results do not count.
 *  2. The function runs at least once for each item. Its result is delivered once, and in order,
 *     while the near end lives.
 *  3. A near end that ends early, or is killed, can be started again with the same run and the same
 *     inputs. It skips the inputs that the engine has already, and goes on with the first result
 *     that was not reported as used. A result is used when the receiver asks for the next result
 *     (if `out` has a capacity, for the result that many later), or when a window of items after it
 *     have failed and were dropped. The near end reports this to the engine after an eighth of the
 *     window, or 20 ms. So a few results may come twice: leat_outcome's index shows which. Of two
 *     near ends with the same run, the one that was opened first ends with -ESTALE. The output of a
 *     remote stage is not the same inputs again, since it does not begin anew: if it goes straight
 *     into a second one, that stage skips results that it has never seen, and loses them.
 *  4. A far end that is killed loses nothing: when its lease has ended, others get its items. A far
 *     end that ends by itself gives them back at once.
 *  5. An engine that is killed and restarted loses nothing if it writes to its disk before it
 *     answers (appendfsync always). With everysec it may lose what it answered in the last two
 *     seconds: then the near end fails, and can be started again. leat_link_open reads the engine's
 *     settings, and refuses an engine that may lose more, or evict items.
 *  6. While the engine is away, both ends wait, up to `away`. Cancelling and deadlines end every
 *     wait as anywhere in leat.
 *  7. If an item has failed `tries` times, or its far ends have died that often, it counts as
 *     failed, and is not tried again.
 *  8. The near end takes at most `window` items from `in` that it has not delivered. A far end
 *     takes no item without a place for it. So the engine's memory is bounded: for each item of the
 *     window about the bytes of the item and of its result, and 400 more.
 *
 * Anyone who can write to the engine can give work to the far ends, and anyone who can read from it
 * sees all items. So give the engine a password, and do not open it to the world. An engine that
 * lies can make results wrong and a stage fail. A reply of 128 MiB, the largest that leat reads,
 * takes about three times that memory for a moment. */
#ifndef LEAT_LINK_H
#define LEAT_LINK_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/flow.h>
#include <leat/pipeline.h>
#include <leat/scope.h>

/* ---- bytes ---- */

/* Bytes that a function appends to. */
typedef struct leat_bytes leat_bytes;

/* Appends `n` bytes, which are copied. `data` may be NULL if n is 0.
 * Returns 0; -EINVAL for a NULL; -EMSGSIZE when the item or result would become too large; -ENOMEM.
 * After an error the bytes are as they were. */
LEAT_API int leat_bytes_add(leat_bytes *bytes, const void *data, size_t n);

/* ---- the engine ---- */

typedef struct leat_link leat_link;

/* Called in a task of leat with a message for the user: the engine is away or back, or why a link,
 * a stage or a far end fails. `message` is one line without a line feed, names no password, and is
 * valid during the call. Several parties may call the function at the same time. */
typedef void leat_link_tell_fn(void *arg, const char *message);

/* Describes a link. A field that is 0 has its default. All texts are copied. */
typedef struct leat_link_spec {
    /* Each replaces the one in the address. If none is set in either place: LEAT_LINK_USER and
     * LEAT_LINK_PASSWORD in the environment; else no password. */
    const char *user, *password;
    const char *prefix; /* of all keys in the engine, up to 64 bytes; NULL: "leat:" */
    /* How long a far end may be silent before its items are given to others, in nanoseconds, 100 ms
     * to 24 hours; 0: 5 s. For the far ends that use this link. While a far end sends or
     * receives an item or a result of several MiB, it may be silent for one lease for each of these
     * MiB. So the line must carry a MiB in a lease. */
    int64_t lease;
    int64_t away; /* nanoseconds that the engine may be away before a stage fails; 0: LEAT_NEVER */
    int trust;    /* not 0: the engine's settings are not checked */
    leat_link_tell_fn *tell; /* NULL: messages are dropped */
    void *arg;               /* given to `tell` */
    /* For rediss:// only: paths of files in the PEM format, which leat reads once, when the link
     * opens. `ca` has the certificates of the authorities that leat trusts; NULL: LEAT_LINK_CA in
     * the environment, else the system's. `cert` has the certificate that leat shows to the engine,
     * perhaps followed by those of its authorities, and `key` has its key without a passphrase. Set
     * both or none; NULL: LEAT_LINK_CERT and LEAT_LINK_KEY in the environment, else none. */
    const char *ca, *cert, *key;
} leat_link_spec;

/* Opens a link to the engine at `url`:
 *
 *     redis://HOST   redis://HOST:PORT/DATABASE   redis+unix:/run/redis.sock
 *     rediss://HOST  rediss://HOST:PORT/DATABASE
 *
 * HOST is a name or an address, with an IPv6 address in brackets. The port is 6379 and the database
 * 0, unless given. USER:PASSWORD@ may stand before HOST, with each character that is no letter or
 * digit written as % and two hexadecimal digits. But every user of the machine can see it on a
 * command line, and not in the environment. With rediss:// the connection has TLS, of version 1.2
 * at least, and leat checks the engine's certificate: its authority, its time, and that it is for
 * HOST. This check cannot be turned off. leat loads OpenSSL's libssl for it. Without TLS nothing is
 * encrypted: use it only within a network that you trust.
 *
 * Connects once, to check the engine; stages and far ends make their own connections. `scope` owns
 * the link, which must stay open as long as a stage or far end uses it. `spec` may be NULL. For
 * tasks and threads. The link is written to *link.
 * Returns 0; -EINVAL for a NULL, for a wrong address or value, or for a file of `ca`, `cert` or
 * `key` that cannot be used; -ENOTSUP when the engine is older than 6.2, when it may lose what it
 * has answered (appendonly is not "yes", appendfsync is "no", maxmemory-policy evicts), when it
 * refuses to show its settings, or when the system has no libssl for rediss://; -EACCES when it
 * refuses the password, or when either side refuses the other's certificate; -EPROTO when it is no
 * Redis, or speaks no TLS with rediss://; -ETIMEDOUT when it has not answered within 5 s; -EAGAIN
 * when it cannot answer now, as while it loads its data; -ENOMEM; -ECANCELED; -EDEADLK where the
 * caller must not wait; or an error of leat_connect. */
LEAT_API int leat_link_open(leat_scope *scope, const char *url, const leat_link_spec *spec,
                            leat_link **link);

/* Removes all that the engine has of a run: items, results and leases. For a run that will not be
 * opened again. Far ends that work on its items notice when they next renew their leases. A near
 * end of the run that is still open ends with -ESTALE. For tasks and threads.
 * Returns 0; -ENOENT when the engine has no such run; -EINVAL for a NULL or a wrong name; or an
 * error of leat_link_open. */
LEAT_API int leat_link_forget(leat_link *link, const char *stage, const char *run);

/* ---- the near end ---- */

/* Writes the bytes of an item to `to`. Returns 0, or an error with which the item fails. */
typedef int leat_pack_fn(void *arg, const void *item, leat_bytes *to);

/* Makes an output from the `size` bytes at `data`, which are aligned as malloc aligns memory, and
 * valid during the call. With LEAT_FAIL_TELLS the output begins with a leat_outcome, which leat has
 * written already. Returns 0, or an error with which the item fails; then it has made no output. */
typedef int leat_unpack_fn(void *arg, const void *data, size_t size, void *out);

/* Describes a remote stage. A field that is 0 has its default; link, stage, run and n must be
 * set. */
typedef struct leat_remote_spec {
    leat_link *link;
    /* The name that far ends serve, and the name of this run of the stage: up to 128 bytes each,
     * letters, digits and any of "._-+". Not copied: constants, or valid until the scope closes. */
    const char *stage, *run;
    unsigned n;      /* items that run at once, on all machines together: 1 to 65,536 */
    unsigned window; /* items in flight, n to 1,048,576; 0: four times n, but at least 4,096 */
    /* Makes bytes from an item. NULL: the item as it is in memory; then all machines must be of one
     * type. */
    leat_pack_fn *pack;
    /* Makes an output from bytes. NULL: the bytes are the output, after the leat_outcome if there
     * is one; the rest of the output is 0. */
    leat_unpack_fn *unpack;
    void *arg;             /* given to `pack` and `unpack` */
    size_t in_size;        /* the item size of `in`, in bytes */
    leat_drop_fn *in_drop; /* called for each item when its bytes are made, or not needed */
    size_t out_size;       /* bytes of an output, 0 to 1 MiB */
    size_t max_bytes;      /* of an item or a result; a larger one fails; up to 64 MiB; 0: 1 MiB */
    unsigned tries;        /* how often an item is tried; 0: 5 */
    int unordered;         /* not 0: outputs are sent as they come */
    leat_failing failing;
    /* As in leat_pipeline_spec: `capacity` and `drop` are those of a new channel. With `out` they
     * have no effect: an output that cannot be sent goes to that channel's own drop function. */
    leat_chan *out;
    size_t capacity;
    leat_drop_fn *drop;
    leat_ending ending;
} leat_remote_spec;

/* Puts a remote stage behind `in`, and returns its output channel. It is like leat_pipeline: the
 * same rules hold for the end, for dropping and for failures. leat_outcome's status is what the far
 * end's function, pack or unpack returned; or -EOWNERDEAD when the far ends of the item have died;
 * -EMSGSIZE; or -EPROTO when the result has more bytes than out_size.
 *
 * When the input is closed and everything is delivered, the run ends, and far ends forget it. The
 * engine keeps the last few results for a day, for a near end that is started again (promise 3). If
 * a run ends otherwise, it stays in the engine, and far ends work on its items there: open the run
 * again, or remove it (leat_link_forget).
 *
 * The stage can fail, which cancels the scope: with -ESTALE when another near end has opened the
 * run, or the run was removed; -EIO when the engine has lost items, as by a loss of power, and then
 * the same run can be started again; -EHOSTDOWN when the engine was away for longer than the link
 * allows; or an error of leat_link_open, when the engine has changed.
 *
 * A party that may call leat_go for the scope may call this. It never waits.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_chan *leat_remote(leat_scope *scope, leat_chan *in, const leat_remote_spec *spec);

/* ---- the far end ---- */

/* The size of the longest key in bytes, with the 0 at its end. */
enum { LEAT_KEY_MAX = 160 };

/* An item that a far end works on. All of it is valid until the function returns. */
typedef struct leat_far_item {
    const void *data; /* `size` bytes, aligned as malloc aligns memory */
    size_t size;
    const char *run;
    uint64_t index; /* of the item in its run, from 0 */
    unsigned again; /* how many earlier tries of this item have failed or been lost */
    /* The run and the index, as "holiday-2026/17". Each try of an item has the same key, so a
     * function can use it to make its effects elsewhere safe to repeat. */
    const char *key;
} leat_far_item;

/* Works on an item, and appends its result to `result`. Runs in a scope of its own, which is
 * cancelled when another far end has been given the item, or the grace has passed. Returns 0; or a
 * negative errno value, and then the item is tried again or fails. After the scope of the far end
 * was cancelled, -ECANCELED gives the item back, which does not count as a try. */
typedef int leat_far_fn(void *arg, const leat_far_item *item, leat_bytes *result);

/* Describes a far end. A field that is 0 has its default; stage, n and run must be set. */
typedef struct leat_serve_stage_spec {
    const char *stage; /* as in leat_remote_spec */
    unsigned n;        /* places: items that this far end works on at once, 1 to 65,536 */
    leat_far_fn *run;
    void *arg;         /* given to `run` */
    int blocking;      /* not 0: `run` is called on OS threads, and may block in the system */
    size_t stack_size; /* of each task, as for leat_go_sized */
    size_t max_bytes;  /* of a result, up to 64 MiB; a larger one is refused: leat_bytes_add
                          returns -EMSGSIZE; 0: 1 MiB */
    /* How long items may go on after the caller's scope was cancelled, in nanoseconds; then they
     * are cancelled. Results are stored, and items without one are given back at once. If the
     * engine does not answer within a second after the grace, leat gives up. LEAT_NEVER: as long as
     * they take; 0: 10 s. */
    int64_t grace;
} leat_serve_stage_spec;

/* Serves a stage: works on the items of all its runs, in turn, until the caller's scope is
 * cancelled. For tasks and threads. `spec` is copied.
 * Returns -ECANCELED when the caller's scope was cancelled; -EINVAL for a NULL or a wrong value;
 * -EHOSTDOWN when the engine was away for longer than the link allows; -ENOMEM; -EDEADLK where the
 * caller must not wait; or an error of leat_link_open. */
LEAT_API int leat_serve_stage(leat_link *link, const leat_serve_stage_spec *spec);

#endif
