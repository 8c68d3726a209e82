/* keep.c: for fresh.sh: a file that keeps the C library's definition of errno. */
#include <errno.h>
#include <string.h>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

static const char before[] = TEXT(errno);

#define LEAT_KEEP_ERRNO
#include <leat/leat.h>

static const char after[] = TEXT(errno);

int keeps_its_errno(void);
int set_errno(int value);
int get_errno(void);

int keeps_its_errno(void)
{
    return strcmp(before, after) == 0;
}

/* These functions do not wait, so in them the compiler may keep errno's address. */
__attribute__((noinline)) int set_errno(int value)
{
    errno = value;
    return 0;
}

__attribute__((noinline)) int get_errno(void)
{
    return errno;
}
