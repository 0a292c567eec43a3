# Runs packaging/vcpkg/portfile.cmake without vcpkg: cmake -DARCHIVE=... -DPORTFILE=... -DPREFIX=... -DWORK=... -P vcpkg.cmake
# Its functions do here what vcpkg's manual says of them, as far as the port needs it.
cmake_minimum_required(VERSION 3.18)
set(PORT cradle)
set(CURRENT_PACKAGES_DIR "${PREFIX}")

function(vcpkg_download_distfile result)
  cmake_parse_arguments(given "" "URLS;FILENAME;SHA512" "" ${ARGN})
  get_filename_component(name "${ARCHIVE}" NAME)
  if(NOT given_URLS MATCHES "/${name}$" OR NOT given_FILENAME STREQUAL name)
    message(FATAL_ERROR "asks for ${given_URLS}, not ${name}")
  endif()
  set(${result} "${ARCHIVE}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive result)
  cmake_parse_arguments(given "" "ARCHIVE" "" ${ARGN})
  file(ARCHIVE_EXTRACT INPUT "${given_ARCHIVE}" DESTINATION "${WORK}/source")
  file(GLOB folder "${WORK}/source/*")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(given "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run(${CMAKE_COMMAND} -G Ninja -S "${given_SOURCE_PATH}" -B "${WORK}/build" -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_INSTALL_PREFIX=${PREFIX}" ${given_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build "${WORK}/build" --target install)
endfunction()

function(vcpkg_replace_string file old new)
  file(READ "${file}" before)
  string(REPLACE "${old}" "${new}" after "${before}")
  if(before STREQUAL after)
    message(FATAL_ERROR "${file} has no ${old}")
  endif()
  file(WRITE "${file}" "${after}")
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(given "" "" "FILE_LIST" ${ARGN})
  configure_file("${given_FILE_LIST}" "${PREFIX}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${PORTFILE}")
