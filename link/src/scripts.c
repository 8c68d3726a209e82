#include "scripts.h"

#define TEXT(name) extern const char lk_script_##name[] __attribute__((visibility("hidden")))
TEXT(open);
TEXT(publish);
TEXT(confirm);
TEXT(finish);
TEXT(forget);
TEXT(take);
TEXT(done);
TEXT(renew);

const char *lk_script_text(enum lk_script script)
{
    const char *const texts[LK_SCRIPTS] = {
        [LK_OPEN] = lk_script_open,       [LK_PUBLISH] = lk_script_publish,
        [LK_CONFIRM] = lk_script_confirm, [LK_FINISH] = lk_script_finish,
        [LK_FORGET] = lk_script_forget,   [LK_TAKE] = lk_script_take,
        [LK_DONE] = lk_script_done,       [LK_RENEW] = lk_script_renew
    };
    return texts[script];
}
