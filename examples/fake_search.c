/* fake_search: this go block, which a text on core.async's state machines takes apart,
 *
 *     (defn fake-search [kind]
 *       (fn [c query]
 *         (go
 *           (<! (timeout (rand-int 100)))
 *           (>! c [kind query]))))
 *
 * as a struct and a step function. The struct is what that text calls the state-machine's array: it
 * holds what must last over a wait. The step function returns where it waits, and continues there
 * when it is called again. */
#include <leat/leat.h>

#include <stdio.h>
#include <stdlib.h>

struct hit {
    const char *kind, *query;
};

struct search {
    leat_block block;
    leat_alarm alarm;
    leat_chan *out;
    struct hit hit;
};

static int fake_search(leat_block *b)
{
    struct search *me = (struct search *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, rand() % 100 * LEAT_MS, &me->alarm);
    LEAT_AWAIT_SEND(b, me->out, &me->hit);
    LEAT_END(b);
}

static int run(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *c = leat_chan_of(s, struct hit, 0);
    struct search web = { .out = c, .hit = { "web", "clojure" } };
    leat_go_block(s, &web.block, fake_search);

    struct hit hit;
    if (leat_recv(c, &hit) == 0)
        printf("[%s %s]\n", hit.kind, hit.query);
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
