# Without vptr: tvm-ffi casts to classes whose type information is in other libraries.
if(NNEF_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
                      -fno-sanitize=vptr)
  add_link_options(-fsanitize=address,undefined)
endif()
if(NNEF_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
