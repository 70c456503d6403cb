# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the Python files, the library and the programs, which CMake builds without LibTorch.

setuptools rather than scikit-build-core, because Debian has it, and because nothing here depends on the version of
Python: the library is called through ctypes, so that one wheel serves them all. scripts/build_wheel.sh makes a wheel
for other systems of it.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    found = re.search(r"project\(transmute VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    return found.group(1)


def cmake(*arguments: object) -> None:
    subprocess.run(["cmake", *map(str, arguments)], check=True)


class BuildWithCMake(build_py):
    def run(self) -> None:
        super().run()
        build = Path(os.environ.get("TRANSMUTE_WHEEL_BUILD", ROOT / "build" / "wheel"))
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        cmake("-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DTRANSMUTE_WITH_TORCH=OFF",
              "-DTRANSMUTE_BUILD_TESTS=OFF", "-DTRANSMUTE_BUILD_WHEEL=ON", "-DCMAKE_MESSAGE_LOG_LEVEL=WARNING")  # fmt: skip
        cmake("--build", build, "--parallel", os.cpu_count() or 1, "--target", "transmute", "transmute_in_one")
        with tempfile.TemporaryDirectory() as installed:
            cmake("--install", build, "--prefix", installed, "--component", "wheel", "--strip")
            self.take(Path(installed), Path(self.build_lib) / "transmute")

    @staticmethod
    def take(installed: Path, package: Path) -> None:
        for folder in ("lib", "bin"):
            shutil.rmtree(package / folder, ignore_errors=True)
            (package / folder).mkdir()
        shutil.copy2(installed / "bin" / "transmute_in_one", package / "bin" / "transmute")
        for library in (installed / "lib").iterdir():
            if library.name.startswith("libtransmute_spm"):  # copies of SentencePiece
                shutil.copy2(library, package / "lib")
        shutil.copy2(installed / "lib" / "libtransmute.so", package / "lib" / "libtransmute.so")


class BinaryDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


class WheelForAllPythons(bdist_wheel):
    def get_tag(self) -> "tuple[str, str, str]":
        return ("py3", "none", super().get_tag()[2])


setup(
    version=version(),
    distclass=BinaryDistribution,
    cmdclass={"build_py": BuildWithCMake, "bdist_wheel": WheelForAllPythons},
)
