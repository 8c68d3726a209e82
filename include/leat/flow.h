/* leat/flow.h: operators: what stands between channels. */
#ifndef LEAT_FLOW_H
#define LEAT_FLOW_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operator does with its output when it is at its end. */
typedef enum leat_ending {
    LEAT_ENDS_CLOSED, /* leat_close */
    LEAT_ENDS_DONE,   /* leat_chan_done: the caller has counted it by leat_chan_senders */
    LEAT_ENDS_OPEN    /* nothing: others send to it, too */
} leat_ending;

#ifdef __cplusplus
}
#endif

#endif
