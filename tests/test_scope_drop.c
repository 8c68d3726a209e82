/* test_scope_drop.c: what drop functions get, and what they may do while their scope closes. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

static leat_scope *closing;
static leat_chan *first;
static _Atomic int dropped, left;

static void drop_and_look(void *item)
{
    (void)item;
    CHECK(leat_chan_closed(first));
    atomic_fetch_add(&dropped, 1);
}

static leat_chan *make(leat_drop_fn *drop)
{
    leat_chan *ch = leat_chan_open(
        closing, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1, .drop = drop });
    CHECK(ch);
    CHECK_IS(0, leat_try_send(ch, &(int){ 1 }));
    return ch;
}

static void drop_into_a_new_channel(void *item)
{
    drop_and_look(item);
    make(atomic_fetch_sub(&left, 1) > 1 ? drop_into_a_new_channel : drop_and_look);
}

/* Nothing is freed before the items have gone, also those in channels that drop functions make. */
static int drops_into_new_channels(void *arg)
{
    (void)arg;
    for (int channels = 1; channels <= 3; channels++) {
        atomic_store(&dropped, 0);
        atomic_store(&left, 5);
        closing = leat_scope_open(LEAT_NEVER);
        first = make(drop_into_a_new_channel);
        for (int i = 1; i < channels; i++)
            make(drop_and_look);
        CHECK_IS(0, leat_close(first));
        CHECK_IS(0, leat_scope_close(closing));
        CHECK_IS(5 + channels, dropped);
    }
    return 0;
}
ON_WORKERS(drops_into_new_channels);

struct wide {
    _Alignas(16) char c[48];
};

static void drop_wide(void *item)
{
    CHECK_IS(0, (uintptr_t)item % _Alignof(struct wide));
    atomic_fetch_add(&dropped, 1);
}

/* Of a full buffer, and of one that is freed. */
static int drops_aligned_items(void *arg)
{
    (void)arg;
    static const leat_buffer buffers[] = { LEAT_FIXED, LEAT_DROPPING, LEAT_SLIDING, LEAT_PROMISE };
    for (int i = 0; i < 4; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(struct wide),
                                                             .capacity = 3,
                                                             .drop = drop_wide,
                                                             .buffer = buffers[i] });
        int sent = 0;
        atomic_store(&dropped, 0);
        while (sent < 4 && leat_try_send(ch, &(struct wide){ { 0 } }) == 0)
            sent++;
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(buffers[i] == LEAT_FIXED ? 3 : 4, sent);
        CHECK_IS(sent, dropped);
    }
    return 0;
}
ON_WORKERS(drops_aligned_items);

static void drop_into_the_first(void *item)
{
    CHECK_IS(0, leat_try_send(first, item));
}

static int copy_number(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return 0;
}

/* So do outputs that a stage has not delivered. */
static int drops_outputs_of_a_stage(void *arg)
{
    (void)arg;
    static const int items[] = { 1, 2, 3 };
    atomic_store(&dropped, 0);
    closing = leat_scope_open(LEAT_NEVER);
    first = leat_chan_open(
        closing,
        &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 3, .drop = drop_and_look });
    leat_chan *in = leat_to_chan(closing, items, sizeof(int), 3, NULL);
    CHECK(leat_pipeline(
        closing, in,
        &(leat_pipeline_spec){
            .n = 3, .run = copy_number, .out_size = sizeof(int), .drop = drop_into_the_first }));
    WAIT_UNTIL(leat_chan_len(in) == 0);
    CHECK_IS(0, leat_scope_cancel(closing));
    CHECK_IS(0, leat_scope_close(closing));
    CHECK(dropped <= 3);
    return 0;
}
ON_WORKERS(drops_outputs_of_a_stage);

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void drop_into_a_new_task(void *item)
{
    (void)item;
    CHECK_IS(0, leat_go(closing, do_nothing, NULL));
}

static int start_from_a_drop_function(void *arg)
{
    (void)arg;
    closing = leat_scope_open(LEAT_NEVER);
    make(drop_into_a_new_task);
    return leat_scope_close(closing);
}

/* The scope has waited for its tasks already, and is about to be freed. */
static void starting_a_task_ends_the_program(void **state)
{
    (void)state;
    int ends[2], status;
    char said[4096];
    CHECK_IS(0, pipe(ends));
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        leat_main_with(start_from_a_drop_function, NULL, &(leat_options){ .workers = 1 });
        _exit(0);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    CHECK(strstr(said, "leat: a drop function"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starting_a_task_ends_the_program),
        TESTS_ON_WORKERS(drops_into_new_channels),
        TESTS_ON_WORKERS(drops_aligned_items),
        TESTS_ON_WORKERS(drops_outputs_of_a_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
