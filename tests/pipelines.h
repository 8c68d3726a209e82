/* pipelines.h: for the tests of pipelines: one interface to all ways to run a function, and
 * counters of what is in flight that do not ask the stage. */
#pragma once

#include "support.h"

/* How the function runs. The last three are asynchronous: results end within the call (INSIDE), by
 * a timer (LATE), or in a thread that leat did not start (ELSEWHERE). */
enum way { ON_TASKS, ON_TASKS_MANY, ON_THREADS, ON_THREADS_MANY, INSIDE, LATE, ELSEWHERE, WAYS };

static const char *const way_names[] = { "tasks",           "tasks, many",   "threads",
                                         "threads, many",   "async, inside", "async, late",
                                         "async, elsewhere" };

struct trial {
    enum way way;
    unsigned n, window;
    int unordered;
    unsigned outputs; /* per input */
    int items;
    bool together; /* no function ends before n have run at once */
    leat_scope *scope;
    leat_chan *in, *out;
    /* sent: completed sends; asked: begun receives. At least sent - asked are in flight. */
    _Atomic int sent, asked, running, peak;
    _Atomic int dropped_in, dropped_out, ran;
    leat_chan *elsewhere; /* carries results to the foreign thread */
    struct foreign thread;
};

struct output {
    int input, number;
};

static void runs(struct trial *t)
{
    int now = atomic_fetch_add(&t->running, 1) + 1, peak = atomic_load(&t->peak);
    CHECK(now <= (int)t->n);
    while (now > peak && !atomic_compare_exchange_weak(&t->peak, &peak, now)) {
    }
    atomic_fetch_add(&t->ran, 1);
}

static void ran(struct trial *t)
{
    atomic_fetch_sub(&t->running, 1);
}

static void run_together(struct trial *t)
{
    runs(t);
    if (t->together)
        WAIT_UNTIL(atomic_load(&t->peak) == (int)t->n || leat_cancelled(NULL));
    ran(t);
}

static int make_one(void *arg, const void *in, void *out)
{
    struct output output = { *(const int *)in, 0 };
    run_together(arg);
    memcpy(out, &output, sizeof output);
    return 0;
}

static int make_many(void *arg, const void *in, leat_emit *emit)
{
    struct trial *t = arg;
    run_together(t);
    for (unsigned i = 0; i < t->outputs; i++) {
        struct output output = { *(const int *)in, (int)i };
        if (leat_emit_item(emit, &output) < 0)
            atomic_fetch_add(&t->dropped_out, 1);
    }
    return 0;
}

static void add_and_end(struct trial *t, leat_result *result, int input)
{
    for (unsigned i = 0; i < t->outputs; i++) {
        struct output output = { input, (int)i };
        int error = leat_result_add(result, &output);
        CHECK(error == 0 || error == -ECANCELED);
        if (error)
            atomic_fetch_add(&t->dropped_out, 1);
    }
    ran(t);
    CHECK_IS(0, leat_result_end(result, 0));
}

struct pending {
    leat_timer timer;
    struct trial *trial;
    leat_result *result;
    int input;
};

static void end_late(leat_timer *timer, int status)
{
    (void)status;
    struct pending *p = (struct pending *)timer;
    struct trial *t = p->trial;
    if (t->together && atomic_load(&t->peak) < (int)t->n && !leat_cancelled(t->scope)) {
        CHECK_IS(0, leat_after_func(timer, LEAT_MS / 4, end_late));
        return;
    }
    add_and_end(t, p->result, p->input);
    free(p);
}

static int start_async(void *arg, const void *in, leat_result *result)
{
    struct trial *t = arg;
    runs(t);
    if (t->way == INSIDE) {
        add_and_end(t, result, *(const int *)in);
        return 0;
    }
    struct pending *p = malloc(sizeof *p);
    *p = (struct pending){ LEAT_TIMER(t->scope), t, result, *(const int *)in };
    if (t->way == LATE)
        CHECK_IS(0, leat_after_func(&p->timer, (p->input % 3) * LEAT_US * 50, end_late));
    else
        CHECK_IS(0, leat_try_send(t->elsewhere, &p));
    return 0;
}

/* The foreign thread. Where it gets several results at once, it ends the last first. */
static int end_elsewhere(void *arg)
{
    struct trial *t = arg;
    struct pending *p[4];
    for (int64_t n; (n = leat_recv_many(t->elsewhere, p, 4, LEAT_NEVER)) > 0;)
        while (n-- > 0) {
            if (t->together)
                WAIT_UNTIL(atomic_load(&t->peak) == (int)t->n || leat_cancelled(t->scope));
            add_and_end(t, p[n]->result, p[n]->input);
            free(p[n]);
        }
    return 0;
}

static struct trial *trial_of_drops;

static void drop_input(void *item)
{
    (void)item;
    atomic_fetch_add(&trial_of_drops->dropped_in, 1);
}

static void drop_output(void *item)
{
    (void)item;
    atomic_fetch_add(&trial_of_drops->dropped_out, 1);
}

static leat_pipeline_spec spec_of(struct trial *t)
{
    bool many = t->way == ON_TASKS_MANY || t->way == ON_THREADS_MANY;
    bool one = t->way == ON_TASKS || t->way == ON_THREADS;
    if (one)
        t->outputs = 1;
    return (leat_pipeline_spec){ .n = t->n,
                                 .window = t->window,
                                 .run = one ? make_one : NULL,
                                 .run_many = many ? make_many : NULL,
                                 .start = one || many ? NULL : start_async,
                                 .arg = t,
                                 .out_size = sizeof(struct output),
                                 .room = t->outputs ? t->outputs : 1,
                                 .blocking = t->way == ON_THREADS || t->way == ON_THREADS_MANY,
                                 .unordered = t->unordered,
                                 .drop = drop_output };
}

static void trial_open(struct trial *t)
{
    snprintf(check_note, sizeof check_note, "%s, n = %u, window = %u, %sordered, %u outputs",
             way_names[t->way], t->n, t->window, t->unordered ? "un" : "", t->outputs);
    trial_of_drops = t;
    t->scope = leat_scope_open(LEAT_NEVER);
    t->in =
        leat_chan_open(t->scope, &(leat_chan_spec){ .item_size = sizeof(int), .drop = drop_input });
    if (t->way == ELSEWHERE) {
        t->elsewhere = leat_chan_make(NULL, sizeof(struct pending *), 1000);
        foreign_start(&t->thread, end_elsewhere, t);
    }
    leat_pipeline_spec spec = spec_of(t);
    t->out = leat_pipeline(t->scope, t->in, &spec);
    CHECK(t->out);
}

static void trial_close(struct trial *t)
{
    CHECK_IS(0, leat_scope_close(t->scope));
    CHECK_IS(0, t->running);
    if (t->way == ELSEWHERE) {
        CHECK_IS(0, leat_close(t->elsewhere));
        CHECK_IS(0, foreign_join(&t->thread));
        CHECK_IS(0, leat_chan_unref(t->elsewhere));
    }
}
