#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Checks a wheel that packaging/wheels/build.py built, and runs what is in it.

  check.py WHEEL…

Its tag, its size, which libraries its program needs, and which versions of their symbols. Programs
of the other processor run under the first qemu-aarch64 of PATH, if there is one. That of Debian 12
(7.2) refuses clone with CLONE_PIDFD, by which workers are started: there they only say their
version. That of its backports (10.0) runs jobs, too.
"""

import os
import pathlib
import platform as host
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

MOST_BYTES = 10_000_000
# What every glibc has; the policy of manylinux_2_28 permits them.
GLIBC = re.compile(r"(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1"
                   r"|libresolv\.so\.2|ld-linux-(x86-64\.so\.2|aarch64\.so\.1))")
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
# glibc for aarch64, of Debian's libc6-arm64-cross.
AARCH64_ROOT = "/usr/aarch64-linux-gnu"


def output(*command, code=0, **options):
    """What a command writes, after it has ended with this code."""
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                            **options)
    assert result.returncode == code, f"{command}: {result.returncode}\n{result.stdout}"
    return result.stdout


def readelf(program, option):
    return output("readelf", "--wide", option, program, env={**os.environ, "LC_ALL": "C"})


def check_libraries(program, platform):
    """A program for glibc needs no library but glibc's, of the version in the name of its wheel;
    one for musl needs nothing at all."""
    machine = re.search(r"Machine:\s+(.*)", readelf(program, "--file-header"))[1]
    assert machine == MACHINES[re.search(r"(x86_64|aarch64)$", platform)[1]], machine
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(program, "--dynamic")))
    interpreter = "INTERP" in readelf(program, "--program-headers")
    wanted = re.match(r"manylinux_(\d+)_(\d+)_", platform)
    if wanted is None:
        assert not needed and not interpreter, (needed, interpreter)
        return
    assert needed and interpreter and all(GLIBC.fullmatch(name) for name in needed), needed
    versions = set(re.findall(r"Name: (\S+)", readelf(program, "--version-info")))
    newest = tuple(map(int, wanted.groups()))
    for name in versions - needed:
        version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name)
        assert version and tuple(map(int, version.groups()[:2])) <= newest, name


def check_tag(archive, platform):
    info = next(name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
    tags = re.findall(r"(?m)^Tag: (.*)$", archive.read(info).decode())
    assert tags == [f"py3-none-{platform}"], tags


def install(wheel, platform, folder):
    """Into a folder, as pip does it for another machine. Result: the program."""
    output(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
           "--no-index", "--no-deps", "--only-binary", ":all:", "--target", folder,
           "--platform", platform, wheel)
    return folder / "bin/elasticrun"


def is_refused(wheel):
    """Whether the pip of this Python says that the wheel is not for this machine."""
    result = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download",
                             "--quiet", "--no-index", "--no-deps", "--dest", os.devnull, wheel],
                            text=True, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=300)
    return "is not a supported wheel on this platform" in result.stdout


def emulation(program, platform):
    """What a program is to be started with here. None if it cannot run here."""
    libc, _ = os.confstr("CS_GNU_LIBC_VERSION").split() if sys.platform == "linux" else ("", "")
    if platform.endswith(host.machine()):
        return [] if libc == "glibc" or platform.startswith("musllinux") else None
    qemu = shutil.which("qemu-aarch64")
    if not platform.endswith("aarch64") or qemu is None:
        return None
    if platform.startswith("musllinux"):
        return [qemu]
    return [qemu, "-L", AARCH64_ROOT] if pathlib.Path(AARCH64_ROOT).exists() else None


def starts_workers(emulator):
    """Whether an emulator knows clone with CLONE_PIDFD, as qemu 10 does."""
    if not emulator:
        return True
    version = re.search(r"version (\d+)", output(emulator[0], "--version"))[1]
    return int(version) >= 10


def check_version(program, emulator):
    version = output(*emulator, program, "--version")
    assert version.startswith("elasticrun "), version


def run_jobs(program, emulator, folder):
    """A job; and one whose workers fail once."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [*emulator, program, "--standalone", "--no-python", "--nproc-per-node", "2"]
    output(*command, "/bin/true", env=environment)
    said = output(*command, "--max-restarts", "1", "/bin/sh", "-c",
                  'echo "life $TORCHELASTIC_RESTART_COUNT"; test "$TORCHELASTIC_RESTART_COUNT" = 1',
                  env=environment)
    assert said.count("life 0") >= 1 and said.count("life 1") == 2, said


def check_wheel(wheel, platform):
    assert wheel.name.endswith(f"-py3-none-{platform}.whl"), wheel.name
    size = wheel.stat().st_size
    assert size <= MOST_BYTES, f"{wheel} has {size} bytes"
    with zipfile.ZipFile(wheel) as archive:
        check_tag(archive, platform)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = install(wheel, platform, folder)
        check_libraries(program, platform)
        emulator = emulation(program, platform)
        if emulator is None:
            print(f"{wheel.name}: cannot be run here")
        else:
            check_version(program, emulator)
            if starts_workers(emulator):
                run_jobs(program, emulator, folder)
            else:
                print(f"{wheel.name}: says its version under qemu; no job was run")
    runs_here = platform.startswith("manylinux") and platform.endswith(host.machine())
    assert is_refused(wheel) != runs_here, f"pip of this machine and {wheel.name}"


def main():
    for name in sys.argv[1:]:
        wheel = pathlib.Path(name)
        check_wheel(wheel, wheel.name.removesuffix(".whl").split("-")[-1])
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
