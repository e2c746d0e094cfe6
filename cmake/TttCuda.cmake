# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA ops are built, and for which GPUs. Results: TTT_CUDA_ENABLED,
# TTT_CUDA_REASON, TTT_CUDA_VERSION, TTT_CUDA_ARCHS_USED and TTT_CUDA_FLAGS.
set(TTT_CUDA_ENABLED OFF)
if(TTT_CUDA STREQUAL "OFF")
  set(TTT_CUDA_REASON "TTT_CUDA=OFF")
else()
  find_program(TTT_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  if(TTT_NVCC AND LibTorch_HAS_CUDA)
    set(TTT_CUDA_ENABLED ON)
    execute_process(COMMAND ${TTT_NVCC} --version OUTPUT_VARIABLE _nvcc_version)
    string(REGEX MATCH "release ([0-9.]+)" _match "${_nvcc_version}")
    set(TTT_CUDA_VERSION ${CMAKE_MATCH_1})
    set(TTT_CUDA_REASON "toolkit ${TTT_CUDA_VERSION} (${TTT_NVCC})")
  elseif(TTT_NVCC)
    set(TTT_CUDA_REASON "this LibTorch is a CPU-only build")
  else()
    set(TTT_CUDA_REASON "no CUDA toolkit (nvcc) found")
  endif()
  if(TTT_CUDA STREQUAL "ON" AND NOT TTT_CUDA_ENABLED)
    message(FATAL_ERROR "TTT_CUDA=ON, but ${TTT_CUDA_REASON}.\n"
      "Install the CUDA toolkit and a CUDA build of LibTorch, or configure with -DTTT_CUDA=OFF.")
  endif()
endif()
if(NOT TTT_CUDA_ENABLED)
  return()
endif()

# ttt_default_cuda_archs(result): the local GPU's architecture if there is one, else one per
# generation from Ampere on that this nvcc knows.
function(ttt_default_cuda_archs result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE _capabilities ERROR_QUIET RESULT_VARIABLE _failed)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" _local "${_capabilities}")
  string(REPLACE "." "" _local "${_local}")
  list(REMOVE_DUPLICATES _local)
  list(FILTER _local EXCLUDE REGEX "^[0-7][0-9]$") # older than Ampere: no bfloat16 tensor cores
  execute_process(COMMAND ${TTT_NVCC} --list-gpu-arch OUTPUT_VARIABLE _known)
  set(_archs)
  if(_failed EQUAL 0 AND _local)
    set(_wanted ${_local})
  else()
    set(_wanted 80 90 100 120)
  endif()
  foreach(_arch IN LISTS _wanted)
    if(_known MATCHES "compute_${_arch}\n")
      list(APPEND _archs ${_arch})
    endif()
  endforeach()
  if(NOT _archs)
    message(FATAL_ERROR "${TTT_NVCC} compiles for none of these GPU architectures: ${_wanted}.\n"
      "Name ones that it knows with -DTTT_CUDA_ARCHS=…, or configure with -DTTT_CUDA=OFF.")
  endif()
  set(${result} ${_archs} PARENT_SCOPE)
endfunction()

if(TTT_CUDA_ARCHS)
  set(_archs ${TTT_CUDA_ARCHS})
else()
  ttt_default_cuda_archs(_archs)
endif()
list(SORT _archs COMPARE NATURAL)
set(TTT_CUDA_ARCHS_USED ${_archs})
# All machine code comes from the PTX of the oldest, which saves a run of the compiler's front end for
# each; that PTX is included too, for GPUs that are newer than all of them.
list(GET _archs 0 _oldest)
list(TRANSFORM _archs PREPEND "sm_" OUTPUT_VARIABLE _codes)
list(JOIN _codes "," _codes)
set(TTT_CUDA_FLAGS "--generate-code=arch=compute_${_oldest},code=[compute_${_oldest},${_codes}]"
    --expt-relaxed-constexpr -Xptxas=-v -Xcompiler=-Wall,-Wextra)
if(TTT_WERROR)
  list(APPEND TTT_CUDA_FLAGS --Werror=all-warnings)
endif()
set(CMAKE_CUDA_ARCHITECTURES OFF)

# C++17: the newest that CMake 3.25 knows how to ask of nvcc.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_COMPILER ${TTT_NVCC})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
enable_language(CUDA)
# The CUDA runtime is linked statically (CMake's default): programs start without loading it.
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/record_resources.sh ${TTT_CCACHE})
list(JOIN TTT_CUDA_ARCHS_USED ", " _list)
string(APPEND TTT_CUDA_REASON " for GPU architectures ${_list}")
