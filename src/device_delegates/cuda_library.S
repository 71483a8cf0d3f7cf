/* The bytes of libtenon_delegate.so, between two labels. */
    .section .rodata
    .balign 64
    .global tenon_cuda_library_begin
    .global tenon_cuda_library_end
tenon_cuda_library_begin:
    .incbin TENON_CUDA_LIBRARY
tenon_cuda_library_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
