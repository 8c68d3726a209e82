/* more.h: functions on channels beyond leat/chan.h, for what is built on channels. chan/chan.h is
 * the inside. Any party may call these. */
#pragma once

#include "base/list.h"
#include "sched/party.h"

#include <leat/chan.h>

/* Whether leat_chan_open makes such a channel while there is memory. */
bool lt_chan_can_be(const leat_chan_spec *spec);

/* leat_chan_done. With `cut`, the channel counts as cut short when it closes, be it now or
 * later. */
int lt_chan_end_one(leat_chan *ch, bool cut);

/* The channel's number, which no other channel gets soon after the channel has gone (lt_number). 0
 * for NULL. */
uint32_t lt_chan_number(const leat_chan *ch);

/* Whether only leat itself sends to the channel and closes it, as for a timeout. */
bool lt_chan_is_kept(const leat_chan *ch);

/* The drop function for items that were received from the channel; NULL for a promise, since only
 * copies of its item are received. `ch` may be NULL. */
leat_drop_fn *lt_chan_drop_received(const leat_chan *ch);

/* Whether a receiver waits. The answer may be out of date when the call returns. */
bool lt_chan_has_receiver(const leat_chan *ch);

/* A job that becomes ready, once, when the channel closes: for code that must notice the close but
 * has nothing to send or to receive at that moment. */
struct lt_close_hook {
    struct lt_node node;
    struct lt_job job;
};

/* Makes `closed` run on a worker when the channel closes. False: the channel is closed already, and
 * `closed` will not run. The caller keeps the hook, the channel and the runtime until then. */
bool lt_chan_add_close_hook(leat_chan *ch, struct lt_close_hook *hook,
                            void (*closed)(struct lt_job *job));

/* True: `closed` will not run. False: the hook was not added, or its job is on the way. */
bool lt_chan_remove_close_hook(leat_chan *ch, struct lt_close_hook *hook);

/* Makes a plain channel without a drop function like new. At that time a dump may look at the
 * channel, but no other party knows it. */
void lt_chan_renew(leat_chan *ch);
