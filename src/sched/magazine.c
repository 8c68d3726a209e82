#include "sched/magazine.h"

void lt_magazine_redeem(struct lt_magazine *magazine)
{
    size_t n = magazine->fetch_next < magazine->credits ? magazine->fetch_next : magazine->credits;
    unsigned more = 2 * magazine->fetch_next;
    lt_stack_redeem(magazine->stacks, n);
    magazine->count = (unsigned)n;
    magazine->credits -= n;
    magazine->fetch_next = more < LT_STACK_AHEAD ? more : LT_STACK_AHEAD;
}

void lt_magazine_close(struct lt_magazine *magazine)
{
    while (magazine->count)
        lt_stack_return(&magazine->returned, magazine->stacks[--magazine->count], NULL);
    lt_stack_return_now(&magazine->returned);
    lt_stack_credits_return(magazine->credits);
    magazine->credits = 0;
}
