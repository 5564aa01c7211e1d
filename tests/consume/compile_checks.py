#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What must compile alone, what must not compile or link, and what must not be emitted.

  compile_checks.py --cxx g++ --include DIR headers DIR      each header of the library by itself
  compile_checks.py --cxx g++ --include DIR alone FILE       one header by itself
  compile_checks.py --cxx g++ --include DIR optimized FILE   a program has no warning at -O2
  compile_checks.py --cxx g++ --include DIR forbidden FILE   the marked lines of FILE are refused
  compile_checks.py --cxx g++ --include DIR mixed            objects that differ in a macro do not
                                                             link if all have to agree in it
  compile_checks.py --cxx g++ --include DIR parts FILE       of the library's source in four parts:
                                                             wrong numbers are refused, a missing
                                                             part is named
  compile_checks.py --cxx g++ --include DIR vtables HEADER   HEADER alone emits no class at -O2
  compile_checks.py --cxx g++ --include DIR reach DIR        the core reaches no opt-in module
  compile_checks.py --cxx g++ --include DIR consumers DIR    the programs of users in DIR compile,
                                                             with --internals also every definition

Headers: those that users include, in compiled mode by themselves, or with another one that includes
them before anything else; what most of them include for tasks is read once. Header-only those that
no header includes, together: the umbrella, the opt-in modules, and what is in none of them. With
--internals every header is read by itself, in compiled mode, and those of users and those that no
other includes also header-only. A line that ends in "// refused: deleted" must be an error whose
message says that, or one of several texts if " | " stands between them; no other line may be one,
and the compiler shows what to write instead. --standard is that of C++; --given is a folder with
the headers of another Asio or fmt.
"""

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from tidy import AGREED, OPT_IN_LAYERS

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
REFUSED = re.compile(r"// refused: (.+)$")
INCLUDE = re.compile(r"^#include <(elastic/[^>]+)>", re.MULTILINE)
ANY_INCLUDE = re.compile(r"^# *include [<\"]([^>\"]+)[>\"]", re.MULTILINE)
COMPILED = "-DELASTIC_SEPARATE_COMPILATION=1"
# It defines macros and no name.
CONFIGURATION = "elastic/base/config.hpp"
# Where Asio comes from.
TASK = "elastic/base/task.hpp"
UMBRELLA = "elastic/elastic.hpp"
# All definitions, for a program that compiles the library once without CMake.
SOURCE = "elastic/src.hpp"


def other_number(header, macro):
    """An object whose headers seem to be of another version."""
    return [f"#include <{header}>", f"#undef {macro}", f"#define {macro} 99"]


# What all objects of a program have to agree in: a header that depends on it, the options of an
# object and the options, or first lines, of one that does not fit to it, and the symbol that the
# linker then names. Each symbol that scripts/tidy.py knows has a row.
LOG, EXECUTOR = "elastic/base/log.hpp", "elastic/base/detail/asio_core.hpp"
AGREEMENTS = [
    (LOG, [], [COMPILED], "elastic_is_header_only_in_one_object_and_compiled_in_another"),
    (LOG, [], other_number("elastic/base/version.hpp", "ELASTIC_VERSION_PATCH"),
     "elastic_has_one_version_in_one_object_and_another_in_another"),
    (LOG, [], ["-D_GLIBCXX_DEBUG"],
     "elastic_has_debug_containers_in_one_object_and_not_in_another"),
    (LOG, [], ["-DELASTIC_USE_BOOST_ASIO=1"],
     "elastic_is_on_boost_asio_in_one_object_and_on_standalone_asio_in_another"),
    (EXECUTOR, [], other_number("asio/version.hpp", "ASIO_VERSION"),
     "elastic_has_one_version_of_asio_in_one_object_and_another_in_another"),
    (EXECUTOR, [], ["-DASIO_HAS_IO_URING=1", "-DASIO_DISABLE_EPOLL=1"],
     "elastic_has_asio_on_io_uring_in_one_object_and_not_in_another"),
    (EXECUTOR, [], ["-DASIO_DISABLE_THREADS=1"],
     "elastic_has_threads_of_asio_in_one_object_and_not_in_another"),
    (EXECUTOR, [], ["-DASIO_ENABLE_HANDLER_TRACKING=1"],
     "elastic_has_handler_tracking_in_one_object_and_not_in_another"),
    (EXECUTOR, [], ["-DASIO_USE_TS_EXECUTOR_AS_DEFAULT=1"],
     "elastic_has_executors_of_the_ts_in_one_object_and_not_in_another"),
    ("elastic/base/detail/json.hpp", [], ["-DJSON_DIAGNOSTICS=1"],
     "elastic_has_json_diagnostics_in_one_object_and_not_in_another"),
    ("elastic/base/detail/ring.hpp", ["-UELASTIC_NO_RING"], ["-DELASTIC_NO_RING=1"],
     "elastic_has_io_uring_in_one_object_and_not_in_another"),
    ("elastic/net/detail/secure_session.hpp", ["-UELASTIC_HAS_TLS"], ["-DELASTIC_HAS_TLS=1"],
     "elastic_has_tls_in_one_object_and_not_in_another"),
    ("elastic/net/detail/tls_stream.hpp", ["-UELASTIC_HAS_TLS"], ["-DELASTIC_HAS_TLS=1"],
     "elastic_has_tls_in_one_object_and_not_in_another"),
]
# The number of a part of the library's source, and what refuses a wrong one.
PART = "-DELASTIC_SOURCE_PART="
WRONG_PARTS = [
    ([COMPILED, PART + "0"], "from 1 to 4"),
    ([COMPILED, PART + "5"], "from 1 to 4"),
    ([COMPILED, PART + "two"], "from 1 to 4"),
    ([COMPILED, PART + "1", "-DELASTIC_SOURCE"], "define one of them"),
]
HEADER_ONLY_PART = ([PART + "1"], "needs ELASTIC_SEPARATE_COMPILATION")
PARTS_HEADER = "elastic/base/detail/source_part.hpp"


def compiler_call(options):
    call = [options.cxx, f"-std=c++{options.standard}"]
    if "clang" in os.path.basename(options.cxx):
        call.append("-DASIO_HAS_CO_AWAIT=1")
    call += [f"-D{define}" for define in options.define]
    # The system's own directory as -I or -isystem would change the order of the standard headers.
    call += [word for folder in options.given for word in ("-isystem", folder)]
    return call + [f"-I{folder}" for folder in options.include if folder != "/usr/include"]


def compiled(call):
    """What the compiler says, and whether it was content."""
    run = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace")
    return run.stdout, run.returncode == 0


def not_included(headers, root):
    """Those of `headers` that no other header includes."""
    included = set()
    for header in headers:
        included.update(INCLUDE.findall((root / header).read_text(encoding="utf-8")))
    return [header for header in headers if header not in included]


def reaches(header, wanted, root):
    """Whether a header includes another one, itself or by others."""
    seen, left = set(), [header]
    while left:
        for name in INCLUDE.findall((root / left.pop()).read_text(encoding="utf-8")):
            if name not in seen and name.endswith(".hpp"):
                seen.add(name)
                left.append(name)
    return wanted in seen


def first_include(header, root):
    """The header that a header has read before anything else; the configuration is only macros."""
    first, *more = ANY_INCLUDE.findall((root / header).read_text(encoding="utf-8")) + [None]
    if first == CONFIGURATION and more[0] and more[0].startswith("elastic/") and \
            reaches(more[0], CONFIGURATION, root):
        return more[0]
    return first


def read_first(headers, root):
    """The headers that are read by themselves when another one of `headers` is."""
    found = set()
    for header in headers:
        while (header := first_include(header, root)) in headers and header not in found:
            found.add(header)
    return found


def header_jobs(headers, root, internals):
    """What one run of the compiler reads each, and in which mode."""
    roots = not_included(headers, root)
    public = [header for header in headers if "/detail/" not in header]
    if internals:
        alone = sorted({*roots, *public})
        return [([header], []) for header in alone] + [([header], [COMPILED]) for header in headers]
    first = read_first(public, root)
    return [([header for header in roots if header in public], [])] + [
        ([header], [COMPILED]) for header in public if header not in first]


def precompiled(call, header, folder):
    """What has clang read a header from a file that it made of it before, in compiled mode."""
    source, file = pathlib.Path(folder) / "first.hpp", pathlib.Path(folder) / "first.pch"
    source.write_text(f"#include <{header}>\n")
    output, content = compiled([*call, *WARNINGS, COMPILED, "-x", "c++-header", str(source),
                                "-o", str(file)])
    if not content:
        sys.exit(output)
    return ["-include-pch", str(file)]


def check_headers(options, call):
    root = pathlib.Path(options.path)
    headers = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.hpp"))
    headers.remove(SOURCE)  # other tests compile it
    jobs = header_jobs(headers, root, options.internals)
    with tempfile.TemporaryDirectory() as folder:
        shared = []
        if not options.internals and "clang" in os.path.basename(options.cxx):
            shared = precompiled(call, TASK, folder)

        def check(job):
            group, mode = job
            more = shared if mode and all(reaches(header, TASK, root) for header in group) else []
            includes = [word for header in group for word in ("-include", header)]
            return compiled([*call, *WARNINGS, "-fsyntax-only", *mode, *more, *includes,
                             "-x", "c++", os.devnull])

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(check, jobs))
    failed = 0
    for (group, mode), (output, content) in zip(jobs, results):
        if not content:
            failed += 1
            print(f"==== {', '.join(group)}: does not compile alone, "
                  f"{'compiled' if mode else 'header-only'}\n{output[:3000]}")
    print(f"{len(headers)} headers, {failed} of {len(jobs)} checks failed")
    return bool(failed) or not headers


def check_alone(options, call):
    output, content = compiled([*call, *WARNINGS, "-fsyntax-only", "-include", options.path,
                                "-x", "c++", os.devnull])
    print(output[:5000])
    return not content


def check_optimized(options, call):
    output, content = compiled([*call, *WARNINGS, "-O2", "-c", options.path, "-o", os.devnull])
    print(output[:5000])
    return not content


def link(options, folder, *names):
    return compiled([options.cxx, *(str(folder / f"{name}.o") for name in names),
                     "-o", str(folder / "program")])


def check_agreement(options, call, folder, header, own, other, symbol):
    """Whether two objects link that agree, and do not if they differ."""
    first_lines = [line for line in other if line.startswith("#")]
    (folder / "main.cpp").write_text(f"#include <{header}>\nint main() {{}}\n")
    (folder / "same.cpp").write_text(f"#include <{header}>\n")
    (folder / "other.cpp").write_text("\n".join([*first_lines, f"#include <{header}>\n"]))

    def build(name, more):
        # Optimized, so that what the header defines and nobody calls needs no library to link.
        output, content = compiled([*call, "-O1", *more, "-c", str(folder / f"{name}.cpp"),
                                    "-o", str(folder / f"{name}.o")])
        if not content:
            sys.exit(output)

    # The rows that begin alike share their two objects.
    if not (folder / "main.o").exists():
        build("main", own)
        build("same", own)
    build("other", [option for option in other if option not in first_lines])
    output, content = link(options, folder, "main", "same")
    if not content:
        print(f"two objects with {' '.join(own) or 'no option'} do not link:\n{output[:3000]}")
        return False
    output, content = link(options, folder, "main", "other")
    if content or symbol not in output:
        print(f"an object with {' '.join(other)}: {symbol} was expected in the linker's message, "
              f"which is: {output[:3000] or 'none'}")
        return False
    return True


def check_mixed(options, call):
    untested = set(AGREED.values()) ^ {symbol for *_, symbol in AGREEMENTS}
    for symbol in untested:
        print(f"{symbol} is only in one of AGREED in scripts/tidy.py and AGREEMENTS here")
    results = []
    for _, rows in itertools.groupby(AGREEMENTS, key=lambda row: row[:2]):
        with tempfile.TemporaryDirectory() as folder:
            results += [check_agreement(options, call, pathlib.Path(folder), *row) for row in rows]
    print(f"{len(results)} agreements")
    return bool(untested) or not all(results)


def check_parts(options, call):
    """Only what reads no definitions: how the parts refuse, and how they miss each other."""
    failed = False
    # The source of the single header is never header-only.
    is_header = options.path.endswith(".hpp")
    for macros, wanted in [*WRONG_PARTS, *([HEADER_ONLY_PART] if is_header else [])]:
        output, content = compiled([*call, *macros, "-E", "-o", os.devnull, options.path])
        errors = [line for line in output.splitlines() if "error:" in line]
        if content or len(errors) != 1 or wanted not in errors[0]:
            print(f"{' '.join(macros)}: one error with '{wanted}' was expected, it is: {errors}")
            failed = True
    numbers = range(1, 5)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "main.cpp").write_text("int main() {}\n")
        (folder / "part.cpp").write_text(f"#include <{PARTS_HEADER}>\n")
        output, content = compiled([*call, "-c", str(folder / "main.cpp"),
                                    "-o", str(folder / "main.o")])
        for number in numbers:
            more, is_built = compiled([*call, "-O2", COMPILED, f"{PART}{number}", "-c",
                                       str(folder / "part.cpp"), "-o", str(folder / f"{number}.o")])
            content, output = content and is_built, output + more
        if not content:
            sys.exit(output)
        output, content = link(options, folder, "main", *numbers)
        if not content:
            print(f"all four parts do not link:\n{output[:3000]}")
            failed = True
        for missing in numbers:
            output, content = link(options, folder, "main",
                                   *(number for number in numbers if number != missing))
            if content or f"elastic_source_part_{missing}_is_compiled" not in output:
                print(f"without part {missing} the linker says: {output[:3000] or 'nothing'}")
                failed = True
    return failed


def check_vtables(options, call):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "main.cpp").write_text(f"#include <{options.path}>\nint main() {{}}\n")
        output, content = compiled([*call, "-O2", "-c", str(folder / "main.cpp"),
                                    "-o", str(folder / "main.o")])
        if not content:
            sys.exit(output)
        symbols, content = compiled(["nm", "--demangle", "--defined-only",
                                     str(folder / "main.o")])
    if not content:
        sys.exit(symbols)
    emitted = [line for line in symbols.splitlines() if "vtable for elastic::" in line]
    for line in emitted:
        print(f"{line}: its first virtual function that is not pure has no ELASTIC_DECL in the "
              "class, so every translation unit emits all of the class")
    print(f"{len(symbols.splitlines())} symbols")
    return bool(emitted)


def reached(call, headers):
    """The library's files that a program reads which includes these headers."""
    output, content = compiled([*call, "-M", *(word for header in headers
                                               for word in ("-include", header)),
                                "-x", "c++", os.devnull])
    if not content:
        sys.exit(output)
    return set(re.findall(r"\b(elastic/[\w/]+\.[hi]pp)\b", output))


