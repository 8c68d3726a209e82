/* scripts.h: the scripts that the engine runs. ../scripts/ has the texts: common.lua says what the
 * engine has of a run, and each script what it does. */
#pragma once

enum lk_script {
    LK_OPEN,
    LK_PUBLISH,
    LK_CONFIRM,
    LK_FINISH,
    LK_FORGET,
    LK_TAKE,
    LK_DONE,
    LK_RENEW,
    LK_SCRIPTS
};

/* The beginning of every script, and the rest of one. */
extern const char lk_script_common[] __attribute__((visibility("hidden")));
const char *lk_script_text(enum lk_script script);
