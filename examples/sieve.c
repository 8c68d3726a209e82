/* sieve: prime numbers by a growing chain of filters: each prime that leaves the chain gets a
 * filter of its own at the chain's end. After Hoare's CSP paper and the program that every language
 * with channels has.
 *
 * A filter is not a task but a block between two channels, so each prime costs some hundred
 * bytes. */
#include <leat/leat.h>

#include <stdint.h>
#include <stdio.h>

enum { PRIMES = 40 };

static int next_number(void *arg, void *item)
{
    int *number = arg;
    *(int *)item = (*number)++;
    return 0;
}

static int is_multiple(void *arg, const void *in)
{
    return *(const int *)in % (int)(intptr_t)arg == 0;
}

static int sieve(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int number = 2, prime;
    leat_chan *ch =
        leat_generate(s, next_number, &number, &(leat_chan_spec){ .item_size = sizeof(int) });
    for (int i = 0; i < PRIMES && leat_recv(ch, &prime) == 0; i++) {
        printf("%d\n", prime);
        ch = leat_through(s, ch, leat_remove(sizeof(int), is_multiple, (void *)(intptr_t)prime), 1,
                          NULL);
    }
    leat_scope_cancel(s); /* otherwise it would go on */
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(sieve, NULL) < 0;
}
