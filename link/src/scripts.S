/* scripts.S: the texts of the scripts, each with a 0 at its end. scripts.h names them. */
    .section .rodata
    .macro script name
    .globl lk_script_\name
    .hidden lk_script_\name
    .type lk_script_\name, %object
lk_script_\name:
    .incbin "scripts/\name\().lua"
    .byte 0
    .endm
    script common
    script open
    script publish
    script confirm
    script finish
    script forget
    script take
    script done
    script renew
    .section .note.GNU-stack, "", %progbits
