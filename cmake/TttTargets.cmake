# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0

# ttt_torch: LibTorch as system includes.
add_library(ttt_torch INTERFACE)
target_link_libraries(ttt_torch INTERFACE LibTorch::cpu)

# ttt_export(target): makes a library part of the installed package, as ttt::<name without ttt_>;
# the same name works in this tree.
function(ttt_export target)
  string(REGEX REPLACE "^ttt_" "" short ${target})
  add_library(ttt::${short} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${short})
  get_target_property(headers ${target} HEADER_SET)
  set(file_set)
  if(headers)
    set(file_set FILE_SET HEADERS DESTINATION ${TTT_INSTALL_INCLUDEDIR} COMPONENT development)
  endif()
  install(TARGETS ${target} EXPORT tttTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development ${file_set})
endfunction()
ttt_export(ttt_torch)

# ttt_public_headers(target files…): headers that the package installs.
function(ttt_public_headers target)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARGN})
endfunction()

# ttt_pch: owns the precompiled torch/torch.h.
if(TTT_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/ttt_pch.cpp CONTENT "") # written once
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

# ttt_add_library(name SOURCES … PUBLIC … PRIVATE … HEADERS …): a static library under our rules.
# One with public headers is part of the installed package.
function(ttt_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE;HEADERS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC}
                        PRIVATE $<BUILD_INTERFACE:ttt_options> ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  if(ARG_HEADERS)
    ttt_public_headers(${name} ${ARG_HEADERS})
    ttt_export(${name})
  endif()
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
