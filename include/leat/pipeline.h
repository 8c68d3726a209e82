/* leat/pipeline.h: stages: a function over the items of a channel, several items at a time.
 *
 *     leat_chan *pages = leat_pipeline(s, urls, &(leat_pipeline_spec){
 *         .n = 3, .run = fetch, .out_size = sizeof(struct page) });
 *     leat_chan *words = leat_pipeline(s, pages, &(leat_pipeline_spec){
 *         .n = 2, .run_many = split, .room = 100, .out_size = sizeof(struct word) });
 *     for (struct word w; leat_recv(words, &w) == 0;) …
 *
 * Stages are core.async's pipeline, pipeline-blocking and pipeline-async, but keep their bound: a
 * stage takes an item from the input only with a permit, and the permit is free again when the
 * item's last output has been delivered.
 *
 *     in ──▶ [permit] ──▶ n at a time: run ──▶ [in order] ──▶ out
 *               ▲                                   │
 *               └───────────────────────────────────┘
 *
 *  - At most `n` items run at once. If there are n items, and n tasks can run, n items run.
 *  - At most `window` items (0: n) are in flight: taken and not yet delivered. An item is delivered
 *    when the output channel has its last output, in the buffer or at a receiver. An item without
 *    outputs counts as delivered when its turn is over. So the stage takes nothing while the
 *    consumer stalls.
 *  - If outputs are in order and the window is n, a slow item holds up the items after it: they
 *    have run, and wait with their permits. With a larger window, up to window - n more items
 *    continue meanwhile, still n at a time.
 *
 * Which function. Set one of these:
 *  - run makes one output of an input.
 *  - run_many makes any number of outputs, by leat_emit_item. Both functions run on n tasks and may
 *    wait. With `blocking` they run on n OS threads and may block in the system.
 *  - start begins the work and returns at once. Any party then gives the outputs and the end to a
 *    leat_result, during the call or later. One task calls `start` for each input. So `start` must
 *    not wait: meanwhile the stage takes no input.
 *
 * Several outputs. All outputs of one input stay together, and the input is in flight until the
 * last one is delivered. Until it is their turn, `room` outputs of each input are kept. If an input
 * has more, leat_emit_item waits until all earlier inputs are delivered, and then for the consumer.
 * leat_result_add must not wait: it allocates more memory.
 *
 * The end. When the input is closed and everything is delivered, the stage ends its output as
 * `ending` says. If another party closes the output, the stage takes no more inputs, and
 * leat_emit_item returns -ECANCELED to the functions that run: a function that then returns
 * -ECANCELED has not failed. If the scope is cancelled, the stage and the functions' waits end at
 * once, and the output is cut short, as after a failure that cancels. If the input was cut short,
 * the stage delivers what it has taken, and then cuts the output short.
 *
 * Dropping. The function owns the input that it is given. A `run` that fails must leave no output.
 * Inputs that were taken and not given to the function go to the input channel's drop function.
 * Outputs that were not delivered go to the output channel's drop function, at the latest when the
 * scope ends. A stage counts as a task of its scope: closing the scope waits for it.
 *
 * All memory, slots for `window` items, is allocated when the stage is made. Only
 * leat_result_add allocates later. */
#ifndef LEAT_PIPELINE_H
#define LEAT_PIPELINE_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/flow.h>
#include <leat/scope.h>
#include <leat/transform.h>

/* Where the function `start` puts the outputs of one input. */
typedef struct leat_result leat_result;

/* Starts the work for an input. `in` is valid until leat_result_end. Returns 0; or an error, and
 * then no party has called or will call leat_result_end for this input. */
typedef int leat_start_fn(void *arg, const void *in, leat_result *result);

/* Adds an output, which is copied. Never waits. One party at a time may call it for a result.
 * Returns 0; -ENOMEM when memory for more has run out; -ECANCELED when the stage has stopped: in
 * both cases the item is still the caller's. -EINVAL for a NULL result, or a NULL item of some
 * bytes. */
LEAT_API int leat_result_add(leat_result *result, const void *item);

/* Ends an input: `status` is 0 or an error. Must be called exactly once for every input, even when
 * the stage has stopped: the scope waits for it. Any task, block, callback, timer or thread may
 * call it, and so may the function `start` itself. `result` must not be used after it. Never waits.
 * Returns 0; -EINVAL for NULL. */
LEAT_API int leat_result_end(leat_result *result, int status);

/* What happens to an input that fails: its function returns a value other than 0 (such as
 * LEAT_ENOUGH), or leat_result_end gets one. */
typedef enum leat_failing {
    LEAT_FAIL_CANCELS, /* its value is the stage's verdict, as for a task: the scope is cancelled */
    LEAT_FAIL_DROPS,   /* its outputs are dropped, except those sent already; the stage continues */
    /* Every output begins with a leat_outcome. A failed input's outputs are dropped, except
     * those sent already, and one more is sent: a leat_outcome with its status, and zeros. */
    LEAT_FAIL_TELLS
} leat_failing;

/* The stage writes it at the head of each output, over anything that the function writes there.
 * out_size includes it. */
typedef struct leat_outcome {
    uint64_t index; /* of the input, counted from 0 */
    int status;     /* 0, or the value with which the input failed */
} leat_outcome;

/* Describes a stage. A field that is 0 has its default; n and one function must be set. */
typedef struct leat_pipeline_spec {
    unsigned n;      /* items that run at once, 1 to 65,536 */
    unsigned window; /* items in flight, n to 1,048,576; 0: n */

    leat_map_fn *run; /* set one of these three */
    leat_mapcat_fn *run_many;
    leat_start_fn *start;
    void *arg;       /* given to the function */
    size_t out_size; /* bytes of an output, 0 to 1 MiB */
    size_t room;     /* outputs of one input that fit until its turn; run_many and start; 0: 1 */

    int blocking;  /* not 0: run and run_many are called on OS threads; not for start */
    int unordered; /* not 0: outputs are sent as soon as their input has ended */
    leat_failing failing;

    /* The output channel: an existing one, whose items have out_size bytes, or, with NULL, a new
     * one of the scope with this capacity (in items) and drop function. */
    leat_chan *out;
    size_t capacity;
    leat_drop_fn *drop;
    leat_ending ending; /* what the stage does with the output when it ends */
    const char *name;   /* of the new channel, the stage and its tasks; not copied */
} leat_pipeline_spec;

/* Puts a stage behind `in` and returns its output channel, so stages chain: if `in` is NULL, the
 * result is NULL. `spec` is copied. A party that may call leat_go for the scope may call this.
 * Returns NULL when memory or threads have run out, or an argument is wrong; then nothing has
 * been taken and nothing runs. */
LEAT_API leat_chan *leat_pipeline(leat_scope *scope, leat_chan *in, const leat_pipeline_spec *spec);

#endif
