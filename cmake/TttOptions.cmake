# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# ttt_options: language level, warnings, sanitizers. Every target of ours links it.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache needs to cache files that use a precompiled header.
  set(TTT_CCACHE ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${TTT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TTT_CCACHE})
endif()

# -Wrestrict, -Wstringop-overflow: g++ 12 reports them inside std::string where there is nothing (GCC bug 105651).
add_library(ttt_options INTERFACE)
target_compile_features(ttt_options INTERFACE cxx_std_20)
target_include_directories(ttt_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ttt_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow=local -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ttt_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
if(TTT_WERROR)
  target_compile_options(ttt_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if("address" IN_LIST TTT_SANITIZE AND "thread" IN_LIST TTT_SANITIZE)
  message(FATAL_ERROR "TTT_SANITIZE: address and thread can't be combined; choose one")
endif()
if(TTT_SANITIZE)
  string(REPLACE ";" "," _sanitizers "${TTT_SANITIZE}")
  target_compile_options(ttt_options INTERFACE -fsanitize=${_sanitizers} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(ttt_options INTERFACE -fsanitize=${_sanitizers})
endif()
