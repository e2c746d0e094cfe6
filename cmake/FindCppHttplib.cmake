# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# CppHttplib::httplib: the HTTP library (Debian's package has no CMake package). Its classes look as
# the library was compiled, which only its pkg-config file tells.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(CppHttplib_PC QUIET cpp-httplib)
endif()
find_path(CppHttplib_INCLUDE_DIR httplib.h HINTS ${CppHttplib_PC_INCLUDE_DIRS})
find_library(CppHttplib_LIBRARY cpp-httplib HINTS ${CppHttplib_PC_LIBRARY_DIRS})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CppHttplib
  REQUIRED_VARS CppHttplib_LIBRARY CppHttplib_INCLUDE_DIR CppHttplib_PC_FOUND)
if(CppHttplib_FOUND AND NOT TARGET CppHttplib::httplib)
  add_library(CppHttplib::httplib INTERFACE IMPORTED)
  set_target_properties(CppHttplib::httplib PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${CppHttplib_INCLUDE_DIR}
    INTERFACE_COMPILE_OPTIONS "${CppHttplib_PC_CFLAGS_OTHER}"
    INTERFACE_LINK_LIBRARIES "${CppHttplib_LIBRARY};Threads::Threads")
endif()
mark_as_advanced(CppHttplib_INCLUDE_DIR CppHttplib_LIBRARY)
