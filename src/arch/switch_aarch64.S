/* switch_aarch64.S: see switch.h. AAPCS64: x19 to x30 are preserved, and so are d8 to d15. */

        .text

        .macro save_registers
        sub     sp, sp, #160
        .cfi_adjust_cfa_offset 160
        stp     x19, x20, [sp, #0]
        .cfi_rel_offset x19, 0
        .cfi_rel_offset x20, 8
        stp     x21, x22, [sp, #16]
        .cfi_rel_offset x21, 16
        .cfi_rel_offset x22, 24
        stp     x23, x24, [sp, #32]
        .cfi_rel_offset x23, 32
        .cfi_rel_offset x24, 40
        stp     x25, x26, [sp, #48]
        .cfi_rel_offset x25, 48
        .cfi_rel_offset x26, 56
        stp     x27, x28, [sp, #64]
        .cfi_rel_offset x27, 64
        .cfi_rel_offset x28, 72
        stp     x29, x30, [sp, #80]
        .cfi_rel_offset x29, 80
        .cfi_rel_offset x30, 88
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        .endm

/* void lt_switch_left(void **from, void *to) */
        .globl  lt_switch_left
        .hidden lt_switch_left
        .type   lt_switch_left, %function
        .p2align 4
lt_switch_left:
        .cfi_startproc
        save_registers
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        /* The other stack was left at this very point, so the frame has the same shape. */
        ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x29, x30, [sp, #80]
        ldp     x27, x28, [sp, #64]
        ldp     x25, x26, [sp, #48]
        ldp     x23, x24, [sp, #32]
        ldp     x21, x22, [sp, #16]
        ldp     x19, x20, [sp, #0]
        .cfi_restore x19
        .cfi_restore x20
        .cfi_restore x21
        .cfi_restore x22
        .cfi_restore x23
        .cfi_restore x24
        .cfi_restore x25
        .cfi_restore x26
        .cfi_restore x27
        .cfi_restore x28
        .cfi_restore x29
        .cfi_restore x30
        add     sp, sp, #160
        .cfi_adjust_cfa_offset -160
        ret
        .cfi_endproc
        .size   lt_switch_left, . - lt_switch_left

/* void lt_switch_begin(void **from, void *top, void (*entry)(void *), void *arg) */
        .globl  lt_switch_begin
        .hidden lt_switch_begin
        .type   lt_switch_begin, %function
        .p2align 4
lt_switch_begin:
        .cfi_startproc
        save_registers
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        /* Nothing called this stack: here a backtrace ends. */
        .cfi_undefined x30
        mov     x29, xzr
        mov     x30, xzr
        mov     x0, x3
        blr     x2
        brk     #1
        .cfi_endproc
        .size   lt_switch_begin, . - lt_switch_begin

/* void lt_switch_pretend(void *sp, void (*fn)(void *), void *arg) */
        .globl  lt_switch_pretend
        .hidden lt_switch_pretend
        .type   lt_switch_pretend, %function
        .p2align 4
lt_switch_pretend:
        .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        str     x19, [sp, #16]
        .cfi_rel_offset x19, 16
        mov     x19, x0
        mov     x0, x2
        /* What save_registers has left at sp. */
        .cfi_remember_state
        .cfi_def_cfa x19, 160
        .cfi_offset x19, -160
        .cfi_offset x20, -152
        .cfi_offset x21, -144
        .cfi_offset x22, -136
        .cfi_offset x23, -128
        .cfi_offset x24, -120
        .cfi_offset x25, -112
        .cfi_offset x26, -104
        .cfi_offset x27, -96
        .cfi_offset x28, -88
        .cfi_offset x29, -80
        .cfi_offset x30, -72
        blr     x1
        .globl  lt_switch_pretended
        .hidden lt_switch_pretended
lt_switch_pretended:
        .cfi_restore_state
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   lt_switch_pretend, . - lt_switch_pretend

        .section .note.GNU-stack, "", %progbits
