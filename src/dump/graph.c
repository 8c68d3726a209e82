/* graph.c: draws the parties and what they wait for, for Graphviz. Scopes are frames, parties
 * ovals, channels boxes, stages arrows. An edge leads from a party to the thing that it waits for,
 * and from a mutex to its holder; a gray edge is the path of items. */
#include "dump/print.h"

/* A node's name: a letter for the kind, and the record's number, or if it has none, its order. */
static void node(FILE *to, const struct lt_record *record)
{
    char letter = lt_things[record->thing].letter;
    if (record->number && record->thing <= LT_A_CHANNEL)
        fprintf(to, "%c%u", letter, record->number);
    else
        fprintf(to, "%c_%u", letter, record->order);
}

static void draw_record(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    static const char *const looks[] = { "shape=ellipse", "shape=octagon", "shape=egg",
                                         "shape=cds",     "shape=diamond", "shape=box",
                                         "shape=house",   "shape=folder",  "shape=rarrow" };
    static const char *const states[] = { "", "not started", "", "ready", "running" };
    const struct lt_sight *seen = record->sight;
    fputs("  ", to);
    node(to, record);
    fprintf(to, " [%s label=\"", looks[record->thing]);
    if (record->thing == LT_A_DESCRIPTOR)
        lt_print_descriptor(to, record->number);
    else
        fputs(record->thing == LT_A_STAGE ? seen->what : lt_things[record->thing].word, to);
    if (record->number && record->thing <= LT_A_CHANNEL)
        fprintf(to, " %u", record->number);
    if (record->name) {
        fputs("\\n", to);
        lt_print_name(to, record->name, "\"\\");
    }
    if (record->code) {
        fputs("\\n", to);
        lt_print_code(to, record->code, "\"\\");
    }
    if (record->thing == LT_A_CHANNEL)
        fprintf(to, "\\n%zu of %zu%s", record->length, record->capacity,
                record->closed ? ", closed" : "");
    else if (record->thing == LT_A_BATCHER)
        fprintf(to, "\\n%zu forming, %zu running", seen->forming, seen->running);
    else if (record->thing == LT_A_STAGE && seen->n)
        fprintf(to, "\\n%zu of %u run\\n%u of %u in flight", seen->running, seen->n, seen->held,
                seen->window);
    else if (*states[record->state])
        fprintf(to, "\\n%s", states[record->state]);
    else if (record->state == LT_IS_WAITING && record->line)
        fprintf(to, "\\nline %u", record->line);
    else if (record->state == LT_IS_WAITING && !record->aims)
        fputs("\\nsleeps", to);
    if (record->state == LT_IS_WAITING && record->since) {
        fputs("\\nsince ", to);
        lt_print_time(to, look->now - record->since);
    }
    fprintf(to, "\"%s];\n",
            record->state == LT_IS_RUNNING ? " style=filled fillcolor=palegreen" : "");
}

static void draw_aims(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    static const char *const words[] = {
        "receive", "send", "join", "end", "call", "read", "write"
    };
    if (!lt_is_party(record->thing) || record->state != LT_IS_WAITING)
        return;
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        const struct lt_record *object = lt_look_find(look, aim->object, aim->number);
        if (aim->aim == LT_FOR_CALL || (!object && aim->aim != LT_FOR_SCOPE))
            continue;
        fputs("  ", to);
        node(to, record);
        fputs(" -> ", to);
        if (aim->aim == LT_FOR_SCOPE)
            fprintf(to, "s%u", aim->number);
        else
            node(to, object);
        fprintf(to, " [label=\"%s\"%s];\n", words[aim->aim],
                record->aims->next ? " style=dashed" : "");
    }
}

/* Draws who holds a mutex, so that a deadlock shows as a circle. */
static void draw_holder(FILE *to, const struct lt_look *look, const struct lt_record *record)
{
    const struct lt_record *holder = lt_look_find_holder(look, record);
    if (!holder)
        return;
    fputs("  ", to);
    node(to, record);
    fputs(" -> ", to);
    node(to, holder);
    fputs(" [label=\"held by\"];\n", to);
}

/* Draws the path of the items through a stage. */
static void draw_ends(FILE *to, const struct lt_record *record)
{
    const struct lt_sight *seen = record->sight;
    if (record->thing != LT_A_STAGE)
        return;
    for (uint32_t i = 0; i < seen->ins && i < LT_SIGHT_ENDS; i++) {
        fprintf(to, "  c%u -> ", seen->in[i]);
        node(to, record);
        fputs(" [color=gray style=bold];\n", to);
    }
    for (uint32_t i = 0; i < seen->outs && i < LT_SIGHT_ENDS; i++) {
        fputs("  ", to);
        node(to, record);
        fprintf(to, " -> c%u [color=gray style=bold];\n", seen->out[i]);
    }
}

/* A scope's frame stays open for the scopes inside, which follow it directly. */
static void draw_scopes(FILE *to, const struct lt_look *look)
{
    unsigned depth = 0, open = 0;
    for (size_t at = look->scope_count ? 0 : LT_NOWHERE; at != LT_NOWHERE;
         at = lt_look_next_scope(look, at, &depth)) {
        const struct lt_scope_record *scope = &look->scopes[at];
        for (; open > depth; open--)
            fputs("  }\n", to);
        fprintf(to, "  subgraph cluster_%u {\n  label=\"scope %u%s\";\n", scope->number,
                scope->number, scope->cancelled ? ", cancelled" : "");
        fprintf(to, "  s%u [shape=point];\n", scope->number);
        open++;
        for (size_t i = lt_look_first_record(look, at);
             i < look->record_count && look->records[i]->place == at; i++)
            draw_record(to, look, look->records[i]);
    }
    for (; open; open--)
        fputs("  }\n", to);
}

void lt_draw(FILE *to, const struct lt_look *look)
{
    fputs("digraph leat {\n  rankdir=LR;\n", to);
    draw_scopes(to, look);
    for (size_t i = lt_look_first_record(look, LT_NOWHERE); i < look->record_count; i++)
        draw_record(to, look, look->records[i]);
    for (size_t i = 0; i < look->record_count; i++) {
        draw_aims(to, look, look->records[i]);
        draw_holder(to, look, look->records[i]);
        draw_ends(to, look->records[i]);
    }
    fputs("}\n", to);
}
