/* test_sim_link.c: a stage over several far ends and a simulated engine (link_server.h), with near
 * ends, far ends and connections that go at any time.
 *
 * For every seed: each index has one result in the engine; a near end delivers in order and without
 * a gap; there are never more than n leases; all ends, and then the engine has nothing left. */
#include "link_server.h"

enum {
    SEEDS = 600,
    FARS = 3,
    FIRST_NEAR = FARS,
    NEARS = PARTIES - FARS,
    ITEMS = 60,
    PLACES = 6 /* of a far end, at most */
};

/* In virtual time: by then everything has ended. */
#define LONG_AFTER (3600 * LEAT_S)

static const char stage[] = "resize", run_name[] = "holiday";

struct world;

struct far {
    struct world *world;
    unsigned party;
    leat_scope *scope; /* NULL: not now */
};

struct near {
    struct world *world;
    unsigned party;
    leat_scope *scope;
    leat_chan *in;
    uint64_t first, next; /* first: UINT64_MAX before there is one */
    bool seen[ITEMS], whole, killed;
};

struct world {
    struct server server;
    bool calm, unordered, blocking;
    bool timely; /* a far end without a fault renews in time */
    unsigned events;
    unsigned items, n, window, capacity, tries, far_count;
    int64_t lease;
    uint64_t chance;
    struct far fars[FARS];
    struct near nears[NEARS];
    unsigned near_count, nears_alive, running, killed; /* the last near end that was killed */
    leat_chan *ended;                                  /* gets a near end that has ended */
    uint64_t next;                                     /* the first index that was not received */
    bool seen[ITEMS], complete, over;
    unsigned results[ITEMS], starts[ITEMS];
};

/* ---- what an item is ---- */

static bool cannot_be_packed(uint64_t index)
{
    return index % 17 == 5;
}

/* How often an item fails. */
static unsigned failures_of(uint64_t index)
{
    return index % 7 == 3 ? (unsigned)(index % 4) : 0;
}

/* How often it is begun where nothing goes wrong. */
static unsigned starts_of(const struct world *world, uint64_t index)
{
    unsigned most = failures_of(index) + 1;
    return cannot_be_packed(index) ? 0 : most < world->tries ? most : world->tries;
}

static uint64_t value_of(uint64_t index)
{
    return index * 31 + 7;
}

struct output {
    leat_outcome outcome;
    uint64_t value;
};

static int pack(void *arg, const void *item, leat_bytes *to)
{
    uint64_t index = *(const uint64_t *)item;
    char more[40] = { 0 };
    (void)arg;
    CHECK_IS(0, leat_bytes_add(to, &index, sizeof index));
    CHECK_IS(0, leat_bytes_add(to, more, index % sizeof more));
    return cannot_be_packed(index) ? -EDOM : 0;
}

static void check_output(const struct world *world, const struct output *output)
{
    uint64_t index = output->outcome.index;
    int status = output->outcome.status;
    CHECK(index < world->items);
    CHECK_IS(status ? 0 : value_of(index), output->value);
    if (cannot_be_packed(index))
        CHECK_IS(-EDOM, status);
    else if (world->calm)
        CHECK_IS(failures_of(index) >= world->tries ? -EIO : 0, status);
    else /* that a far end dies counts as a try */
        CHECK((!status && failures_of(index) < world->tries) || status == -EOWNERDEAD ||
              (status == -EIO && failures_of(index)));
}

/* ---- what the engine has ---- */

static void check_cells(const struct run_keys *run)
{
    unsigned queued[ITEMS] = { 0 };
    for (size_t i = 0; i < run->queue_count; i++)
        queued[run->queue[i]]++;
    for (uint64_t i = 0; i < run->cell_count && i < ITEMS; i++) {
        const struct cell *cell = &run->cells[i];
        CHECK_IS(cell->leased, cell->owner[0] != '\0');
        CHECK_IS(cell->item != NULL, queued[i] + cell->leased);
        CHECK(cell->item || !cell->tries);
    }
}

