# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Components: runtime (the program and its files), development
# (libraries, headers, CMake package), python (ttt_ops). Libraries install themselves: ttt_export.
include(CMakePackageConfigHelpers)

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/ttt)
set(_generated ${CMAKE_CURRENT_BINARY_DIR}/package)
set(_data ${CMAKE_INSTALL_DATADIR}/ttt)

if(TTT_BUILD_APPS)
  file(RELATIVE_PATH _libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_property(TARGET ttt PROPERTY INSTALL_RPATH "$ORIGIN/${_libraries}")
  install(TARGETS ttt ttt_openmp_spin COMPONENT runtime)
endif()
install(DIRECTORY assets configs DESTINATION ${_data} COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
if(TTT_BUILD_PYTHON)
  install(TARGETS ttt_ops LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT python)
endif()

configure_package_config_file(cmake/tttConfig.cmake.in ${_generated}/tttConfig.cmake
                              INSTALL_DESTINATION ${_package} PATH_VARS _data)
write_basic_package_version_file(${_generated}/tttConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${_generated}/tttConfig.cmake ${_generated}/tttConfigVersion.cmake
              cmake/FindLibTorch.cmake cmake/FindLibZip.cmake cmake/FindWebP.cmake
        DESTINATION ${_package} COMPONENT development)
install(EXPORT tttTargets NAMESPACE ttt:: DESTINATION ${_package} COMPONENT development)
