# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# LibTorch::openmp: the OpenMP runtime that LibTorch itself runs on.
# LibTorch::cpu: libtorch_cpu and libc10 alone. They start in half the time of the full set and in a
# quarter of its memory; libtorch_cuda is opened at run time when a GPU is there (core/device.cpp).
# LibTorch's own CMake package can't be used for this: in a CUDA build it refuses a machine that has
# no CUDA toolkit.
#
# Looked for in: TTT_LIBTORCH (CMake or environment), the folder that scripts/setup.sh fills, the
# torch package of the python3 on PATH.
set(_torch_version 2.11)
set(_candidates)
if(TTT_LIBTORCH)
  list(APPEND _candidates ${TTT_LIBTORCH})
elseif(DEFINED ENV{TTT_LIBTORCH})
  list(APPEND _candidates $ENV{TTT_LIBTORCH})
else()
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(_cache $ENV{XDG_CACHE_HOME}/ttt)
  else()
    set(_cache $ENV{HOME}/.cache/ttt)
  endif()
  file(GLOB _venvs ${_cache}/libtorch-${_torch_version}*/lib/python3*/site-packages/torch)
  list(APPEND _candidates ${_venvs})
  execute_process(
    COMMAND python3 -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin))"
    OUTPUT_VARIABLE _python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
  if(_failed EQUAL 0)
    list(APPEND _candidates ${_python_torch})
  endif()
endif()

set(LibTorch_ROOT_DIR LibTorch_ROOT_DIR-NOTFOUND)
set(LibTorch_REJECTED)
foreach(_dir IN LISTS _candidates)
  set(_version_file ${_dir}/include/torch/headeronly/version.h)
  if(NOT EXISTS ${_version_file})
    set(_version_file ${_dir}/include/torch/version.h)
  endif()
  if(NOT EXISTS ${_version_file} OR NOT EXISTS ${_dir}/lib/libtorch_cpu.so)
    list(APPEND LibTorch_REJECTED "${_dir} (no LibTorch in it)")
    continue()
  endif()
  file(STRINGS ${_version_file} _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" _numbers "${_lines}")
  string(REPLACE ";" "." LibTorch_VERSION "${_numbers}")
  if(LibTorch_VERSION VERSION_LESS ${_torch_version})
    list(APPEND LibTorch_REJECTED "${_dir} (version ${LibTorch_VERSION}; ${_torch_version} is needed)")
    continue()
  endif()
  set(LibTorch_ROOT_DIR ${_dir})
  break()
endforeach()

set(LibTorch_HAS_CUDA OFF)
if(EXISTS ${LibTorch_ROOT_DIR}/lib/libtorch_cuda.so)
  set(LibTorch_HAS_CUDA ON)
endif()
foreach(_rejected IN LISTS LibTorch_REJECTED)
  message(STATUS "LibTorch: not taken: ${_rejected}")
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT_DIR
                                  VERSION_VAR LibTorch_VERSION)
if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  # LibTorch brings headers of its own copy of fmt, newer than the library that spdlog was built
  # with. They must not be found first, so we include through a folder of links without them.
  set(_include ${CMAKE_BINARY_DIR}/libtorch-include)
  file(REMOVE_RECURSE ${_include})
  file(MAKE_DIRECTORY ${_include})
  file(GLOB _entries RELATIVE ${LibTorch_ROOT_DIR}/include ${LibTorch_ROOT_DIR}/include/*)
  list(REMOVE_ITEM _entries fmt)
  foreach(_entry IN LISTS _entries)
    file(CREATE_LINK ${LibTorch_ROOT_DIR}/include/${_entry} ${_include}/${_entry} SYMBOLIC)
  endforeach()
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT_DIR}/lib/libc10.so)
  add_library(LibTorch::cpu SHARED IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION ${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so
    INTERFACE_INCLUDE_DIRECTORIES
      "${_include};${_include}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES LibTorch::c10)

  # at::parallel_for is a template over OpenMP: files that call it need the flag, or they silently run
  # on one thread. The runtime must be LibTorch's, not a second one.
  add_library(LibTorch::openmp INTERFACE IMPORTED)
  if(EXISTS ${LibTorch_ROOT_DIR}/lib/libgomp.so.1)
    set_target_properties(LibTorch::openmp PROPERTIES
      INTERFACE_COMPILE_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>
      INTERFACE_LINK_LIBRARIES ${LibTorch_ROOT_DIR}/lib/libgomp.so.1)
  else()
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    set_target_properties(LibTorch::openmp PROPERTIES INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
  endif()
endif()
