/* test_many_drop.c: leat_send_many wakes the receivers that it has served before it calls a drop
 * function, which may wait for a lock that one of these holds. */
#include "support.h"

#include "chan/more.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *receive_in_mutex(void *ch)
{
    int x;
    CHECK_IS(0, pthread_mutex_lock(&mutex));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(0, pthread_mutex_unlock(&mutex));
    return NULL;
}

static void drop_in_mutex(void *item)
{
    struct timespec end;
    CHECK_IS(3, *(int *)item);
    CHECK_IS(0, clock_gettime(CLOCK_REALTIME, &end));
    end.tv_sec += 10;
    CHECK_IS(0, pthread_mutex_timedlock(&mutex, &end));
    CHECK_IS(0, pthread_mutex_unlock(&mutex));
}

static void wakes_before_it_drops(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(NULL));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int),
                                                         .capacity = 1,
                                                         .drop = drop_in_mutex,
                                                         .buffer = LEAT_DROPPING });
    pthread_t receiver;
    CHECK_IS(0, pthread_create(&receiver, NULL, receive_in_mutex, ch));
    WAIT_UNTIL(lt_chan_has_receiver(ch));
    CHECK_IS(3, leat_send_many(ch, (int[]){ 1, 2, 3 }, 3, LEAT_NEVER));
    CHECK_IS(0, pthread_join(receiver, NULL));
    CHECK_IS(1, leat_recv_many(ch, (int[1]){ 0 }, 1, LEAT_NOW));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(wakes_before_it_drops) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
