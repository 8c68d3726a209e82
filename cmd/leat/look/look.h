/* look.h: `leat look`: shows what a running program does.
 *
 * Its files: address and fetch get the document's text; fields and document check it; lists and
 * details make tables of it; head, screen and canvas draw; view and keys take the user's input;
 * terminal and live keep the screen up to date. */
#pragma once

/* Runs `leat look`. Returns the exit status. */
int look_main(int argc, char **argv);
