/* squares: a pipeline of three stages: generate, square, print. Then one with two squares in a
 * row, which is possible since a stage's input and output have the same type. */
#include "stages.h"

#include <stdio.h>

static int squares(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *numbers = leat_chan_of(s, int, 0), *squared = leat_chan_of(s, int, 0);
    leat_go(s, generate, &(struct link){ .out = numbers });
    leat_go(s, square, &(struct link){ numbers, squared });
    for (int n; leat_recv(squared, &n) == 0;)
        printf("%d\n", n); /* 4, then 9 */
    return leat_scope_close(s);
}

static int squares_of_squares(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *numbers = leat_chan_of(s, int, 0), *once = leat_chan_of(s, int, 0),
              *twice = leat_chan_of(s, int, 0);
    leat_go(s, generate, &(struct link){ .out = numbers });
    leat_go(s, square, &(struct link){ numbers, once });
    leat_go(s, square, &(struct link){ once, twice });
    for (int n; leat_recv(twice, &n) == 0;)
        printf("%d\n", n); /* 16, then 81 */
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(squares, NULL) < 0 || leat_main(squares_of_squares, NULL) < 0;
}
