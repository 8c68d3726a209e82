#define _GNU_SOURCE
#include "look/look.h"

#include "look/arguments.h"
#include "look/fetch.h"
#include "look/live.h"
#include "look/screen.h"
#include "look/shown.h"
#include "shared/finish.h"

#include <errno.h>
#include <leat/leat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
    struct arguments arguments;
    struct terminal terminal;
    int ended_by;    /* a signal */
    int write_error; /* the errno of a failed write to standard output, or 0 */
    struct trouble why;
};

/* ---- one look, for scripts ---- */

static void put(struct look *l, const struct text *text)
{
    if (fwrite(text->bytes, 1, text->len, stdout) != text->len)
        l->write_error = errno;
}

static void print(struct look *l, const struct text *body)
{
    struct document *d = document_read(body->bytes, body->len, &l->why);
    if (!d)
        return;
    struct text out = { 0 };
    struct canvas c = canvas_plain(&out);
    view_refresh(&l->arguments.view, d, NULL);
    screen_draw(&c, &l->arguments.view, d, NULL, NULL, &l->why);
    if (out.broken)
        trouble_say(&l->why, "memory exhausted");
    else
        put(l, &out);
    text_free(&out);
    document_free(d);
}

static int look_once(void *arg)
{
    struct look *l = arg;
    struct text body = { 0 };
    const struct arguments *o = &l->arguments;
    bool raw = o->raw.target;
    struct wanted document = { o->view.list == LIST_STACKS ? FETCH_STACKS : FETCH_DOCUMENT,
                               FETCH_MOST, 0 };
    fetch(&o->address, raw ? &o->raw : &document, &body, &l->why);
    if (!is_trouble(&l->why) && raw)
        put(l, &body);
    else if (!is_trouble(&l->why))
        print(l, &body);
    text_free(&body);
    return 0;
}

/* ---- on a terminal ---- */

static int look_on(void *arg)
{
    struct look *l = arg;
    l->ended_by = live_run(&l->arguments, &l->terminal, &l->why);
    return 0;
}

/* ---- the end ---- */

static int complain(const struct look *l)
{
    struct text said = { 0 };
    text_str(&said, "leat look: ");
    shown_add(&said, l->arguments.address.given, SIZE_MAX);
    text_str(&said, ": ");
    shown_add(&said, l->why.said, SIZE_MAX);
    const char *line = text_string(&said);
    fprintf(stderr, "%s\n", line ? line : "leat look: memory exhausted");
    text_free(&said);
    return EXIT_TROUBLE;
}

static int finish(const struct look *l, int error)
{
    if (error) {
        fprintf(stderr, "leat look: cannot start: %s\n", strerror(-error));
        return EXIT_TROUBLE;
    }
    if (is_trouble(&l->why))
        return complain(l);
    if (l->ended_by > 0)
        return finish_by_signal(l->ended_by);
    errno = l->write_error;
    return finish_stdio("leat look", 0, EXIT_TROUBLE);
}

int look_main(int argc, char **argv)
{
    static struct look look; /* zeroed */
    int status = arguments_read(&look.arguments, argc, argv);
    if (status >= 0)
        return status;
    look.terminal.fd = -1;
    bool live = !look.arguments.once && !look.arguments.raw.target && terminal_open(&look.terminal);
    /* This process must not serve a look itself, at the address of the other. */
    unsetenv("LEAT_LOOK");
    unsetenv("LEAT_LOOK_TOKEN");
    int error = leat_main_with(live ? look_on : look_once, &look, &(leat_options){ .workers = 1 });
    terminal_close(&look.terminal);
    view_free(&look.arguments.view);
    return finish(&look, error);
}