def check_reach(options, call):
    root = pathlib.Path(options.path)
    headers = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.hpp"))
    guest = re.compile(rf"elastic/({'|'.join(OPT_IN_LAYERS)})(/|\.hpp$)")
    core = [header for header in headers if not guest.match(header) and header != SOURCE]
    found = sorted(file for file in reached(call, core) if guest.match(file))
    for file in found:
        print(f"{file} belongs to an opt-in module, and a header of the core reaches it")
    umbrella = reached(call, ["elastic/elastic.hpp"])
    print(f"{len(core)} headers of the core; <elastic/elastic.hpp> reaches {len(umbrella)} files")
    # That the check sees what is reached.
    for module in OPT_IN_LAYERS:
        if not any(file.startswith(f"elastic/{module}/")
                   for file in reached(call, [f"elastic/{module}.hpp"])):
            found.append(module)
            print(f"<elastic/{module}.hpp> seems to reach nothing of its own module")
    return bool(found) or not core


def check_forbidden(options, call):
    lines = pathlib.Path(options.path).read_text(encoding="utf-8").splitlines()
    expected = {number: found[1] for number, line in enumerate(lines, 1)
                if (found := REFUSED.search(line))}
    # Declarations alone refuse them, and the definitions take most of the time.
    output, _ = compiled([*call, COMPILED, "-fsyntax-only", "-w", options.path])
    errors = {}
    for number, message in re.findall(re.escape(options.path) + r":(\d+):\d+: error: (.*)", output):
        errors.setdefault(int(number), []).append(message)
    failed = False
    for number in sorted(set(expected) | set(errors)):
        texts = expected.get(number, "\0").split(" | ")
        if not any(text in message for text in texts for message in errors.get(number, [])):
            print(f"{options.path}:{number}: {expected.get(number, 'no error')} was expected, "
                  f"the compiler says {errors.get(number, 'nothing')}")
            failed = True
    # Compilers show the line of what is deleted, and so the comment that says what to write.
    shown = [line for line in output.splitlines()
             if "= delete;" in line and not re.search(r"\(const \w+&\) = delete", line)]
    if unexplained := [line for line in shown if "// declare " not in line]:
        print("these lines do not say what to write:", *unexplained, sep="\n")
        failed = True
    print(f"{len(expected)} forbidden calls, {len(shown)} of them with advice")
    if failed or not expected:
        print(output[:5000])
    return failed or not expected