static void check_engine(struct server *server, const struct run_keys *run)
{
    struct world *world = (struct world *)server; /* its first member */
    CHECK(count_leases(run) <= world->n);
    CHECK(run->delivered <= run->published && run->published <= world->items);
    check_cells(run);
    if (!server->engine.added)
        return;
    const struct entry *new = &run->entries[run->entry_count - 1];
    for (size_t i = 0; i < new->n; i++)
        CHECK_IS(1, ++world->results[strtoul(new->fields[i].name, NULL, 10)]);
}

/* Something that happens costs what one far end has, or less; of all far ends it costs nothing,
 * since an engine that was away lets them come back. */
static void check_starts(const struct world *world)
{
    unsigned more = 0;
    for (unsigned i = 0; i < world->items; i++) {
        unsigned wanted = starts_of(world, i), begun = world->starts[i];
        CHECK(!world->calm || begun == wanted);
        more += begun > wanted ? begun - wanted : 0;
    }
    CHECK(!world->timely || more <= world->events * PLACES);
}

static void check_end(struct world *world)
{
    check_starts(world);
    const struct run_keys *run = run_named(&world->server.engine, run_name);
    CHECK(!run->open && !run->listed && run->expires);
    CHECK_IS(world->items, run->published);
    CHECK_IS(0, run->queue_count);
    for (uint64_t i = 0; i < run->cell_count; i++)
        CHECK(!run->cells[i].item && !run->cells[i].leased && !run->cells[i].tries);
    for (unsigned i = 0; i < world->items; i++) {
        CHECK_IS(1, world->results[i]);
        CHECK(world->seen[i]);
    }
    CHECK(world->unordered || world->next == world->items);
}

/* ---- both ends ---- */

/* NULL: the scope was cancelled. */
static leat_link *open_link(struct world *world, leat_scope *scope, unsigned party)
{
    leat_link *link;
    char url[32];
    snprintf(url, sizeof url, "redis://p%u", party);
    const leat_link_spec spec = { .lease = world->lease, .trust = world->calm };
    for (;;) {
        int error = leat_link_open(scope, url, &spec, &link);
        if (!error)
            return link;
        CHECK(error != -EPROTO && error != -EINVAL && error != -ENOTSUP);
        if (leat_sleep(100 * LEAT_MS) != 0)
            return NULL;
    }
}

static int64_t some_work(struct world *world)
{
    unsigned us = (unsigned)(world->lease / LEAT_US);
    switch (world->calm ? below(&world->chance, 2) : below(&world->chance, 8)) {
    case 0: return 0;
    case 7: return (int64_t)below(&world->chance, 3 * us) * LEAT_US;
    default: return (int64_t)below(&world->chance, us / 4) * LEAT_US;
    }
}

static int work(void *arg, const leat_far_item *item, leat_bytes *result)
{
    struct world *world = ((struct far *)arg)->world;
    uint64_t index, value = value_of(item->index);
    char key[LEAT_KEY_MAX];
    CHECK_IS(sizeof index + item->index % 40, item->size);
    memcpy(&index, item->data, sizeof index);
    CHECK_IS(index, item->index);
    snprintf(key, sizeof key, "%s/%" PRIu64, run_name, index);
    CHECK(strcmp(key, item->key) == 0 && strcmp(item->run, run_name) == 0);
    CHECK(item->again < world->tries);
    world->starts[index]++;
    world->running++;
    CHECK(!world->calm || world->running <= world->n);
    int error = leat_sleep(some_work(world));
    world->running--;
    if (item->again < failures_of(index))
        return -EIO;
    return error ? error : leat_bytes_add(result, &value, sizeof value);
}

static int be_far_end(void *arg)
{
    struct far *far = arg;
    struct world *world = far->world;
    while (!world->over) {
        leat_scope *scope = far->scope = leat_scope_open(LEAT_NEVER);
        leat_link *link = open_link(world, scope, far->party);
        const leat_serve_stage_spec spec = { .stage = stage,
                                             .n = 1 + below(&world->chance, PLACES),
                                             .run = work,
                                             .arg = far,
                                             .blocking = world->blocking,
                                             .grace = world->lease / 2 };
        if (link)
            CHECK_IS(-ECANCELED, leat_serve_stage(link, &spec));
        far->scope = NULL;
        CHECK_IS(0, leat_scope_close(scope));
        world->server.parties[far->party].dead = false;
    }
    return 0;
}

