/* switch_x86_64.S: see switch.h. */

        .text

/* void lt_switch_left(void **from, void *to) */
        .globl  lt_switch_left
        .hidden lt_switch_left
        .type   lt_switch_left, @function
        .p2align 4
lt_switch_left:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        /* The other stack was left at this very point, so the frame has the same shape. */
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   lt_switch_left, . - lt_switch_left

/* void lt_switch_begin(void **from, void *top, void (*entry)(void *), void *arg) */
        .globl  lt_switch_begin
        .hidden lt_switch_begin
        .type   lt_switch_begin, @function
        .p2align 4
lt_switch_begin:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        /* Nothing called this stack: here a backtrace ends. */
        .cfi_undefined rip
        xorl    %ebp, %ebp
        movq    %rcx, %rdi
        call    *%rdx
        ud2
        .cfi_endproc
        .size   lt_switch_begin, . - lt_switch_begin

        .section .note.GNU-stack, "", @progbits
