/* signals.h: what the reactor calls for channels of signals (signals.c). */
#pragma once

#include "sched/reactor.h"

/* The reactor's events (lt_kinds.events): signals have come. */
struct lt_party *lt_signals_events(struct lt_source *source, uint32_t events);