static int feed(void *arg)
{
    struct near *near = arg;
    for (uint64_t i = 0; i < near->world->items; i++) {
        int error = leat_send(near->in, &i);
        if (error)
            return error == -ECANCELED || error == -EPIPE ? 0 : error;
    }
    return leat_close(near->in);
}

static void receive(struct near *near, const struct output *output)
{
    struct world *world = near->world;
    uint64_t index = output->outcome.index;
    check_output(world, output);
    CHECK(!near->seen[index]);
    near->seen[index] = world->seen[index] = true;
    if (world->unordered)
        return;
    if (near->first == UINT64_MAX)
        near->first = near->next = index;
    CHECK(near->first <= world->next);
    CHECK_IS(near->next++, index);
    if (near->next > world->next)
        world->next = near->next;
}

static void deliver(struct near *near, leat_link *link)
{
    struct world *world = near->world;
    struct output output;
    int error;
    near->in = leat_chan_make(near->scope, sizeof(uint64_t), 0);
    CHECK_IS(0, leat_go(near->scope, feed, near));
    leat_chan *out = leat_remote(near->scope, near->in,
                                 &(leat_remote_spec){ .link = link,
                                                      .stage = stage,
                                                      .run = run_name,
                                                      .n = world->n,
                                                      .window = world->window,
                                                      .pack = pack,
                                                      .in_size = sizeof(uint64_t),
                                                      .out_size = sizeof output,
                                                      .tries = world->tries,
                                                      .unordered = world->unordered,
                                                      .failing = LEAT_FAIL_TELLS,
                                                      .capacity = world->capacity });
    CHECK(out);
    while ((error = leat_recv_until(out, &output, leat_after(LONG_AFTER))) == 0) {
        receive(near, &output);
        if (below(&world->chance, 8) == 0)
            leat_sleep(some_work(world));
    }
    CHECK(error == -EPIPE || error == -ECANCELED);
    near->whole = error == -EPIPE;
}

static int be_near_end(void *arg)
{
    struct near *near = arg;
    struct world *world = near->world;
    leat_scope *scope = near->scope = leat_scope_open(LEAT_NEVER);
    leat_link *link = open_link(world, scope, near->party);
    if (link)
        deliver(near, link);
    near->scope = NULL;
    int error = leat_scope_close(scope);
    if (error == -ESTALE) /* also by a late request of one that is gone */
        CHECK(world->near_count > 1);
    else if (!near->killed)
        CHECK_IS(0, error);
    /* One that is killed may have opened again what was complete; so may a later one, before an
     * earlier one has heard that all was complete. */
    if (near->killed) {
        world->killed = near->party > world->killed ? near->party : world->killed;
        world->complete = false;
    } else if (error == 0 && near->party > world->killed) {
        world->complete = near->whole;
    }
    return leat_send(world->ended, &near);
}

/* ---- what happens to them ---- */

static void begin_near_end(struct world *world)
{
    struct near *near = &world->nears[world->near_count];
    *near = (struct near){ .world = world,
                           .party = FIRST_NEAR + world->near_count,
                           .first = UINT64_MAX };
    world->near_count++;
    world->nears_alive++;
    CHECK_IS(0, leat_go(world->server.scope, be_near_end, near));
}

/* Without a word, or in order. */
static void end_far_end(struct world *world, bool dies)
{
    struct far *far = &world->fars[below(&world->chance, world->far_count)];
    if (!far->scope)
        return; /* it has ended already */
    if (dies) {
        world->server.parties[far->party].dead = true;
        cut_off(&world->server, far->party);
    }
    leat_scope_cancel(far->scope);
}

static void kill_near_end(struct world *world)
{
    struct near *near = &world->nears[world->near_count - 1];
    if (!near->scope || world->near_count == NEARS)
        return;
    near->killed = true;
    if (below(&world->chance, 2)) {
        world->server.parties[near->party].dead = true;
        cut_off(&world->server, near->party);
    }
    if (near->scope)
        leat_scope_cancel(near->scope);
}

static void slow_down(struct world *world)
{
    unsigned party = below(&world->chance, PARTIES);
    world->server.parties[party].slow_until =
        leat_after(world->lease * (1 + below(&world->chance, 4)) / 2);
}

