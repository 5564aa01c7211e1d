#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Builds wheels, and programs without any library, for the machines that people have.

  build.py [TARGET…]    all four by default; each is the platform in the name of its wheel:
                        manylinux_2_28_x86_64, manylinux_2_28_aarch64 (glibc 2.28 or later),
                        musllinux_1_2_x86_64, musllinux_1_2_aarch64 (static)
    --no-tls            without OpenSSL
    --unoptimized       compiles in a third of the time, for a test that it can be built
    --output FOLDER     for what is built (default: build/wheels/dist, and after one of the two
                        options above build/wheels/dist-no-tls and the like)
    --sources FOLDER    has, or gets, the sources of the libraries (default: build/wheels/sources)
    --jobs N            compilers at once

They are built from the archive of the sources that pip takes. Of each musllinux target there is an
archive, too, whose program needs no library. The compiler comes from PyPI, the libraries from
Debian 12 by apt-get (no root needed); without apt-get, put the files that it asks for into
--sources. All are pinned by their SHA-256. It takes make, perl, CMake and Ninja, and checks what it
built: packaging/wheels/check.py.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import NamedTuple

import check

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/wheels"
VENV = BUILD / "venv"
RELEASE = "bookworm"


class Target(NamedTuple):
    triple: str  # as the compiler names it
    processor: str
    link_options: str = ""


# musl gives a thread 128 KB unless the program asks for more. The coroutines of a large job, and
# what they call, were written for glibc's 8 MB.
STACK = "-Wl,-z,stack-size=8388608"
TARGETS = {
    "manylinux_2_28_x86_64": Target("x86_64-linux-gnu.2.28", "x86_64"),
    "manylinux_2_28_aarch64": Target("aarch64-linux-gnu.2.28", "aarch64"),
    "musllinux_1_2_x86_64": Target("x86_64-linux-musl", "x86_64", f"-static {STACK}"),
    "musllinux_1_2_aarch64": Target("aarch64-linux-musl", "aarch64", f"-static {STACK}"),
}


class Source(NamedTuple):
    """A file of Debian's archive."""

    package: str
    version: str
    file: str
    sha256: str

    @property
    def is_binary(self):
        return self.file.endswith(".deb")


ASIO = Source("libasio-dev", "1:1.22.1-1", "libasio-dev_1%3a1.22.1-1_all.deb",
              "d55e7b0773dcd4385b366b888415908902a2b3483dcb1bb193d6565b38c03af0")
JSON = Source("nlohmann-json3-dev", "3.11.2-2", "nlohmann-json3-dev_3.11.2-2_all.deb",
              "ec57940def6b6186c30be0e0ee81d1e58f86d11a54a145b28686a1e3e4aae801")
TOML = Source("libtomlplusplus-dev", "3.3.0+ds-1", "libtomlplusplus-dev_3.3.0+ds-1_amd64.deb",
              "2779cce0001466dcf60eb6262ff68a888d49f9e30aee80c499d1d4f6f9f6e12e")
FMT = Source("fmtlib", "9.1.0+ds1-2", "fmtlib_9.1.0+ds1.orig.tar.gz",
             "84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583")
LIBURING = Source("liburing", "2.3-3", "liburing_2.3.orig.tar.gz",
                  "2eac26f880125d83f75ba8641fde5d88226dd352d3cee95d45a9128758a8f1be")
OPENSSL = Source("openssl", "3.0.22-1~deb12u2", "openssl_3.0.22.orig.tar.gz",
                 "67ebca7e50d17383028045486653492195b83db95f8558709701bb47b5c1ef81")

# What a client of a store needs, and no more: fewer bytes to load, fewer lines to mend.
OPENSSL_OPTIONS = """no-shared no-tests no-dso no-module no-engine no-legacy no-comp no-ssl3 no-dtls
  no-srp no-psk no-cms no-ct no-ocsp no-ts no-cmp no-idea no-seed no-camellia no-aria no-bf no-cast
  no-rc2 no-rc4 no-mdc2 no-md4 no-rmd160 no-whirlpool no-sm2 no-sm3 no-sm4 no-gost no-siphash
  no-blake2 no-ec2m no-dsa no-scrypt no-ui-console""".split()


