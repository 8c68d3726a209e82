# What libleat is built as. docs/building.md says what each is for.
#   leat-objects   the compiled files, position-independent
#   leat-static    libleat.a: one object, in which only public names are global
#   leat-shared    libleat.so, whose symbols have versions (cmake/leat.map)
#   leat-internal  an archive of the compiled files as they are: the tests use internal names
# leat::leat is the shared library with BUILD_SHARED_LIBS, otherwise the static one.

file(GLOB sources CONFIGURE_DEPENDS src/*/*.c)
file(GLOB headers CONFIGURE_DEPENDS include/leat/*.h)
set(link_header ${CMAKE_CURRENT_SOURCE_DIR}/include/leat/link.h) # of another library: link/

add_library(leat-objects OBJECT ${sources} src/arch/switch_${machine}.S src/look/page.S)
set_source_files_properties(src/look/page.S PROPERTIES
    OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/look/page.html)
if(machine STREQUAL "x86_64")
    # src/arch/switch.h calls from within a function that the compiler may take for a leaf.
    set_source_files_properties(src/sched/host.c src/sched/worker.c src/sim/world.c
        PROPERTIES COMPILE_OPTIONS -mno-red-zone)
endif()
set_target_properties(leat-objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
# A public function is inlined in the library, too (clang does it by default), and a program that
# links the static library with --gc-sections leaves out what it does not use. Functions begin at a
# cache line: else a change in one file moves the others' loops, which cost up to 1.14 as much then.
target_compile_options(leat-objects PRIVATE -ffunction-sections -falign-functions=64
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-fno-semantic-interposition>)
target_include_directories(leat-objects PRIVATE include src)
target_link_libraries(leat-objects PRIVATE Threads::Threads)

# With link-time optimization a compiled file is no machine code yet, and clang's sanitizers refer
# to hidden symbols that only the last link defines. The archive then holds the files as they are.
set(flags "${CMAKE_C_FLAGS}")
if(CMAKE_BUILD_TYPE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    string(APPEND flags " ${CMAKE_C_FLAGS_${config}}")
endif()
# A project that fetches leat may ask for these in one configuration, or for its whole folder.
get_directory_property(all_flags COMPILE_OPTIONS)
string(APPEND all_flags " ${flags}")
set(lto ${CMAKE_INTERPROCEDURAL_OPTIMIZATION})
foreach(config ${CMAKE_BUILD_TYPE} ${CMAKE_CONFIGURATION_TYPES})
    string(TOUPPER ${config} config)
    if(CMAKE_INTERPROCEDURAL_OPTIMIZATION_${config})
        set(lto ON)
    endif()
endforeach()
if(all_flags MATCHES "-flto")
    set(lto ON)
endif()
if(lto OR all_flags MATCHES "-fsanitize" OR NOT CMAKE_OBJCOPY)
    set(static_hides OFF)
    add_library(leat-static STATIC $<TARGET_OBJECTS:leat-objects>)
else()
    set(static_hides ON)
    set(whole ${CMAKE_CURRENT_BINARY_DIR}/libleat$<$<BOOL:$<CONFIG>>:-$<CONFIG>>.o)
    # As CMake calls the compiler for a link, so that -m32 or --sysroot has its effect here, too.
    # But a flag for coverage brings a library of the compiler's, which is the program's to link.
    separate_arguments(for_link UNIX_COMMAND "${CMAKE_C_COMPILER_ARG1} ${flags}")
    list(FILTER for_link EXCLUDE REGEX "^(--?coverage$|-fprofile-(arcs|generate|instr))")
    if(CMAKE_C_COMPILER_ID MATCHES Clang)
        list(APPEND for_link -Wno-unused-command-line-argument)
    endif()
    foreach(kind TARGET EXTERNAL_TOOLCHAIN)
        if(CMAKE_C_COMPILER_${kind} AND CMAKE_C_COMPILE_OPTIONS_${kind})
            list(APPEND for_link ${CMAKE_C_COMPILE_OPTIONS_${kind}}${CMAKE_C_COMPILER_${kind}})
        endif()
    endforeach()
    if(CMAKE_SYSROOT_LINK OR CMAKE_SYSROOT)
        set(sysroot ${CMAKE_SYSROOT_LINK} ${CMAKE_SYSROOT})
        list(GET sysroot 0 sysroot)
        list(APPEND for_link ${CMAKE_C_COMPILE_OPTIONS_SYSROOT}${sysroot})
    endif()
    add_custom_command(OUTPUT ${whole}
        COMMAND ${CMAKE_C_COMPILER} ${for_link} -r -nostdlib -o ${whole}
                $<TARGET_OBJECTS:leat-objects>
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
        DEPENDS $<TARGET_OBJECTS:leat-objects>
        COMMENT "Hiding what is not public"
        COMMAND_EXPAND_LISTS VERBATIM)
    add_library(leat-static STATIC ${whole})
    set_target_properties(leat-static PROPERTIES LINKER_LANGUAGE C)
    add_dependencies(leat-static leat-objects)
endif()
set_target_properties(leat-static PROPERTIES OUTPUT_NAME leat EXPORT_NAME static)

add_library(leat-shared SHARED $<TARGET_OBJECTS:leat-objects>)
set(map ${CMAKE_CURRENT_SOURCE_DIR}/cmake/leat.map)
set_target_properties(leat-shared PROPERTIES
    OUTPUT_NAME leat EXPORT_NAME shared VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${map})
# Calls from the library to its own public functions need no detour through a table. dlclose does
# not unload the library: what it keeps for the next runtime would be lost, and other handlers of
# signals may still call its own.
target_link_options(leat-shared PRIVATE
    LINKER:--version-script=${map} LINKER:-Bsymbolic-functions LINKER:-z,nodelete)

add_library(leat-internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:leat-objects>)
target_include_directories(leat-internal INTERFACE src)

# So that no frame steps over the guard below a task's stack. clang has it for x86 alone.
set(probing_compilers GNU)
if(machine STREQUAL "x86_64")
    list(APPEND probing_compilers Clang)
endif()
if(CMAKE_C_COMPILER_ID IN_LIST probing_compilers)
    set(LEAT_PROBES -fstack-clash-protection)
endif()
list(JOIN probing_compilers "," probing_compilers)

foreach(library leat-shared leat-static leat-internal)
    target_include_directories(${library} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE Threads::Threads)
    foreach(language C CXX)
        target_compile_options(${library} INTERFACE
            $<$<COMPILE_LANG_AND_ID:${language},${probing_compilers}>:-fstack-clash-protection>)
    endforeach()
    if(lto AND NOT library STREQUAL "leat-shared")
        # Only assembly names these variables, and a linker that optimizes does not see that.
        target_link_options(${library} INTERFACE
            LINKER:-u,lt_current_of_thread LINKER:-u,lt_world_of_thread)
    endif()
endforeach()

add_library(leat::static ALIAS leat-static)
add_library(leat::shared ALIAS leat-shared)
set(other leat-shared)
if(BUILD_SHARED_LIBS)
    set(other leat-static)
    add_library(leat::leat ALIAS leat-shared)
else()
    add_library(leat::leat ALIAS leat-static)
endif()
# A project that fetches leat builds the library that it uses.
if(NOT LEAT_INSTALL)
    set_target_properties(${other} PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
