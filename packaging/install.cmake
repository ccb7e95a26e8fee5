# What `cmake --install` puts where. docs/install.md has the same list.
#
# What has names of NVIDIA's packages (nccl.h, libnccl.so.2, nccl.pc) lies in a prefix of its own inside the library folder, so that
# nothing of theirs is overwritten or hidden: NCCL_HOME=<libdir>/tutti/nccl.
#
# Components are those of the Debian packages (cpack.cmake), and two that only the tar and `cmake --install` have: tutti-zsh, documents.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TUTTI_PRIVATE_DIR ${CMAKE_INSTALL_LIBDIR}/tutti)
set(TUTTI_NCCL_DIR ${TUTTI_PRIVATE_DIR}/nccl)
set(made ${PROJECT_BINARY_DIR}/packaging)

# libtutti
install(TARGETS tutti_shared EXPORT tutti
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtutti NAMELINK_COMPONENT libtutti-dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/tutti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libtutti-dev FILES_MATCHING PATTERN *.h)

# libtutti.a, where the tools are there that make it.
if(CMAKE_OBJCOPY)
  set(archive ${PROJECT_BINARY_DIR}/libtutti.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -DINSIDE=$<TARGET_FILE:tutti> "-DLIBRARIES=${TUTTI_SODIUM};${TUTTI_PUGIXML}" -DARCHIVE=${archive}
            -DLINKER=${CMAKE_LINKER} -DOBJCOPY=${CMAKE_OBJCOPY} -DNM=${CMAKE_NM} -DAR=${CMAKE_AR}
            -P ${PROJECT_SOURCE_DIR}/packaging/archive.cmake
    DEPENDS tutti packaging/archive.cmake
    COMMENT "Making libtutti.a"
    VERBATIM)
  add_custom_target(tutti_archive ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtutti-dev)
endif()

# libnccl.so.2
if(TUTTI_NCCL)
  install(TARGETS nccl EXPORT tutti
          LIBRARY DESTINATION ${TUTTI_NCCL_DIR}/lib COMPONENT libnccl NAMELINK_COMPONENT libtutti-dev
          INCLUDES DESTINATION ${TUTTI_NCCL_DIR}/include)
  install(FILES include/nccl.h DESTINATION ${TUTTI_NCCL_DIR}/include COMPONENT libtutti-dev)
endif()

# What jaxlib loads (docs/jax.md).
if(TUTTI_MPITRAMPOLINE)
  install(TARGETS tutti_mpitrampoline LIBRARY DESTINATION ${TUTTI_PRIVATE_DIR} COMPONENT libtutti)
endif()

# For CMake and pkg-config.
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(EXPORT tutti NAMESPACE tutti:: FILE tuttiTargets.cmake DESTINATION ${cmake_dir} COMPONENT libtutti-dev)
configure_package_config_file(packaging/tuttiConfig.cmake.in ${made}/tuttiConfig.cmake INSTALL_DESTINATION ${cmake_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${made}/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/tuttiConfig.cmake ${made}/tuttiConfigVersion.cmake DESTINATION ${cmake_dir} COMPONENT libtutti-dev)

# pkg-config's files lead to the prefix by their own place, so that the tree may be moved.
function(tutti_pkg_config name folder)
  file(RELATIVE_PATH TUTTI_UP /prefix/${folder} /prefix)
  string(REGEX REPLACE "/$" "" TUTTI_UP "${TUTTI_UP}")
  configure_file(packaging/${name}.in ${made}/${name} @ONLY)
  install(FILES ${made}/${name} DESTINATION ${folder} COMPONENT libtutti-dev)
endfunction()
tutti_pkg_config(tutti.pc ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TUTTI_NCCL)
  tutti_pkg_config(tutti-nccl.pc ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  tutti_pkg_config(nccl.pc ${TUTTI_NCCL_DIR}/lib/pkgconfig)
endif()

# The program, its pages and completions. They are made by the program from the tables by which it reads its options.
if(TUTTI_TOOLS)
  install(TARGETS tutti_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tutti-tools)
  install(TARGETS tutti_audit LIBRARY DESTINATION ${TUTTI_PRIVATE_DIR} COMPONENT tutti-tools)
  set(pages ${made}/pages)
  add_custom_command(
    OUTPUT ${pages}/made
    COMMAND ${CMAKE_COMMAND} -DTUTTI=$<TARGET_FILE:tutti_tool> -DFOLDER=${pages} -P ${PROJECT_SOURCE_DIR}/packaging/pages.cmake
    DEPENDS tutti_tool packaging/pages.cmake
    COMMENT "Making the manual pages of tutti"
    VERBATIM)
  add_custom_target(tutti_pages ALL DEPENDS ${pages}/made)
  install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tutti-tools)
  set(share ${CMAKE_INSTALL_DATADIR})
  install(FILES ${pages}/tutti.bash DESTINATION ${share}/bash-completion/completions RENAME tutti COMPONENT tutti-tools)
  install(FILES ${pages}/tutti.zsh DESTINATION ${share}/zsh/site-functions RENAME _tutti COMPONENT tutti-zsh)
  install(FILES ${pages}/tutti.fish DESTINATION ${share}/fish/vendor_completions.d COMPONENT tutti-tools)
endif()

install(FILES LICENSE README.md packaging/third-party-notices.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
