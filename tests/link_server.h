/* link_server.h: a simulated engine in a seeded world: what lk_dial connects to.
 *
 * Each connection is a simulated pair. One task reads requests from it, and runs them; another
 * writes the replies, some of them late. The address names the party: "p3" is party 3.
 *
 * Faults. The seed chooses some of the requests: the connection is cut before the request has
 * any effect, or after that and before the reply; or the request waits in the engine for long, and
 * then it has its effect even if the party has left by then. The test chooses these: a party is
 * slow (until a time it gets no connection and no answer), or cut off for ever; the engine is away,
 * and comes back with all that it had, and new. */
#pragma once

#include "link_scripts.h"

#include <leat/sim.h>

enum { PARTIES = 16, OUT_ROOM = 4096 };

struct server;

struct party {
    bool dead;
    int64_t slow_until;
};

/* The bytes that a connection has to write. Without bytes, it ends. */
struct out {
    char *bytes;
    size_t size;
    int64_t at;
};

struct conn {
    struct conn *next;
    struct server *server;
    unsigned party;
    leat_io *io;
    leat_chan *out, *bell; /* the bell: there are new entries */
    redisReader *reader;
    char *channels[2]; /* that it listens to, or NULL */
    bool gone;
};

struct server {
    struct engine engine;
    leat_scope *scope;
    struct conn *conns;
    struct party parties[PARTIES];
    bool away, loaded[LK_SCRIPTS];
    int64_t started;
    unsigned faults, one_in; /* how many are left; each request may have one */
    int64_t longest;         /* how long a request may wait */
    uint64_t chance;
    /* Called after each script. */
    void (*check)(struct server *server, const struct run_keys *run);
};

static struct server *the_server;

/* ---- connections ---- */

static inline void drop_out(void *out)
{
    free(((struct out *)out)->bytes);
}

static inline void hang_up(struct conn *c)
{
    if (c->gone)
        return;
    c->gone = true;
    leat_io_close(c->io);
    leat_close(c->out);
    leat_close(c->bell);
}

/* Takes the bytes over. */
static inline void send_out(struct conn *c, char *bytes, size_t size, int64_t at)
{
    struct out out = { bytes, size, at };
    if (leat_try_send(c->out, &out) != 0) {
        free(bytes);
        hang_up(c);
    }
}

static inline int write_out(void *arg)
{
    struct conn *c = arg;
    struct out out;
    while (leat_recv(c->out, &out) == 0) {
        leat_sleep_until(out.at);
        if (!out.bytes || c->gone || leat_write(c->io, out.bytes, out.size) < 0)
            hang_up(c);
        free(out.bytes);
    }
    return 0;
}

/* Passes on what a script has published. A script runs alone, so this is done after it. */
static inline bool listens_to(const struct conn *c, const char *channel)
{
    for (int i = 0; i < 2 && !c->gone; i++)
        if (c->channels[i] && strcmp(c->channels[i], channel) == 0)
            return true;
    return false;
}

static inline bool is_heard(const struct engine *engine, const char *channel)
{
    const struct server *server = (const struct server *)engine; /* its first member */
    for (struct conn *c = server->conns; c; c = c->next)
        if (listens_to(c, channel))
            return true;
    return false;
}

static inline void send_to_listeners(struct server *server, const struct message *message)
{
    for (struct conn *c = server->conns; c; c = c->next) {
        struct lk_request out = { 0 };
        if (!listens_to(c, message->channel))
            continue;
        lk_request_begin(&out, 3);
        lk_request_text(&out, "message");
        lk_request_text(&out, message->channel);
        lk_request_word(&out, message->text, message->size);
        send_out(c, out.bytes.data, out.bytes.size, LEAT_NOW);
    }
}

static inline void ring_all(struct server *server)
{
    for (struct conn *c = server->conns; c; c = c->next)
        leat_try_send(c->bell, NULL);
}

