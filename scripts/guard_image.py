#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Compiles elastic/process/guard/guard.cpp and writes its bytes into the header that carries them.

  guard_image.py                     writes the header
  guard_image.py --check             says whether the header is what the source compiles to
  guard_image.py --build ARCH FILE [--compiler COMPILER]   writes the program of one architecture

The bytes depend on the compiler (Debian 12: g++, g++-aarch64-linux-gnu). --check compares the
architectures for which there is that one; with ELASTIC_NOTHING_MISSING=1 it must be there for all.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "include/elastic/process/guard/guard.cpp"
HEADER = ROOT / "include/elastic/process/detail/guard_image.hpp"
COMPILERS = {"x86_64": "x86_64-linux-gnu-g++", "aarch64": "aarch64-linux-gnu-g++"}
VERSION = "12.2.0"
# No library, no writable data, one segment; nothing that depends on the place or the day.
FLAGS = """-std=c++20 -Wall -Wextra -Werror -Os -ffreestanding -fno-exceptions -fno-rtti
  -fno-stack-protector -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer
  -fno-tree-loop-distribute-patterns -fno-pie -nostdlib -static -no-pie -s
  -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack
  -Wl,-z,max-page-size=4096""".split()
PER_ARCH = {"x86_64": ["-fcf-protection=none", "-march=x86-64"],
            "aarch64": ["-march=armv8-a", "-mbranch-protection=none", "-mno-outline-atomics"]}


def build(arch, target, compiler=None):
    """The program of one architecture, as bytes."""
    command = [compiler or COMPILERS[arch], *FLAGS, *PER_ARCH[arch],
               f"-Wl,-T,{SOURCE.with_suffix('.ld')}", f"-I{ROOT / 'include'}",
               "-o", str(target), str(SOURCE)]
    subprocess.run(command, check=True)
    return pathlib.Path(target).read_bytes()


def listing(image):
    """The bytes as C++, sixteen in a line."""
    rows = [image[at:at + 16] for at in range(0, len(image), 16)]
    return "\n".join("    " + ", ".join(f"0x{byte:02x}" for byte in row) + "," for row in rows)


def section(arch):
    """The part of the header that is one architecture's."""
    with tempfile.TemporaryDirectory() as folder:
        image = build(arch, pathlib.Path(folder) / arch)
    return (f"if defined(__{arch}__)\n"
            f"inline constexpr unsigned char guard_image[{len(image)}] = {{\n"
            f"{listing(image)}\n}};\n")


def has_compiler(arch):
    """Whether the compiler that wrote the header is here."""
    try:
        told = subprocess.run([COMPILERS[arch], "-dumpfullversion"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return told.strip() == VERSION


def header_text():
    """The whole header."""
    sections = "#el".join(section(arch) for arch in COMPILERS)
    return ("// SPDX-FileCopyrightText: 2026 The elastic authors\n"
            "// SPDX-License-Identifier: MIT\n"
            "#pragma once\n\n"
            "// Written by scripts/guard_image.py from elastic/process/guard/guard.cpp. "
            "Do not edit.\n\n"
            "namespace elastic::detail {\n\n#" + sections +
            "#else\n// No guard for this processor.\n"
            "inline constexpr unsigned char guard_image[1] = {};\n#endif\n\n"
            "}  // namespace elastic::detail\n")


def main():
    if sys.argv[1:2] == ["--build"]:
        build(sys.argv[2], sys.argv[3], sys.argv[5] if len(sys.argv) > 5 else None)
    elif sys.argv[1:] == ["--check"]:
        header = HEADER.read_text(encoding="utf-8")
        for arch in COMPILERS:
            if not has_compiler(arch):
                missing = f"{arch}: not compared, {COMPILERS[arch]} {VERSION} is not here"
                if os.environ.get("ELASTIC_NOTHING_MISSING") == "1":
                    sys.exit(missing)
                print(missing)
            elif section(arch) not in header:
                sys.exit(f"{HEADER} is not what {SOURCE} compiles to: run scripts/guard_image.py")
            else:
                print(f"{arch}: the same")
    else:
        HEADER.write_text(header_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
