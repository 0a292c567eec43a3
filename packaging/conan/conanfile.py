"""The recipe of Cradle for Conan 2: conan create packaging/conan --version 1.0.0 (docs/packages.md)."""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.0"


class Cradle(ConanFile):
    name = "cradle"
    description = "A precise, moving, generational garbage collector for language runtimes in C"
    license = "MIT"
    url = homepage = "URL"
    topics = ("garbage-collector", "virtual-machine", "interpreter", "runtime")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CRADLE_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        CMake(self).install()
        # Conan writes what find_package and pkg-config read.
        rmdir(self, str(Path(self.package_folder) / "share"))

    def package_info(self):
        self.cpp_info.libs = ["cradle"]
        self.cpp_info.set_property("cmake_file_name", "Cradle")
        self.cpp_info.set_property("cmake_target_name", "cradle::cradle")
        self.cpp_info.set_property("pkg_config_name", "cradle")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
