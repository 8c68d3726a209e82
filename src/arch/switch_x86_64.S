/* switch_x86_64.S: see switch.h. System V: rbx, rbp and r12 to r15 are preserved. */

        .text

        .macro save_registers
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        .endm

/* void lt_switch(void **from, void *to) */
        .globl  lt_switch
        .hidden lt_switch
        .type   lt_switch, @function
        .p2align 4
lt_switch:
        .cfi_startproc
        save_registers
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        /* The other stack was left at this very point, so the frame has the same shape. */
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   lt_switch, . - lt_switch

/* void lt_switch_start(void **from, void *top, void (*entry)(void *), void *arg) */
        .globl  lt_switch_start
        .hidden lt_switch_start
        .type   lt_switch_start, @function
        .p2align 4
lt_switch_start:
        .cfi_startproc
        save_registers
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        /* Nothing called this stack: here a backtrace ends. */
        .cfi_undefined rip
        xorl    %ebp, %ebp
        movq    %rcx, %rdi
        call    *%rdx
        ud2
        .cfi_endproc
        .size   lt_switch_start, . - lt_switch_start

        .section .note.GNU-stack, "", @progbits
