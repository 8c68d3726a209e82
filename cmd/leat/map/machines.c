/* machines.c: the machines of --on that run commands, and how many each at a time. */
#define _GNU_SOURCE
#include "map/plan.h"

#include "shared/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of a file; file == NULL: the command line. */
struct origin {
    const char *file;
    unsigned line;
};

static int refuse(const struct origin *from, const char *text, const char *why)
{
    if (from->file)
        return plan_refuse("%s:%u: invalid machine '%s': %s", from->file, from->line, text, why);
    return plan_refuse("invalid machine '%s' for '--on': %s", text, why);
}

static bool has_odd_bytes(const char *name)
{
    for (; *name; name++)
        if (isspace((unsigned char)*name) || iscntrl((unsigned char)*name))
            return true;
    return false;
}

/* `text`: NAME[*N], which becomes NAME. */
static int read_places(const struct origin *from, char *text, unsigned *places)
{
    char *star = strrchr(text, '*');
    *places = 0;
    if (!star)
        return 0;
    if (!number_read(star + 1, 1, JOBS_MOST, places))
        return refuse(from, text, "after '*' comes the number of commands that it runs at a time");
    *star = '\0';
    return 0;
}

/* The message does not repeat the password. */
static int refuse_password(const struct origin *from)
{
    if (from->file)
        return plan_refuse("%s:%u: an address must not have a password: use LEAT_LINK_USER and "
                           "LEAT_LINK_PASSWORD",
                           from->file, from->line);
    return plan_refuse("an address for '--on' must not have a password, since every user can "
                       "see a command line: use LEAT_LINK_USER and LEAT_LINK_PASSWORD");
}

static int read_queue(const struct origin *from, struct queue *q, const char *text)
{
    const char *why = queue_read(q, text);
    return why ? refuse(from, text, why) : 0;
}

static int check_name(const struct origin *from, const char *text)
{
    /* ssh would take a name that begins with a dash for an option. */
    if (!*text || *text == '-' || has_odd_bytes(text))
        return refuse(from, text, "this is no name of a machine");
    if (strstr(text, "://") && strncmp(text, "ssh://", 6) != 0)
        return refuse(from, text,
                      "machines are reached by ssh, or by a queue at redis:// or rediss://");
    return 0;
}

static int add_machine(struct plan *p, const struct origin *from, char *text)
{
    unsigned places = 0;
    struct queue queue = { 0 };
    int wrong = queue_is_meant(text) && strchr(text, '@') ? refuse_password(from) : 0;
    if (!wrong)
        wrong = read_places(from, text, &places);
    if (!wrong)
        wrong = queue_is_meant(text) ? read_queue(from, &queue, text) : check_name(from, text);
    if (wrong)
        return wrong;
    struct machine *more = reallocarray(p->machines, p->machine_count + 1, sizeof *p->machines);
    if (!more) {
        queue_free(&queue);
        return plan_refuse("memory exhausted");
    }
    p->machines = more;
    more[p->machine_count] = (struct machine){ strdup(text), queue, places };
    return more[p->machine_count++].name ? 0 : plan_refuse("memory exhausted");
}

/* A line is one machine; # begins a comment. */
static int add_file(struct plan *p, const char *name)
{
    FILE *file = fopen(name, "re");
    char *line = NULL;
    size_t room = 0, before = p->machine_count;
    int wrong = 0;
    struct origin from = { .file = name };
    if (!file)
        return plan_refuse("%s: %s", name, strerror(errno));
    while (!wrong && getline(&line, &room, file) >= 0) {
        from.line++;
        line[strcspn(line, "#\n")] = '\0';
        char *begin = line + strspn(line, " \t\r"), *end = begin + strlen(begin);
        while (end > begin && isspace((unsigned char)end[-1]))
            *--end = '\0';
        if (*begin)
            wrong = add_machine(p, &from, begin);
    }
    if (!wrong && ferror(file))
        wrong = plan_refuse("%s: %s", name, strerror(errno));
    if (!wrong && p->machine_count == before)
        wrong = plan_refuse("%s: this file names no machine", name);
    free(line);
    fclose(file);
    return wrong;
}

int machines_add(struct plan *p, const char *list)
{
    char *copy = strdup(list), *rest = copy;
    int wrong = copy ? 0 : plan_refuse("memory exhausted");
    while (!wrong && rest) {
        char *one = strsep(&rest, ",");
        wrong = *one == '@' ? add_file(p, one + 1) : add_machine(p, &(struct origin){ 0 }, one);
    }
    free(copy);
    return wrong;
}

void machines_free(struct plan *p)
{
    for (size_t i = 0; i < p->machine_count; i++) {
        free(p->machines[i].name);
        queue_free(&p->machines[i].queue);
    }
    free(p->machines);
}
