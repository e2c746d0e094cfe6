# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# Run at each build; rewrites ttt_build_info.h only when something changed, so that at most one file
# (core/version.cpp) is compiled again after a commit.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=10
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(content "")
foreach(pair "VERSION:${VERSION}" "COMMIT:${commit}" "COMPILER:${COMPILER}" "TYPE:${TYPE}"
             "LIBTORCH:${LIBTORCH}" "CUDA:${CUDA}" "CUDNN:${CUDNN}" "ARCHITECTURES:${ARCHITECTURES}")
  string(REGEX MATCH "^([A-Z]+):(.*)$" _ "${pair}")
  string(APPEND content "#define TTT_BUILD_${CMAKE_MATCH_1} \"${CMAKE_MATCH_2}\"\n")
endforeach()
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
