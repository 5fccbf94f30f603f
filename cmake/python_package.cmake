# What a wheel holds besides the Python files: everything native in one folder, where the parts find each other, and TVM's
# libraries in the packages beside it.
set(nnef_native nnef_tvm/native)
set(nnef_installed nnefc nnef_tvm tvm_runtime_opencl tvm_runtime_vulkan)
set_target_properties(${nnef_installed} PROPERTIES
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../tvm_ffi/lib;$ORIGIN/../../tvm/lib")
install(TARGETS ${nnef_installed}
  RUNTIME DESTINATION ${nnef_native} COMPONENT python
  LIBRARY DESTINATION ${nnef_native} COMPONENT python)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION nnef_tvm/include COMPONENT python)
# {fmt} is no part of systems in general.
install(CODE "
  file(GET_RUNTIME_DEPENDENCIES LIBRARIES $<TARGET_FILE:nnef_tvm> RESOLVED_DEPENDENCIES_VAR found
    UNRESOLVED_DEPENDENCIES_VAR missing PRE_INCLUDE_REGEXES libfmt PRE_EXCLUDE_REGEXES .*)
  file(INSTALL \${found} DESTINATION \${CMAKE_INSTALL_PREFIX}/${nnef_native} FOLLOW_SYMLINK_CHAIN)"
  COMPONENT python)
foreach(library fmt archive json3)
  file(GLOB licences /usr/share/doc/*${library}*-dev/copyright)
  if(licences)
    list(GET licences 0 licence)
    install(FILES ${licence} DESTINATION nnef_tvm/licences RENAME ${library}.txt COMPONENT python)
  endif()
endforeach()
if(SKBUILD)
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/python/nnefc.py DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME nnefc COMPONENT python)
endif()
