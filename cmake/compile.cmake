# How everything here is compiled. Directory scope: a project that includes leat is not touched.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_UNITY_BUILD OFF) # two files may have a static function of one name
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wimplicit-fallthrough)
if(LEAT_WERROR)
    list(APPEND warnings -Werror)
endif()
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    # GCC looks after signs too, but lets an int be an enum.
    list(APPEND warnings -Wno-sign-conversion)
    # valgrind 3.19 cannot read clang's DWARF 5.
    add_compile_options(-fdebug-default-version=4)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${warnings}>")
# LEAT_HERE names the library's own tasks by their files. What is installed holds no path of the
# machine that built it, but for the debug information, in which debuggers look for the sources.
add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")

if(LEAT_HARSH)
    add_compile_definitions(LEAT_HARSH=1)
endif()

if(LEAT_SANITIZE)
    add_compile_options(-fsanitize=${LEAT_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${LEAT_SANITIZE})
endif()
