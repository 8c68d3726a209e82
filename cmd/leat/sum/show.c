/* show.c: the progress line of `leat sum`. */
#include "emit.h"
#include "shared/quote.h"

#include <stdio.h>
#include <string.h>

/* "1.23 GB": three significant digits. */
static void add_size(char *to, size_t room, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    unsigned unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(to, room, "%.*f %s", decimals, bytes, units[unit]);
}

/* " of 1.23 GB, 45%" */
static void add_all(char *to, size_t room, double done, double all)
{
    char size[32];
    add_size(size, sizeof size, all);
    snprintf(to, room, " of %s, %u%%", size, (unsigned)(100 * done / all));
}

enum { NAME_LEAST = 12 }; /* columns; with less room no name is shown */

/* Adds ": name". If the name is too long, only its end is shown. */
static void add_name(struct emitter *e, struct text *to, const struct slot *s)
{
    size_t room = progress_room(), used = to->len + strlen(": ");
    const char *path = used + NAME_LEAST <= room ? emit_path(e, s) : NULL;
    if (!path)
        return;
    struct text quoted = { 0 };
    quote_name(&quoted, path);
    const char *name = text_string(&quoted);
    text_str(to, ": ");
    if (name && quoted.len > room - used) {
        text_str(to, "...");
        name += quoted.len - (room - used - strlen("..."));
        while ((*name & 0xc0) == 0x80)
            name++; /* not from within a character of UTF-8 */
    }
    if (name)
        text_str(to, name);
    text_free(&quoted);
}

void emit_progress(struct emitter *e, uint64_t digested, const struct goal *goal,
                   const struct slot *in_hand)
{
    if (!progress_is_due(&e->progress))
        return;
    char line[2 * PROGRESS_MOST], size[32], rate[32], of[64] = "", left[32] = "";
    double done = (double)digested, all = goal_bytes(goal);
    double seconds = progress_seconds(&e->progress);
    add_size(size, sizeof size, done);
    add_size(rate, sizeof rate, done / seconds);
    if (all > 0 && all >= done)
        add_all(of, sizeof of, done, all);
    if (done > 0 && all >= done)
        progress_add_left(left, sizeof left, (all - done) * seconds / done);
    snprintf(line, sizeof line, "%llu files, %s%s, %s/s%s", (unsigned long long)e->files, size, of,
             rate, left);
    struct text text = { 0 };
    text_str(&text, line);
    if (in_hand)
        add_name(e, &text, in_hand);
    const char *shown = text_string(&text);
    progress_show(&e->progress, shown ? shown : line);
    text_free(&text);
}