static void leave_for_a_while(struct world *world)
{
    server_leaves(&world->server);
    leat_sleep((int64_t)below(&world->chance, 3000) * LEAT_MS);
    server_returns(&world->server);
}

static void something_happens(struct world *world)
{
    switch (below(&world->chance, 7)) {
    case 0: end_far_end(world, true); break;
    case 1: end_far_end(world, false); break;
    case 2: kill_near_end(world); break;
    case 3:
        if (world->near_count < NEARS)
            begin_near_end(world);
        break;
    case 4: slow_down(world); break;
    case 5: cut_off(&world->server, below(&world->chance, PARTIES)); break;
    default: leave_for_a_while(world);
    }
}

static void live(struct world *world)
{
    unsigned events = world->calm ? 0 : below(&world->chance, 8);
    begin_near_end(world);
    while (!world->complete || world->nears_alive) {
        struct near *near;
        int64_t until = leat_after((int64_t)below(&world->chance, 1000) * LEAT_MS);
        int error = leat_recv_until(world->ended, &near, events ? until : leat_after(LONG_AFTER));
        CHECK(!error || events);
        if (!error && --world->nears_alive == 0 && !world->complete)
            begin_near_end(world);
        if (error && events) {
            events--;
            world->events++;
            something_happens(world);
        }
    }
}

static void choose(struct world *world, bool may_be_calm)
{
    uint64_t *chance = &world->chance;
    world->calm = below(chance, 5) == 0 && may_be_calm;
    world->unordered = below(chance, 5) == 0;
    world->blocking = below(chance, 5) == 0;
    world->items = below(chance, ITEMS + 1);
    world->n = 1 + below(chance, 8);
    world->window = world->n + below(chance, 20);
    world->capacity = below(chance, 3);
    world->tries = below(chance, 3) ? 1000 : 1 + below(chance, 4);
    world->far_count = 1 + below(chance, FARS);
    world->lease = (100 + (int64_t)below(chance, 900)) * LEAT_MS;
    world->server.faults = world->calm ? 0 : below(chance, 30);
    world->events = world->server.faults;
    world->timely = may_be_calm;
    world->server.one_in = 5 + below(chance, 60);
    world->server.longest = LEAT_S * (1 + below(chance, 12));
    world->server.chance = lt_rng_next(chance);
}

static int lives(void *arg)
{
    struct world *world = calloc(1, sizeof *world);
    CHECK(world);
    world->chance = seed_of_test();
    world->server.check = check_engine;
    choose(world, *(bool *)arg);
    server_open(&world->server);
    world->ended = leat_chan_make(world->server.scope, sizeof(struct near *), NEARS);
    CHECK(world->ended);
    leat_scope *crowd = leat_scope_open(LEAT_NEVER);
    for (unsigned i = 0; i < world->far_count; i++) {
        world->fars[i] = (struct far){ .world = world, .party = i };
        CHECK_IS(0, leat_go(crowd, be_far_end, &world->fars[i]));
    }
    live(world);
    world->over = true;
    for (unsigned i = 0; i < world->far_count; i++)
        if (world->fars[i].scope)
            leat_scope_cancel(world->fars[i].scope);
    CHECK_IS(0, leat_scope_close(crowd));
    check_end(world);
    server_close(&world->server);
    free(world);
    return 0;
}

static void all_ends_in_each_world(void **state)
{
    (void)state;
    uint64_t n = (uint64_t)(tries_more_seeds() ? 6 * SEEDS : SEEDS) / SCALE;
    bool may_be_calm = true;
    CHECK_IS(0, leat_sim_each(0, n / 2, lives, &may_be_calm));
    may_be_calm = false;
    const leat_sim_options slow = { .slip = LEAT_US, .io_delay = 100 * LEAT_MS };
    CHECK_IS(0, leat_sim_each_with(&slow, n / 2, 3 * n / 4, lives, &may_be_calm));
    const leat_sim_options resets = { .io_resets = 1000 };
    CHECK_IS(0, leat_sim_each_with(&resets, 3 * n / 4, n, lives, &may_be_calm));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_ends_in_each_world) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
