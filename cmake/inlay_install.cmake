# `cmake --install`: the program, the library, its public headers, and a package that find_package(inlay) finds.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/inlay)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/inlayConfig.cmake.in ${PROJECT_BINARY_DIR}/inlayConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/inlayConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS inlay EXPORT inlayTargets)
install(TARGETS inlay_program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/inlay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT inlayTargets NAMESPACE inlay:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/inlayConfig.cmake ${PROJECT_BINARY_DIR}/inlayConfigVersion.cmake DESTINATION ${package_folder})
