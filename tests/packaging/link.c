/* Uses libleat-link: a link without a scope is refused. */
#include <stdio.h>

#include <leat/leat.h>
#include <leat/link.h>

int main(void)
{
    leat_link *link;
    puts(leat_link_open(NULL, "redis://localhost", NULL, &link) == -EINVAL ? "refused" : "opened");
    return 0;
}
