/* look.h: `leat look`: shows what a running program does.
 *
 * The rooms: address and fetch get the document's text; fields and document check it; lists and
 * details make tables of it; head, screen and canvas draw; view and keys are what the user wants;
 * terminal and live keep it up to date. */
#ifndef LEAT_LOOK_LOOK_H
#define LEAT_LOOK_LOOK_H

/* Runs `leat look`. Returns the exit status. */
int look_main(int argc, char **argv);

#endif