def run(*command, **options):
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    if subprocess.run(words, check=False, **options).returncode != 0:
        sys.exit(f"build.py: this failed: {shlex.join(words)}")


# ---- the compiler -------------------------------------------------------------------------------


def install_tools():
    """The compiler and the backend, in an environment of their own. Result: the compiler."""
    wanted = HERE / "requirements.txt"
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        run(sys.executable, "-m", "venv", "--clear", VENV)
        run(VENV / "bin/pip", "--disable-pip-version-check", "install", "--quiet",
            "--require-hashes", "--only-binary", ":all:", "-r", wanted)
        shutil.copy(wanted, installed)
    return next(VENV.glob("lib/python3*/site-packages/ziglang/zig"))


def write_script(path, command):
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def write_commands(compiler, target, folder):
    """The compiler for a target, as commands that Make and CMake can call."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler = shlex.quote(str(compiler))
    # Without optimization it would check for undefined behaviour at run time. It builds libc++ once
    # for programs without symbols and once for others, so it is told of that always.
    flags = f"-target {target.triple} -fno-sanitize=undefined -s"
    write_script(folder / "cc", f"{compiler} cc {flags}")
    write_script(folder / "c++", f"{compiler} c++ {flags}")
    write_script(folder / "ar", f"{compiler} ar")
    write_script(folder / "ranlib", f"{compiler} ranlib")


def compiler_name(target):
    wanted = hashlib.sha256((HERE / "requirements.txt").read_bytes()).hexdigest()
    return f"{target.triple} {wanted}"


# ---- the libraries ------------------------------------------------------------------------------


def debian_sources(folder):
    """This machine's lists of Debian's archive, with the sources. Others are left out."""
    parts = folder / "parts"
    parts.mkdir(parents=True)
    lists = pathlib.Path("/etc/apt")
    for path in [lists / "sources.list", *(lists / "sources.list.d").glob("*")]:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if path.suffix == ".sources":
            stanzas = [re.sub(r"(?m)^Types:.*$", "Types: deb deb-src", stanza)
                       for stanza in re.split(r"\n\s*\n", text)
                       if re.search(rf"(?m)^Suites:\s*{RELEASE}\b", stanza)]
            (parts / path.name).write_text("\n\n".join(stanzas) + "\n", encoding="utf-8")
        elif path.suffix == ".list":
            lines = [re.sub(r"^deb(-src)?\b", kind, line) for line in text.splitlines()
                     if re.match(rf"deb\s+(\[.*?\]\s+)?\S+\s+{RELEASE}\b", line)
                     for kind in ("deb", "deb-src")]
            (parts / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return parts


def download(wanted, folder):
    """Has apt-get bring files, with lists of its own: nothing of the machine's is changed."""
    with tempfile.TemporaryDirectory() as state:
        state = pathlib.Path(state)
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True)
        apt = ["apt-get", "-qq", "-o", "APT::Architecture=amd64", "-o", "APT::Architectures=amd64",
               "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=3",
               "-o", "Dir::Etc::sourcelist=/dev/null",
               "-o", f"Dir::Etc::sourceparts={debian_sources(state)}",
               "-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}/cache"]
        run(*apt, "update")
        for source in wanted:
            named = f"{source.package}={source.version}"
            if source.is_binary:
                run(*apt, "download", named, cwd=folder)
            else:
                run(*apt, "source", "--download-only", "--tar-only", named, cwd=folder)


def fetch(sources, folder):
    folder.mkdir(parents=True, exist_ok=True)
    missing = [source for source in sources if not (folder / source.file).exists()]
    if missing and shutil.which("apt-get"):
        download(missing, folder)
    for source in sources:
        path = folder / source.file
        what = f"{source.file} of {source.package} {source.version} in Debian 12"
        if not path.exists():
            sys.exit(f"build.py: {path.parent} lacks {what}, SHA-256 {source.sha256}")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != source.sha256:
            sys.exit(f"build.py: {path} is not {what}: its SHA-256 is {found}, not {source.sha256}")