static inline void pass_on(struct server *server)
{
    struct message messages[MESSAGES];
    size_t n = server->engine.message_count;
    memcpy(messages, server->engine.messages, sizeof messages);
    if (server->engine.added)
        ring_all(server);
    for (size_t i = 0; i < n; i++)
        send_to_listeners(server, &messages[i]);
}

/* ---- requests ---- */

static inline void set_clock(struct server *server)
{
    server->engine.us = leat_now() / LEAT_US;
    server->engine.uptime = (leat_now() - server->started) / LEAT_S;
}

static inline void load(struct server *server, const char *text, struct lk_request *reply)
{
    char name[41];
    size_t common = strlen(lk_script_common);
    CHECK(strncmp(text, lk_script_common, common) == 0);
    int i = 0;
    while (i < LK_SCRIPTS && strcmp(text + common, lk_script_text((enum lk_script)i)) != 0)
        i++;
    CHECK(i < LK_SCRIPTS);
    server->loaded[i] = true;
    snprintf(name, sizeof name, "%040d", i);
    lk_request_word(reply, name, 40);
}

static inline const char *run_in_key(const char *key, char name[LK_NAME + 1])
{
    const char *from = strstr(key, "}:");
    CHECK(from);
    snprintf(name, LK_NAME + 1, "%.*s", (int)strcspn(from + 2, ":"), from + 2);
    return name;
}

static inline void evaluate(struct server *server, const redisReply *request,
                            struct lk_request *reply)
{
    char name[LK_NAME + 1];
    CHECK(request->elements >= 12);
    long script = strtol(request->element[1]->str, NULL, 10);
    if (!server->loaded[script]) {
        reply_line(reply, "-NOSCRIPT no such script");
        return;
    }
    set_clock(server);
    struct call call = { .engine = &server->engine,
                         .run =
                             run_named(&server->engine, run_in_key(request->element[3]->str, name)),
                         .words = request->element + 12,
                         .n = request->elements - 12,
                         .reply = reply };
    run_script(&call, (enum lk_script)script);
    server->check(server, call.run);
    pass_on(server);
}

static inline void list_runs(struct server *server, struct lk_request *reply)
{
    size_t n = 0;
    for (int i = 0; i < RUNS; i++)
        n += server->engine.runs[i].listed;
    reply_array(reply, n);
    for (int i = 0; i < RUNS; i++)
        if (server->engine.runs[i].listed)
            lk_request_text(reply, server->engine.runs[i].name);
}

static inline void reply_entry(const struct entry *entry, struct lk_request *reply)
{
    char id[64];
    snprintf(id, sizeof id, "%" PRId64 "-%" PRIu64, entry->ms, entry->number);
    reply_array(reply, 2);
    lk_request_text(reply, id);
    reply_array(reply, 2 * entry->n);
    for (size_t i = 0; i < entry->n; i++) {
        lk_request_text(reply, entry->fields[i].name);
        lk_request_word(reply, entry->fields[i].data, entry->fields[i].size);
    }
}

/* XREAD COUNT n BLOCK ms STREAMS key last */
static inline void read_entries(struct conn *c, const redisReply *request, struct lk_request *reply)
{
    char name[LK_NAME + 1];
    int64_t ms, until = leat_after(strtoll(request->element[4]->str, NULL, 10) * LEAT_MS);
    uint64_t number;
    size_t most = strtoull(request->element[2]->str, NULL, 10), from, n;
    CHECK_IS(2, sscanf(request->element[7]->str, "%" SCNd64 "-%" SCNu64, &ms, &number));
    const struct run_keys *run =
        run_named(&c->server->engine, run_in_key(request->element[6]->str, name));
    do {
        for (from = 0; from < run->entry_count; from++)
            if (run->entries[from].ms > ms ||
                (run->entries[from].ms == ms && run->entries[from].number > number))
                break;
        n = run->entry_count - from;
    } while (!n && leat_recv_until(c->bell, NULL, until) == 0);
    if (!n) {
        reply_line(reply, "*-1");
        return;
    }
    n = n < most ? n : most;
    reply_array(reply, 1);
    reply_array(reply, 2);
    lk_request_text(reply, request->element[6]->str);
    reply_array(reply, n);
    for (size_t i = from; i < from + n; i++)
        reply_entry(&run->entries[i], reply);
}

