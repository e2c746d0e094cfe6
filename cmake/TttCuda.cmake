# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA ops are built. TTT_CUDA_ENABLED and TTT_CUDA_REASON are the result.
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