def unpack(source, sources, folder):
    """Result: the folder in which the contents are."""
    place = folder / source.package
    if not place.exists():
        begun = folder / f"{source.package}.begun"
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        if source.is_binary:
            run("dpkg-deb", "-x", sources / source.file, begun)
        else:
            run("tar", "-xf", sources / source.file, "-C", begun)
        begun.rename(place)
    return place if source.is_binary else next(place.iterdir())


def copy_headers(origin, prefix):
    shutil.copytree(origin, prefix / "include", dirs_exist_ok=True)


def install_headers(sources, unpacked, prefix):
    """The libraries that are headers alone."""
    for source in (ASIO, JSON, TOML):
        copy_headers(unpack(source, sources, unpacked) / "usr/include", prefix)
    shutil.copytree(unpacked / JSON.package / "usr/share/cmake/nlohmann_json",
                    prefix / "share/cmake/nlohmann_json", dirs_exist_ok=True)
    copy_headers(unpack(FMT, sources, unpacked) / "include", prefix)
    package = prefix / "lib/cmake/fmt"
    package.mkdir(parents=True, exist_ok=True)
    (package / "fmt-config.cmake").write_text(
        "add_library(fmt::fmt-header-only INTERFACE IMPORTED)\n"
        "set_target_properties(fmt::fmt-header-only PROPERTIES\n"
        f'  INTERFACE_INCLUDE_DIRECTORIES "{prefix}/include"\n'
        "  INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)\n", encoding="utf-8")


def build_liburing(origin, prefix, tools, jobs):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "liburing"
        shutil.copytree(origin, place, symlinks=True)
        # It would try a compiler of C++ for its tests only.
        run("./configure", f"--cc={tools}/cc", "--cxx=false", f"--prefix={prefix}", cwd=place)
        run("make", "-s", "-j", jobs, "-C", "src", "install", "ENABLE_SHARED=0",
            f"AR={tools}/ar", f"RANLIB={tools}/ranlib", cwd=place)


def build_openssl(origin, prefix, processor, tools, jobs):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CC": f"{tools}/cc", "AR": f"{tools}/ar",
                       "RANLIB": f"{tools}/ranlib"}
        run("perl", origin / "Configure", f"linux-{processor}", *OPENSSL_OPTIONS,
            f"--prefix={prefix}", "--libdir=lib", "--openssldir=/etc/ssl", cwd=folder,
            env=environment, stdout=subprocess.DEVNULL)
        run("make", "-s", "-j", jobs, "install_dev", cwd=folder, env=environment,
            stdout=subprocess.DEVNULL)


def once(mark, sources, what, *arguments):
    """Calls a function unless it has succeeded with these sources before."""
    state = "\n".join(source.sha256 for source in sources)
    if not mark.exists() or mark.read_text(encoding="utf-8") != state:
        what(*arguments)
        mark.write_text(state, encoding="utf-8")


def build_libraries(arguments, target, prefix, tools):
    sources = pathlib.Path(arguments.sources).resolve()
    unpacked = BUILD / "unpacked"
    headers = [ASIO, JSON, TOML, FMT]
    fetch([*headers, LIBURING, *([OPENSSL] if arguments.tls else [])], sources)
    prefix.mkdir(parents=True, exist_ok=True)
    once(prefix / "headers", headers, install_headers, sources, unpacked, prefix)
    once(prefix / "liburing", [LIBURING], build_liburing, unpack(LIBURING, sources, unpacked),
         prefix, tools, arguments.jobs)
    if arguments.tls:
        once(prefix / "openssl", [OPENSSL], build_openssl, unpack(OPENSSL, sources, unpacked),
             prefix, target.processor, tools, arguments.jobs)


# ---- the wheel ----------------------------------------------------------------------------------


def kind_of(arguments):
    """What sets apart the files of a build that is not for users."""
    return ("" if arguments.tls else "-no-tls") + ("-unoptimized" if arguments.unoptimized else "")


