#include "worker/order.h"

#include <errno.h>
#include <leat/base.h>
#include <string.h>

static int take_time(struct frame *f, int64_t *to)
{
    uint64_t time = frame_number(f, 8);
    *to = (int64_t)time;
    return f->broken || time > INT64_MAX ? -EBADMSG : 0;
}

/* From another version, nothing more is read. */
static int take_hello(struct order *order, struct frame *f)
{
    const char *version = frame_string(f);
    if (f->kind != FRAME_HELLO || f->broken)
        return -EBADMSG;
    if (strcmp(version, leat_version()) != 0)
        return -EPROTONOSUPPORT;
    int error = take_time(f, &order->grace);
    order->folder = frame_string(f);
    return f->broken ? -EBADMSG : error;
}

static int take_part(struct text *to, const struct frame *f, size_t most)
{
    if (f->left > most - to->len)
        return -EBADMSG;
    text_add(to, f->body, f->left);
    return to->broken ? -ENOMEM : 0;
}

/* Takes a frame after HELLO; START comes after all strings, and before the input. */
static int take_frame(struct order *order, struct frame *f)
{
    bool started = order->count;
    switch (f->kind) {
    case FRAME_ARGUMENTS:
        return started ? -EBADMSG : take_part(&order->strings, f, FRAME_STRINGS_MOST);
    case FRAME_LIMIT: return started ? -EBADMSG : take_time(f, &order->limit);
    case FRAME_START:
        return !started && frame_start(f, &order->strings, &order->count, &order->has_input)
                   ? 0
                   : -EBADMSG;
    case FRAME_INPUT:
        return order->has_input ? take_part(&order->input, f, FRAME_PARCEL_MOST) : -EBADMSG;
    default: return -EBADMSG;
    }
}

int order_read(struct order *order, const char *bytes, size_t n)
{
    struct frame f;
    int error = 0;
    *order = (struct order){ .folder = NULL };
    while (!error && n) {
        int64_t size = frame_take(bytes, n, &f);
        if (size <= 0)
            return -EBADMSG;
        error = order->folder ? take_frame(order, &f) : take_hello(order, &f);
        bytes += size;
        n -= (size_t)size;
    }
    return error ? error : order->count ? 0 : -EBADMSG;
}

void order_free(struct order *order)
{
    text_free(&order->strings);
    text_free(&order->input);
}
