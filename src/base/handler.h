/* handler.h: handlers that leat installs above the program's, and removes again.
 *
 * A handler that the program installs later stays above leat's and may call it, also after leat has
 * removed its own, and under a later runtime. So leat's is then not installed once more: the two
 * would call each other for ever. */
#pragma once

#include <signal.h>
#include <stdbool.h>

typedef void lt_handler_fn(int signal, siginfo_t *info, void *context);

/* Zero at first. */
struct lt_handler {
    lt_handler_fn *fn;
    struct sigaction former;
    bool stays; /* below one that was installed after it */
};

/* lt_handler_install: false if there is no such signal, or none for a program. */
bool lt_handler_install(struct lt_handler *handler, int signal, lt_handler_fn *fn);
void lt_handler_remove(struct lt_handler *handler, int signal);

/* Whether no other handler has been installed since. */
bool lt_handler_is_on_top(const struct lt_handler *handler, int signal);

/* Called in the handler: does with the signal what would be done without leat. */
void lt_handler_pass_on(const struct lt_handler *handler, int signal, siginfo_t *info,
                        void *context);
