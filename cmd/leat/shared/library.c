#include "shared/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *file, const char *const *functions, size_t count, void *to)
{
    void *found;
    memcpy(&found, to, sizeof found);
    if (found)
        return true;
    void *library = dlopen(file, RTLD_LAZY); /* stays loaded until the program ends */
    /* The first function comes last: when it is set, all are. */
    for (size_t i = count; library && i-- > 0;) {
        found = dlsym(library, functions[i]);
        if (!found)
            return false;
        memcpy((char *)to + i * sizeof found, &found, sizeof found);
    }
    return library;
}
