# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
string(TOUPPER "${CMAKE_BUILD_TYPE}" _build_type)
message(STATUS "")
message(STATUS "ttt ${PROJECT_VERSION}")
message(STATUS "  compiler   ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  LibTorch   ${LibTorch_VERSION} (CUDA: ${LibTorch_HAS_CUDA}) in ${LibTorch_ROOT_DIR}")
message(STATUS "  CUDA ops   ${TTT_CUDA_ENABLED}: ${TTT_CUDA_REASON}")
message(STATUS "  OpenCV     ${OpenCV_VERSION}")
message(STATUS "  programs   ${TTT_BUILD_APPS}, tests ${TTT_BUILD_TESTS}, benchmarks ${TTT_BUILD_BENCH}")
message(STATUS "  ccache     ${CCACHE_PROGRAM}")
message(STATUS "")
