# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# WebP::demux: libwebp with its container reader (Debian ships no CMake package for them).
find_path(WebP_INCLUDE_DIR webp/demux.h)
find_library(WebP_LIBRARY webp)
find_library(WebP_DEMUX_LIBRARY webpdemux)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(WebP
  REQUIRED_VARS WebP_LIBRARY WebP_DEMUX_LIBRARY WebP_INCLUDE_DIR)
if(WebP_FOUND AND NOT TARGET WebP::demux)
  add_library(WebP::demux INTERFACE IMPORTED)
  set_target_properties(WebP::demux PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${WebP_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${WebP_DEMUX_LIBRARY};${WebP_LIBRARY}")
endif()
mark_as_advanced(WebP_INCLUDE_DIR WebP_LIBRARY WebP_DEMUX_LIBRARY)