static inline bool is(const redisReply *request, const char *name)
{
    return strcmp(request->element[0]->str, name) == 0;
}

static inline void answer_setting(const char *name, struct lk_request *reply)
{
    const char *value = strcmp(name, "appendonly") == 0    ? "yes"
                        : strcmp(name, "appendfsync") == 0 ? "everysec"
                                                           : "noeviction";
    lk_request_texts(reply, name, value, NULL);
}

static inline void listen_to(struct conn *c, const redisReply *request, struct lk_request *reply)
{
    CHECK_IS(3, request->elements);
    for (int i = 0; i < 2; i++) {
        const char *channel = request->element[i + 1]->str;
        free(c->channels[i]);
        c->channels[i] = copy_of(channel, strlen(channel));
        reply_array(reply, 3);
        lk_request_text(reply, "subscribe");
        lk_request_text(reply, channel);
        reply_number(reply, i + 1);
    }
}

static inline void answer(struct conn *c, const redisReply *request, struct lk_request *reply)
{
    if (is(request, "EVALSHA"))
        evaluate(c->server, request, reply);
    else if (is(request, "SCRIPT"))
        load(c->server, request->element[2]->str, reply);
    else if (is(request, "XREAD"))
        read_entries(c, request, reply);
    else if (is(request, "SMEMBERS"))
        list_runs(c->server, reply);
    else if (is(request, "CONFIG"))
        answer_setting(request->element[2]->str, reply);
    else if (is(request, "INFO"))
        lk_request_text(reply, "redis_version:7.0.15\r\n");
    else if (is(request, "PING"))
        lk_request_texts(reply, "pong", "", NULL);
    else if (is(request, "SUBSCRIBE"))
        listen_to(c, request, reply);
    else if (is(request, "AUTH") || is(request, "SELECT"))
        reply_line(reply, "+OK");
    else
        check_failed(__FILE__, __LINE__, "no such request: %s", request->element[0]->str);
}

enum fault { NO_FAULT, CUT_BEFORE, CUT_AFTER, CUT_REPLY, LATE, LATE_REPLY, FAULTS };

/* A run is opened rarely, so that has faults more often. */
static inline enum fault next_fault(struct server *server, const redisReply *request)
{
    bool opens = is(request, "EVALSHA") && strtol(request->element[1]->str, NULL, 10) == LK_OPEN;
    if (!server->faults || below(&server->chance, opens ? 3 : server->one_in) != 0)
        return NO_FAULT;
    server->faults--;
    return (enum fault)(1 + below(&server->chance, FAULTS - 1));
}

static inline int64_t some_time(struct server *server)
{
    return (int64_t)below(&server->chance, (unsigned)(server->longest / LEAT_US)) * LEAT_US;
}

static inline void serve_request(struct conn *c, const redisReply *request)
{
    struct server *server = c->server;
    struct lk_request reply = { 0 };
    enum fault fault = next_fault(server, request);
    if (fault == LATE)
        leat_sleep(some_time(server));
    leat_sleep_until(server->parties[c->party].slow_until);
    if (fault == CUT_BEFORE)
        hang_up(c);
    if (c->gone)
        return;
    answer(c, request, &reply);
    if (fault == CUT_AFTER) {
        hang_up(c);
    } else if (fault == CUT_REPLY) {
        send_out(c, NULL, 0, LEAT_NOW);
    } else {
        send_out(c, reply.bytes.data, reply.bytes.size,
                 fault == LATE_REPLY ? leat_after(some_time(server)) : LEAT_NOW);
        return;
    }
    lk_request_free(&reply);
}