def unpack_archive():
    """The sources as pip would get them, which must have all that it takes. Result: their folder"""
    place = BUILD / "sdist"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run(VENV / "bin/python", "-B", "-c",
        "import sys, wheel_backend; wheel_backend.build_sdist(sys.argv[1])", place,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    # Its files have the same time always: Make and Ninja would take them for those of last time.
    run("tar", "-xmf", next(place.glob("*.tar.gz")), "-C", place)
    return next(path for path in place.iterdir() if path.is_dir())


def build_wheel(arguments, platform, target, prefix, tools):
    folder = BUILD / platform
    environment = {**os.environ, "ELASTIC_TARGET_PROCESSOR": target.processor,
                   "ELASTIC_TARGET_TOOLS": str(tools), "ELASTIC_TARGET_PREFIX": str(prefix),
                   "ELASTIC_TARGET_LINK_OPTIONS": target.link_options,
                   "CMAKE_BUILD_PARALLEL_LEVEL": str(arguments.jobs),
                   # ccache cannot see which compiler it is: it calls a script.
                   "CCACHE_COMPILERCHECK": f"string:{compiler_name(target)}",
                   "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}"}
    defined = {"CMAKE_TOOLCHAIN_FILE": HERE / "toolchain.cmake",
               "ELASTIC_WITH_TLS": "ON" if arguments.tls else "OFF"}
    if arguments.unoptimized:
        # Then most of the time goes into the headers, which few large units read less often.
        defined.update({"CMAKE_CXX_FLAGS_RELEASE": "-O0", "CMAKE_UNITY_BUILD": "ON",
                        "CMAKE_UNITY_BUILD_BATCH_SIZE": "12"})
    launcher = arguments.launcher or shutil.which("ccache")
    if launcher:
        defined["CMAKE_CXX_COMPILER_LAUNCHER"] = launcher
    with tempfile.TemporaryDirectory() as output:
        run(VENV / "bin/pip", "--disable-pip-version-check", "wheel", unpack_archive(), "-v",
            "--no-deps", "--no-build-isolation", "--wheel-dir", output,
            "-C", f"build-dir={folder}/program{kind_of(arguments)}",
            "-C", f"wheel.tags=py3-none-{platform}", "-C", "install.strip=false",
            *(word for name, value in defined.items()
              for word in ("-C", f"cmake.define.{name}={value}")), env=environment)
        built = next(pathlib.Path(output).glob("*.whl"))
        dist = pathlib.Path(arguments.output or BUILD / f"dist{kind_of(arguments)}")
        dist.mkdir(parents=True, exist_ok=True)
        return pathlib.Path(shutil.copy(built, dist / built.name))


def write_archive(wheel, processor):
    """The program of a wheel, with its licences, for hosts without Python."""
    version = wheel.name.split("-")[1]
    name = f"elasticrun-{version}-linux-{processor}"
    path = wheel.parent / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        place = pathlib.Path(folder) / name
        place.mkdir()
        program = place / "elasticrun"
        program.write_bytes(archive.read(f"elasticrun-{version}.data/scripts/elasticrun"))
        program.chmod(0o755)
        shutil.copy(ROOT / "LICENSE", place)
        shutil.copytree(ROOT / "python/licenses", place / "licenses")
        with tarfile.open(path, "w:gz") as packed:
            packed.add(place, name)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--no-tls", dest="tls", action="store_false")
    parser.add_argument("--unoptimized", action="store_true")
    parser.add_argument("--output")
    parser.add_argument("--sources", default=BUILD / "sources")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--launcher", help="of the compiler (default: ccache, if there is one)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]}: there are {', '.join(TARGETS)}")
    compiler = install_tools()
    for platform in arguments.targets or TARGETS:
        target = TARGETS[platform]
        tools, prefix = BUILD / platform / "tools", BUILD / platform / "prefix"
        write_commands(compiler, target, tools)
        build_libraries(arguments, target, prefix, tools)
        wheel = build_wheel(arguments, platform, target, prefix, tools)
        check.check_wheel(wheel, platform)
        files = [wheel]
        if platform.startswith("musllinux"):
            files.append(write_archive(wheel, target.processor))
        for path in files:
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
