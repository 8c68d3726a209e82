/* page.h: the page that a look serves, src/look/page.html, as it is in the program. */
#ifndef LT_LOOK_PAGE_H
#define LT_LOOK_PAGE_H

extern const char lt_page[], lt_page_end[];

#endif
