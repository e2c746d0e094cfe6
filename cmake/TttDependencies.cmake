# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# Every dependency, each found on this machine; a missing one stops with the package to install.

function(ttt_find name package)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found.\n"
      "Install it (Debian: apt-get install ${package}), or run scripts/setup.sh, which installs "
      "everything that the build needs.")
  endif()
  foreach(_var FOUND VERSION INCLUDE_DIRS LIBRARIES LIBS ROOT_DIR HAS_CUDA)
    set(${name}_${_var} "${${name}_${_var}}" PARENT_SCOPE)
  endforeach()
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
ttt_find(LibTorch "libtorch through scripts/setup.sh")
ttt_find(fmt libfmt-dev)
ttt_find(spdlog libspdlog-dev)
ttt_find(nlohmann_json nlohmann-json3-dev)
ttt_find(yaml-cpp libyaml-cpp-dev)
ttt_find(LibZip libzip-dev)
ttt_find(JPEG libjpeg-dev)
ttt_find(PNG libpng-dev)
ttt_find(TIFF libtiff-dev)
ttt_find(WebP libwebp-dev)
ttt_find(GIF libgif-dev)
ttt_find(OpenCV libopencv-dev COMPONENTS core imgproc imgcodecs videoio)
if(TTT_BUILD_APPS)
  ttt_find(CLI11 libcli11-dev)
endif()
if(TTT_BUILD_TESTS)
  ttt_find(GTest libgtest-dev)
endif()
if(TTT_BUILD_BENCH)
  ttt_find(benchmark libbenchmark-dev)
endif()
