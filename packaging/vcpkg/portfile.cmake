# A port of Cradle for vcpkg, to be used as an overlay: docs/packages.md says how, and where URL and SHA512 come from.
vcpkg_download_distfile(archive
  URLS "URL/cradle-${VERSION}.tar.xz"
  FILENAME "cradle-${VERSION}.tar.xz"
  SHA512 "SHA512")
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

# One library serves programs that are built for debugging, too: no macro changes the layout of a structure.
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(SOURCE_PATH "${source}" OPTIONS -DCRADLE_INSTALL=ON)
vcpkg_cmake_install()

# vcpkg has what find_package reads in share/NAME; the file finds its prefix from there.
file(RENAME "${CURRENT_PACKAGES_DIR}/share/cmake/Cradle" "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/${PORT}/CradleConfig.cmake" "/../../..\"" "/../..\"")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake" "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
