/* page.S: the bytes of the page. */
    .section .rodata
    .globl lt_page
    .hidden lt_page
    .type lt_page, %object
lt_page:
    .incbin "look/page.html"
    .globl lt_page_end
    .hidden lt_page_end
    .type lt_page_end, %object
lt_page_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
