/* cores.c: prints how many cores it may use. */
#include <leat/runtime.h>

#include <stdio.h>

int main(void)
{
    printf("%u\n", leat_cores());
    return 0;
}
