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

/* void lt_switch_pretend(void *sp, void (*fn)(void *), void *arg) */
        .globl  lt_switch_pretend
        .hidden lt_switch_pretend
        .type   lt_switch_pretend, @function
        .p2align 4
lt_switch_pretend:
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        movq    %rdi, %rbx
        movq    %rdx, %rdi
        /* What lt_switch_left has saved at sp: rbp, and the address to continue at. */
        .cfi_remember_state
        .cfi_def_cfa rbx, 16
        .cfi_offset rbp, -16
        .cfi_same_value rbx
        call    *%rsi
        .globl  lt_switch_pretended
        .hidden lt_switch_pretended
lt_switch_pretended:
        .cfi_restore_state
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
        .cfi_endproc
        .size   lt_switch_pretend, . - lt_switch_pretend

        .section .note.GNU-stack, "", @progbits
