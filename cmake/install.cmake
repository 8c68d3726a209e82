# What `make install` installs: the libraries, their headers and man pages, what CMake and
# pkg-config need to find them, and a script for gdb.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/leat)

install(TARGETS leat-static leat-shared EXPORT leatTargets)
set(own_headers ${headers})
list(REMOVE_ITEM own_headers ${link_header})
install(FILES ${own_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/leat)
install(EXPORT leatTargets NAMESPACE leat:: DESTINATION ${package_dir})

configure_package_config_file(cmake/leatConfig.cmake.in leatConfig.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
configure_file(cmake/leatConfigVersion.cmake.in leatConfigVersion.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/leatConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/leatConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix in leat.pc is relative to the file, so that `cmake --install --prefix` holds.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH up /${pc_dir} /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(pc_prefix "\${pcfiledir}/${up}")
endif()
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir ${CMAKE_INSTALL_LIBDIR})
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/leat.pc.in leat.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/leat.pc DESTINATION ${pc_dir})

# gdb loads a script by itself for a shared library, if it finds one below its own data directory
# (with the prefix /usr, mostly), under the library's path. A static library has no such place: the
# manual says to source the script.
set(gdb_script scripts/leat-gdb.py)
set(gdb_module scripts/leat_gdb_program.py) # which the script imports from its own folder
install(FILES ${gdb_script} ${gdb_module} DESTINATION ${CMAKE_INSTALL_DATADIR}/leat)
set(library_dir ${CMAKE_INSTALL_LIBDIR})
if(NOT IS_ABSOLUTE ${library_dir})
    set(library_dir "\${CMAKE_INSTALL_PREFIX}/${library_dir}") # known when it is installed
endif()
set(auto_load ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${library_dir})
install(FILES ${gdb_script} DESTINATION ${auto_load} RENAME libleat.so.${PROJECT_VERSION}-gdb.py)
install(FILES ${gdb_module} DESTINATION ${auto_load})

# Debian always has perl; without it, only the man pages are missing.
find_program(PERL perl)
if(PERL)
    set(man ${CMAKE_CURRENT_BINARY_DIR}/man)
    file(GLOB manual CONFIGURE_DEPENDS scripts/manual*)
    add_custom_command(OUTPUT ${man}/made
        COMMAND ${CMAKE_COMMAND} -E env LEAT_LINK=${LEAT_LINK}
                ${PERL} ${PROJECT_SOURCE_DIR}/scripts/manual man ${man}
        COMMAND ${CMAKE_COMMAND} -E touch ${man}/made
        DEPENDS ${headers} ${manual} README.md
        COMMENT "Making the man pages")
    add_custom_target(leat-manual ALL DEPENDS ${man}/made)
    install(DIRECTORY ${man}/man3 ${man}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
