# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# Stb::Stb: the header directory of the stb libraries (Debian ships no CMake package for them).
find_path(Stb_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Stb REQUIRED_VARS Stb_INCLUDE_DIR)
if(Stb_FOUND AND NOT TARGET Stb::Stb)
  add_library(Stb::Stb INTERFACE IMPORTED)
  set_target_properties(Stb::Stb PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${Stb_INCLUDE_DIR})
endif()
mark_as_advanced(Stb_INCLUDE_DIR)