static inline bool next_request(struct conn *c, redisReply **request)
{
    char bytes[4096];
    void *got = NULL;
    for (;;) {
        CHECK_IS(REDIS_OK, redisReaderGetReply(c->reader, &got));
        if (got)
            break;
        int64_t n = c->gone ? 0 : leat_read(c->io, bytes, sizeof bytes);
        if (n <= 0)
            return false;
        CHECK_IS(REDIS_OK, redisReaderFeed(c->reader, bytes, (size_t)n));
    }
    *request = got;
    return true;
}

static inline int serve_requests(void *arg)
{
    struct conn *c = arg;
    redisReply *request;
    while (next_request(c, &request)) {
        serve_request(c, request);
        freeReplyObject(request);
    }
    hang_up(c);
    return 0;
}

static inline struct conn *new_conn(struct server *server, unsigned party, leat_io *io)
{
    struct conn *c = calloc(1, sizeof *c);
    CHECK(c);
    *c = (struct conn){ .server = server, .party = party, .io = io };
    c->reader = redisReaderCreate();
    c->out = leat_chan_open(NULL, &(leat_chan_spec){ .item_size = sizeof(struct out),
                                                     .capacity = OUT_ROOM,
                                                     .drop = drop_out });
    c->bell = leat_chan_make(NULL, 0, 1);
    CHECK(c->reader && c->out && c->bell);
    c->next = server->conns;
    server->conns = c;
    return c;
}

/* A slow party waits. 0, -ETIMEDOUT or -ECANCELED. */
static inline int wait_to_dial(const struct party *party, int64_t deadline)
{
    bool late = party->slow_until > deadline;
    int error =
        party->slow_until > leat_now() ? leat_sleep_until(late ? deadline : party->slow_until) : 0;
    return error ? error : late ? -ETIMEDOUT : 0;
}

/* In place of leat_connect. */
static inline int dial(leat_scope *scope, const char *address, leat_io **to, int64_t deadline)
{
    struct server *server = the_server;
    unsigned party = (unsigned)strtoul(address + 1, NULL, 10);
    leat_io *ends[2];
    (void)scope;
    CHECK(party < PARTIES);
    int error = wait_to_dial(&server->parties[party], deadline);
    if (error)
        return error;
    if (server->away || server->parties[party].dead)
        return -ECONNREFUSED;
    CHECK_IS(0, leat_io_pair(NULL, ends));
    struct conn *c = new_conn(server, party, ends[1]);
    *to = ends[0];
    CHECK_IS(0, leat_go(server->scope, write_out, c));
    CHECK_IS(0, leat_go(server->scope, serve_requests, c));
    return 0;
}

/* ---- the engine as a whole ---- */

static inline void server_open(struct server *server)
{
    server->scope = leat_scope_open(LEAT_NEVER);
    server->engine.is_heard = is_heard;
    server->started = leat_now() - 3600 * LEAT_S;
    the_server = server;
    lk_dial = dial;
}

/* Ends the connections of a party; PARTIES: of all. */
static inline void cut_off(struct server *server, unsigned party)
{
    for (struct conn *c = server->conns; c; c = c->next)
        if (party == PARTIES || c->party == party)
            hang_up(c);
}

static inline void server_leaves(struct server *server)
{
    server->away = true;
    cut_off(server, PARTIES);
    memset(server->loaded, 0, sizeof server->loaded);
}

static inline void server_returns(struct server *server)
{
    server->started = leat_now();
    server->away = false;
}

/* Called when no client is connected. */
static inline void server_close(struct server *server)
{
    CHECK_IS(0, leat_scope_close(server->scope));
    for (struct conn *c; (c = server->conns);) {
        server->conns = c->next;
        redisReaderFree(c->reader);
        CHECK_IS(0, leat_io_unref(c->io));
        CHECK_IS(0, leat_chan_unref(c->out));
        CHECK_IS(0, leat_chan_unref(c->bell));
        free(c->channels[0]);
        free(c->channels[1]);
        free(c);
    }
    for (int i = 0; i < RUNS; i++)
        free_run(&server->engine.runs[i]);
    lk_dial = leat_connect;
}