def check_consumers(options, call):
    root = pathlib.Path(options.path).resolve()
    programs = sorted([*root.glob("ways/*.cpp"), *root.glob("wrong_uses/*.cpp"),
                       root / "documented_calls.cpp", root / "project" / "main.cpp"])
    call = [*call, f"-I{root.parent}", f'-DELASTIC_SOURCE_DIR="{ROOT}"',
            '-DELASTIC_PUPPET="puppet"']
    with tempfile.TemporaryDirectory() as folder:
        shared = []
        if "clang" in os.path.basename(options.cxx):
            shared = precompiled(call, UMBRELLA, folder)
        check = [*call, *WARNINGS, "-fsyntax-only"]
        jobs = [[*check, COMPILED, *shared, str(program)] for program in programs]
        if options.internals:
            jobs.append([*check, str(root / "ways" / "everything.cpp")])
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(compiled, jobs))
    failed = 0
    for job, (output, content) in zip(jobs, results):
        if not content:
            failed += 1
            print(f"==== {' '.join(job)}\n{output[:3000]}")
    print(f"{len(programs)} programs of users, {failed} of {len(jobs)} do not compile")
    return bool(failed) or not programs


def main():
    arguments = argparse.ArgumentParser(description="Compiles what must and must not compile.")
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--include", action="append", default=[])
    arguments.add_argument("--given", action="append", default=[])
    arguments.add_argument("--define", action="append", default=[])
    arguments.add_argument("--standard", default="20")
    arguments.add_argument("--internals", action="store_true",
                           help="also what no user includes by itself")
    arguments.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    checks = {"headers": check_headers, "alone": check_alone, "forbidden": check_forbidden,
              "consumers": check_consumers,
              "mixed": check_mixed, "optimized": check_optimized, "parts": check_parts,
              "reach": check_reach, "vtables": check_vtables}
    arguments.add_argument("what", choices=sorted(checks))
    arguments.add_argument("path", nargs="?",
                           help="a folder, a file, or a header as it is included")
    options = arguments.parse_args()
    sys.exit(1 if checks[options.what](options, compiler_call(options)) else 0)


if __name__ == "__main__":
    main()
