# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0

# ttt_torch: LibTorch as system includes.
add_library(ttt_torch INTERFACE)
target_link_libraries(ttt_torch INTERFACE LibTorch::cpu)

# ttt_pch: owns the precompiled torch/torch.h.
if(TTT_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/ttt_pch.cpp "")
  add_library(ttt_pch OBJECT ${CMAKE_BINARY_DIR}/ttt_pch.cpp)
  target_link_libraries(ttt_pch PRIVATE ttt_options ttt_torch)
  target_precompile_headers(ttt_pch PRIVATE <torch/torch.h>)
  set_target_properties(ttt_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(ttt_pch PRIVATE -fPIC)
endif()

# ttt_use_torch_pch(target): the target's files start with the precompiled torch/torch.h.
function(ttt_use_torch_pch target)
  if(TTT_PCH)
    # A precompiled header fits only code of the same kind: -fPIC, for programs too.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
    target_precompile_headers(${target} REUSE_FROM ttt_pch)
  endif()
endfunction()

# ttt_add_library(name SOURCES … PUBLIC … PRIVATE …): a static library under our rules.
function(ttt_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ttt_options ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()

# ttt_add_test(area SOURCES … LINK … LABELS …): program test_<area>; each GoogleTest case is a test.
function(ttt_add_test area)
  cmake_parse_arguments(ARG "TORCH_PCH" "" "SOURCES;LINK;LABELS" ${ARGN})
  set(target test_${area})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ttt_options ${ARG_LINK} ttt_test_support GTest::gtest_main)
  if(ARG_TORCH_PCH)
    ttt_use_torch_pch(${target})
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${ARG_LABELS}"
                       # Two test programs at a time must not spin in each other's way.
                       ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()
