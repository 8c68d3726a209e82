#include "base/handler.h"

#include <stddef.h>

bool lt_handler_is_on_top(const struct lt_handler *handler, int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_sigaction == handler->fn;
}

bool lt_handler_install(struct lt_handler *handler, int signal, lt_handler_fn *fn)
{
    struct sigaction now,
        action = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, NULL, &now) != 0)
        return false;
    handler->fn = fn;
    if (now.sa_sigaction == fn || (handler->stays && now.sa_handler != SIG_DFL))
        return true;
    /* First, since a signal may come as soon as the handler is installed. */
    handler->former = now;
    if (sigaction(signal, &action, NULL) == 0)
        return true;
    handler->fn = NULL;
    return false;
}

void lt_handler_remove(struct lt_handler *handler, int signal)
{
    handler->stays = !lt_handler_is_on_top(handler, signal);
    if (!handler->stays)
        sigaction(signal, &handler->former, NULL);
}

void lt_handler_pass_on(const struct lt_handler *handler, int signal, siginfo_t *info,
                        void *context)
{
    const struct sigaction *former = &handler->former;
    bool sent = info->si_code <= 0 || signal == SIGPROF; /* by a call or a timer: it is no fault */
    if (former->sa_flags & SA_SIGINFO) {
        former->sa_sigaction(signal, info, context);
    } else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
        former->sa_handler(signal);
    } else if (former->sa_handler == SIG_DFL || !sent) {
        /* A fault happens again on return, and is handled as usual. */
        sigaction(signal, former, NULL);
        if (sent)
            raise(signal);
    }
}
