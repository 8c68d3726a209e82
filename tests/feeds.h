/* feeds.h: what the tests of lines and of frames share: pipes, and parties at their ends. */
#pragma once

#include "support.h"

#include <leat/lines.h>

struct pipe {
    leat_io *in, *out; /* what is written to `in` is read from `out` */
};

static inline struct pipe open_pipe(leat_scope *scope)
{
    leat_io *ends[2];
    CHECK_IS(0, leat_io_pipe(scope, ends));
    return (struct pipe){ .out = ends[0], .in = ends[1] };
}

struct feed {
    leat_io *io;
    const char *bytes;
    size_t n, most; /* at most that many bytes in one write */
    uint64_t seed;  /* 0: always that many */
};

static inline int feed(void *arg)
{
    struct feed *f = arg;
    uint64_t chance = f->seed;
    for (size_t done = 0; done < f->n;) {
        size_t n = f->seed ? 1 + below(&chance, (unsigned)f->most) : f->most;
        n = n < f->n - done ? n : f->n - done;
        CHECK_IS(n, leat_write(f->io, f->bytes + done, n));
        done += n;
        if (f->seed && below(&chance, 4) == 0)
            leat_yield();
    }
    return leat_io_close(f->io);
}

/* A party of an outer scope at the other end of a channel. */
struct outsider {
    leat_chan *ch;
    _Atomic int n;
    int error;
    _Atomic bool done;
};

static inline int receive_all(void *arg)
{
    struct outsider *o = arg;
    leat_line line;
    while ((o->error = leat_recv(o->ch, &line)) == 0) {
        o->n++;
        leat_line_free(&line);
    }
    atomic_store(&o->done, true);
    return 0;
}
