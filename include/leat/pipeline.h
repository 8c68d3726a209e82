/* leat/pipeline.h: stages: a function over the items of a channel, several items at a time.
 *
 *     leat_chan *pages = leat_pipeline(s, urls, &(leat_pipeline_spec){
 *         .n = 3, .run = fetch, .out_size = sizeof(struct page) });
 *     leat_chan *words = leat_pipeline(s, pages, &(leat_pipeline_spec){
 *         .n = 2, .run_many = split, .room = 100, .out_size = sizeof(struct word) });
 *     for (struct word w; leat_recv(words, &w) == 0;) …
 *
 * core.async's pipeline, pipeline-blocking and pipeline-async, with a bound that holds: an item needs a
 * permit before it is taken from the input, and gives it back when its last output has been delivered.
 *
 *     in ──▶ [permit] ──▶ n at a time: run ──▶ [in order] ──▶ out
 *               ▲                                   │
 *               └───────────────────────────────────┘
 *
 *  - At most `n` items run at once, and n do when there are as many and n tasks may run.
 *  - At most `window` items, n unless you say more, are in flight: taken and not yet delivered. An item is
 *    delivered when the output channel has the last of what came of it, in its buffer or at a receiver;
 *    one of which nothing came, when its turn is over. So nothing is taken while the consumer stalls.
 *  - With a window of n, in order, an item that takes long holds up those behind it: they have run and wait,
 *    with their permits. A larger window lets up to window - n more go on meanwhile, still n at a time.
 *
 * Which function: one of
 *  - run: makes one output of an input;
 *  - run_many: none, one or several, by leat_emit_item. Both run on n tasks, and may wait, or, with
 *    `blocking`, on n OS threads, and may block as they like;
 *  - start: starts something, returns at once, and hands outputs and the end to a leat_result, then or later,
 *    from anywhere. It is called on a worker and must not wait.
 *
 * Several outputs. All of one input stay together, and the input is in flight until the last is delivered. There
 * is `room` for some of them until it is their turn. Who puts out more by leat_emit_item waits in it until
 * all before it are delivered, and then for the consumer, as if it sent by itself; leat_result_add, which
 * must not wait, takes more memory.
 *
 * The end. When the input is closed and everything is delivered, the stage closes its output (see `ending`).
 * When the output is closed by somebody else, it takes no more, at once; functions that run are waited for, and
 * learn from leat_emit_item that nobody listens. When the scope is cancelled, it ends at once, and so do
 * their waits; its output is cut short then, as after a failure that cancels. In all these cases every input that was
 * taken and not given to the function goes to the input channel's drop function, and every output that was not
 * delivered to the output's, by the end of the scope at the latest. When the input was cut short, what was taken is
 * delivered, and then the output is cut short. A stage counts as a task of its scope: closing waits for it.
 *
 * All memory is allocated at creation, slots for `window` items, but for what leat_result_add takes. */
#ifndef LEAT_PIPELINE_H
#define LEAT_PIPELINE_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/flow.h>
#include <leat/scope.h>
#include <leat/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where an asynchronous function puts what comes of one input. */
typedef struct leat_result leat_result;

/* Starts what becomes of an input. `in` stays valid until leat_result_end. What it returns: 0, or an error;
 * then it has not called, and nobody will call, leat_result_end for this input. */
typedef int leat_start_fn(void *arg, const void *in, leat_result *result);

/* Adds an output, copied; never waits. One party at a time for each result.
 * Returns 0; -ENOMEM when there is no room for more; -ECANCELED when the stage has stopped, so that nobody
 * will have it: in both cases the item is still the caller's. -EINVAL for a NULL result, or item of some
 * bytes. */
LEAT_API int leat_result_add(leat_result *result, const void *item);

/* Says that this input is done with, and how: 0, or an error. Exactly once for every input, also when the
 * stage has stopped: the scope waits for it. From any task, block, callback, timer or thread, also from within
 * the function itself. `result` must not be used after it. Never waits.
 * Returns 0, or -EINVAL for NULL. */
LEAT_API int leat_result_end(leat_result *result, int status);

/* What becomes of an input whose function returns, or ends with, something other than 0. */
typedef enum leat_failing {
    LEAT_FAIL_CANCELS, /* it becomes the stage's verdict, as a task's: the scope is cancelled */
    LEAT_FAIL_DROPS, /* its outputs fall, but for those already given out, and the stage goes on */
    LEAT_FAIL_TELLS /* every output begins with a leat_outcome; of a failed input the last, and the only one
                          unless some were already given out, is that, and zeros */
} leat_failing;

/* Filled in by the stage at the head of each output; out_size counts it. (The function leaves it out of
 * account: what it writes there is overwritten.) */
typedef struct leat_outcome {
    uint64_t index; /* of the input, counted from 0 */
    int status;     /* 0, or what the function failed with */
} leat_outcome;

/* What a stage is. Zero means the default, except for n, the function, and out_size. */
typedef struct leat_pipeline_spec {
    unsigned n;      /* items that run at once, 1 to 65,536 */
    unsigned window; /* items in flight, n to 1,048,576; 0: n */

    leat_map_fn *run; /* one of these three */
    leat_mapcat_fn *run_many;
    leat_start_fn *start;
    void *arg;       /* what it is called with */
    size_t out_size; /* bytes of an output, to 1 MiB */
    size_t
        room; /* for outputs of one input whose turn it is not yet: run_many and start; 0: for one */

    int blocking;  /* run and run_many: on OS threads */
    int unordered; /* outputs go out as inputs are done with; all of one input stay together */
    leat_failing failing;

    /* The output channel: one that is there already, with items of out_size bytes (before its transform, if it
     * has one: then what falls is not dropped), or a new one of the scope with these properties. */
    leat_chan *out;
    size_t capacity;
    leat_drop_fn *drop;
    leat_ending ending; /* what becomes of it when the input is closed; and at any other end */
    const char *name;   /* of the channel, the stage and its tasks; not copied */
} leat_pipeline_spec;

/* Puts a stage behind `in` and returns its output, so that stages chain; a NULL from one stage is passed on by
 * the next. `spec` is copied. The rules of leat_go say who may call.
 * Returns NULL when memory or threads have run out, or for arguments that cannot be; then nothing has been taken
 * and nothing runs. */
LEAT_API leat_chan *leat_pipeline(leat_scope *scope, leat_chan *in, const leat_pipeline_spec *spec);

#ifdef __cplusplus
}
#endif

#endif
