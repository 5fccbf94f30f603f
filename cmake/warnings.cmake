# Warnings are errors for the project's own code; headers of others are included as system headers.
add_compile_options(-Wall -Wextra -Wpedantic -Werror)
# GCC 12 and 13 report string concatenation as overlapping copies (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  add_compile_options(-Wno-restrict)
endif()
# -O2: the program is glue around TVM's compiler, and -O3 costs build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
