/* link_lies.h: what a liar answers, by its connection's chance: any reply of the protocol, what is
 * no reply, and lies in the form that the request asks for. */
#pragma once

#include "link_liar.h"

/* ---- lies of any kind ---- */

static inline void say_any(struct liar_line *line, int depth)
{
    static const long long numbers[] = { 0, 1, -1, 7, INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 24 };
    static const char *const texts[] = { "",
                                         "0",
                                         "1",
                                         "2:-5",
                                         "3:",
                                         "99999999999999999999",
                                         "-1",
                                         "x",
                                         "run",
                                         "5:99999999999",
                                         "18446744073709551615",
                                         "message" };
    uint64_t *chance = &line->chance;
    switch (below(chance, depth < 9 ? 7 : 5)) {
    case 0: say(line, "$-1\r\n"); break;
    case 1: say(line, ":%lld\r\n", numbers[below(chance, 8)]); break;
    case 2: say(line, "+OK\r\n"); break;
    case 3:
        say_bulk(line,
                 "1\0"
                 "2",
                 3);
        break;
    case 4: {
        const char *text = texts[below(chance, 12)];
        say_bulk(line, text, strlen(text));
        break;
    }
    default: {
        unsigned n = below(chance, 5);
        say(line, "*%u\r\n", n);
        while (n--)
            say_any(line, depth + 1);
    }
    }
}

static inline void say_error(struct liar_line *line)
{
    static const char *const errors[] = {
        "STALE it is",
        "LOADING",
        "BUSY",
        "NOSCRIPT no",
        "NOPERM",
        "ERR",
        "",
        "OOM of memory",
        "ERR Error running script (call to f_0): @user_script:9: @user_script: 9: -OOM command",
        "ERR Error running script: -",
        "MOVED 1 there",
        "EXECABORT"
    };
    say(line, "-%s\r\n", errors[below(&line->chance, 12)]);
}

/* Not in the protocol's form. */
static inline void say_nonsense(struct liar_line *line)
{
    static const char *const texts[] = { "$9223372036854775807\r\nabc",
                                         "$99999999999999999999\r\n",
                                         "*2147483647\r\n",
                                         "*1048577\r\n",
                                         "*400000\r\n*400000\r\n*400000\r\n:1\r\n",
                                         "*-5\r\n",
                                         "$-7\r\n",
                                         ":12x\r\n",
                                         "?\r\n",
                                         "\r\n",
                                         "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1",
                                         "$3\r\nabcdef\r\n" };
    say(line, "%s", texts[below(&line->chance, 12)]);
}

/* ---- lies in the right form ---- */

static inline void say_name(struct liar_line *line)
{
    static const char *const odd[] = { "18446744073709551615",
                                       "99999999999999999999",
                                       "007",
                                       "0:-5",
                                       "1:5",
                                       "1:99999999999",
                                       "-1",
                                       "4095",
                                       "4096",
                                       "0000000000000000000000001" };
    char text[32];
    snprintf(text, sizeof text, "%u", below(&line->chance, 20));
    if (below(&line->chance, 4) == 0)
        strcpy(text, odd[below(&line->chance, 10)]);
    say_bulk(line, text, strlen(text));
}

static inline void say_words(struct liar_line *line, unsigned n)
{
    static const char zeros[64];
    while (n--)
        say_bulk(line, zeros, below(&line->chance, 2) ? sizeof(int) : below(&line->chance, 64));
}

static inline void say_results(struct liar_line *line)
{
    unsigned entries = below(&line->chance, 4) + 1;
    say(line, "*1\r\n*2\r\n$1\r\nk\r\n*%u\r\n", entries);
    for (unsigned i = 0; i < entries; i++) {
        unsigned results = below(&line->chance, 4);
        say(line, "*2\r\n$%d\r\n%0*d\r\n*%u\r\n", i ? 3 : 47, i ? 3 : 47, 1, 2 * results);
        while (results--) {
            say_name(line);
            say_words(line, 1);
        }
    }
}

static inline void say_items(struct liar_line *line)
{
    unsigned items = below(&line->chance, 8);
    say(line, "*%u\r\n", 3 * items);
    while (items--) {
        say_name(line);
        if (below(&line->chance, 2))
            say(line, ":-1\r\n");
        else
            say_name(line);
        say_words(line, 1);
    }
}

static inline void say_runs(struct liar_line *line)
{
    unsigned n = below(&line->chance, 16) ? below(&line->chance, 4) : 10000;
    say(line, "*%u\r\n", n);
    while (n--) {
        char name[32];
        snprintf(name, sizeof name, below(&line->chance, 8) ? "run%u" : "run%u*", n);
        say_bulk(line, name, strlen(name) + (below(&line->chance, 8) ? 0 : 1));
    }
}

static inline void say_names(struct liar_line *line)
{
    unsigned n = below(&line->chance, 8);
    say(line, "*%u\r\n", n);
    while (n--)
        say_name(line);
}

/* Replies to a far end, with items that come by themselves. */
static inline void say_news(struct liar_line *line)
{
    static const char *const texts[] = { "run2",
                                         "run1 1 5 data",
                                         "run2 2 6 ",
                                         "run2 1 7",
                                         "run3 0 0 x y",
                                         "run2  1 x",
                                         "run2 -1 1 x",
                                         "run* 1 1 x",
                                         " 1 1 x",
                                         "run2 99999999999 1 x",
                                         "run2 1 999999999999999999999 x",
                                         "run2 1 x x" };
    unsigned n = 1 + below(&line->chance, 4);
    say(line, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    while (n--) {
        const char *text = texts[below(&line->chance, below(&line->chance, 4) ? 4 : 12)];
        say(line, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n");
        say_bulk(line, text, strlen(text));
    }
}

/* Replies that could be true. */
static inline void say_likely(struct liar_line *line, const redisReply *request)
{
    switch (script_of(request)) {
    case LK_OPEN:
        if (below(&line->chance, 2))
            say(line, ":%u\r\n", below(&line->chance, 3));
        else
            say(line, "*3\r\n:1\r\n:%u\r\n:0\r\n", below(&line->chance, 20));
        return;
    case LK_TAKE: say_items(line); return;
    case LK_RENEW: say_names(line); return;
    case -1: break;
    default: say(line, ":0\r\n"); return;
    }
    if (asks(request, "XREAD"))
        say_results(line);
    else if (asks(request, "SMEMBERS"))
        say_runs(line);
    else if (asks(request, "SUBSCRIBE"))
        say_news(line);
    else
        say(line, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
}

static inline int lie(struct liar_line *line, const redisReply *request)
{
    switch (below(&line->chance, 24)) {
    case 0: say_any(line, 0); return 0;
    case 1: say_error(line); return 0;
    case 2: say_nonsense(line); return 0;
    case 3: say_nonsense(line); return -1;
    case 4: return -1;
    case 5: return 0; /* silence */
    case 6: say_likely(line, request); break;
    case 7:
        say_likely(line, request);
        line->out.bytes.size -= line->out.bytes.size / 3;
        leat_write(line->io, line->out.bytes.data, line->out.bytes.size);
        return -1;
    default: break;
    }
    say_likely(line, request);
    return 0;
}
