# Finds TVM and tvm-ffi inside the Python environment that tools/setup.sh makes (or the one given by NNEF_PYTHON).
# Makes the imported targets tvm_ffi (linked), tvm_runtime (of the plug-ins alone) and the variables NNEF_TVM_LIBRARY_DIR, NNEF_TVM_FFI_LIBRARY_DIR.
if(SKBUILD AND NOT EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(nnef_default_python ${Python_EXECUTABLE})
else()
  set(nnef_default_python ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
set(NNEF_PYTHON ${nnef_default_python} CACHE FILEPATH "Python with apache-tvm and apache-tvm-ffi")
execute_process(
  COMMAND ${NNEF_PYTHON} -c "import importlib.util as u, os; print(';'.join(os.path.dirname(u.find_spec(n).origin) for n in ('tvm_ffi', 'tvm')), end='')"
  OUTPUT_VARIABLE nnef_packages RESULT_VARIABLE nnef_status)
if(NOT nnef_status EQUAL 0)
  message(FATAL_ERROR "apache-tvm was not found in ${NNEF_PYTHON}: run tools/setup.sh first")
endif()
list(GET nnef_packages 0 nnef_tvm_ffi_package)
list(GET nnef_packages 1 nnef_tvm_package)
set(NNEF_TVM_FFI_LIBRARY_DIR ${nnef_tvm_ffi_package}/lib)
set(NNEF_TVM_LIBRARY_DIR ${nnef_tvm_package}/lib)

add_library(tvm_ffi SHARED IMPORTED)
set_target_properties(tvm_ffi PROPERTIES
  IMPORTED_LOCATION ${NNEF_TVM_FFI_LIBRARY_DIR}/libtvm_ffi.so
  INTERFACE_INCLUDE_DIRECTORIES "${nnef_tvm_ffi_package}/include;${nnef_tvm_package}/include")

add_library(tvm_runtime SHARED IMPORTED)
set_target_properties(tvm_runtime PROPERTIES IMPORTED_LOCATION ${NNEF_TVM_LIBRARY_DIR}/libtvm_runtime.so)
target_link_options(tvm_runtime INTERFACE -Wl,--no-as-needed)
