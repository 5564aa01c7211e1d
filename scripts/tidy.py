#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Checks the style rules that a machine can judge without harm.

  tidy.py               checks the repository; exit status 1 where a rule is broken
  tidy.py --self-test   shows that each rule finds what breaks it

What each rule wants is said where it is defined. Lengths of functions and files are not among
them: these are for the author's and the reviewer's eye.
"""

import argparse
import collections
import ast
import pathlib
import re
import sys
import tempfile
import textwrap

COLUMNS = 100

# Which modules the headers of a module may include; the one place that says so.
LAYERS = {
    "base": [],
    "net": ["base"],
    "contract": ["base"],
    "telemetry": ["base"],
    "process": ["base"],
    "store": ["base", "net"],
    "control": ["base", "net"],
    "rendezvous": ["base", "net", "telemetry", "store"],
    "worker": ["base", "contract", "store", "control"],
    "agent": ["base", "net", "contract", "telemetry", "process", "store", "control",
              "rendezvous"],
    "launch": ["base", "net", "contract", "telemetry", "process", "store", "rendezvous", "worker",
               "agent"],
}

# The opt-in modules, in an order in which each comes after those that it includes. A program takes
# one by its umbrella, its CMake target or ELASTIC_WITH_<NAME> for the single header.
OPT_IN_LAYERS = {
    "nodes": ["base", "net", "telemetry", "store", "rendezvous"],
    "torch": ["base", "net", "store", "rendezvous", "nodes"],
    "etcd": ["base", "net", "store", "rendezvous", "nodes", "torch"],
    "file": ["base", "store", "rendezvous", "nodes"],
    "python": ["base", "contract", "telemetry", "process", "control", "rendezvous", "agent"],
    "functions": ["base", "contract", "process", "worker", "agent", "launch"],
    "roles": ["base", "net", "contract", "telemetry", "process", "control", "rendezvous", "agent",
              "launch", "nodes"],
    "status": ["base", "net", "contract", "telemetry", "process", "store", "rendezvous", "agent",
               "launch"],
    "diagnosis": ["base", "net", "contract", "telemetry", "process", "store", "rendezvous",
                  "agent", "python"],
    "wire": ["base", "net", "contract", "process", "rendezvous", "agent"],
    "vault": ["base", "contract", "telemetry", "process", "rendezvous", "agent"],
    "cli": ["base", "net", "contract", "process", "rendezvous", "agent", "launch", "python",
            "status", "diagnosis", "wire", "vault"],
    "testing": ["base", "contract", "telemetry", "process", "store"],
}
ALL_LAYERS = {**LAYERS, **OPT_IN_LAYERS}

# Headers in detail/ that other modules may include, too. All others are private to their module.
SHARED = {
    "agent": ["async_run", "command_reply", "inbox_service", "line_template", "pending_command",
              "request_inbox", "role_link", "run_activity", "worker_run"],
    "base": ["asio_address", "asio_channel", "asio_core", "asio_descriptor", "asio_local",
             "asio_network", "asio_ssl", "asio_strand", "asio_tasks", "asio_tcp", "async_start",
             "base64", "blocking", "concurrent_run", "descriptor_share", "endless",
             "executor_work", "internals", "joined_text", "json", "json_document", "json_fields",
             "json_object", "json_text", "keep_result", "mailbox", "mount_table",
             "named_factories", "nearest_name", "new_shared", "quantity", "random", "rate_gate",
             "record", "required", "ring", "seconds_text", "shielded_run", "stable_order",
             "temporary_folder", "unique_fd", "waiters"],
    "contract": ["call_memfd", "macros", "printed_exception", "roles_document", "visible_devices"],
    "control": ["control_message", "line_intake", "worker_liveness"],
    "launch": ["function_preparer", "node_journal", "signalled_run", "worker_preparation"],
    "net": ["byte_stream", "http_connection", "http_parser", "local_interface", "message_channel",
            "message_frame", "own_loopback", "port_lease", "secure_session", "socket_hook",
            "socket_stream", "stream_listener", "tcp_message_channel", "tls_options", "tls_stream"],
    "process": ["console_target", "console_writer", "core_file", "file_tail", "fork_launcher",
                "line_head", "lines", "memory_room", "oom_kills", "port_use", "proc_file",
                "process_handle", "process_tree", "signal_number", "tree_usage"],
    "python": ["hook_archive"],
    "nodes": ["c10d_rendezvous", "candidate_source", "fencing", "leader_registry",
              "rendezvous_host", "rendezvous_message", "round_machine", "round_register",
              "round_state"],
    "rendezvous": ["backend_defaults", "exit_keys", "fixed_membership", "gather", "length_check",
                   "listen_point", "master_keys", "name_wait", "node_id", "part_exchange",
                   "reachable_address", "solo_rendezvous", "stored_rendezvous",
                   "worker_store_host"],
    "store": ["engine_waker", "key_value_engine", "store_extension", "store_keys", "store_meter"],
    "telemetry": ["event_handler_registry", "output_tails", "record_writer", "report_exchange"],
    "torch": ["dynamic_rendezvous", "keyed_rendezvous_backend", "life_sign", "pickle_format",
              "store_rendezvous_backend", "torch_dialect", "torch_exit", "torch_state",
              "torch_state_codec"],
}

# A header with this line is not in its module's umbrella; a program includes it by name.
OPT_IN = "// Opt-in:"

# All definitions, for those who compile the library once without CMake.
SOURCE = "elastic/src.hpp"

# The page with the table of modules for people.
DESIGN = "docs/design.md"

# The CMake targets of the opt-in modules.
MODULES = "cmake/ElasticModules.cmake"

HEADERS = r"include/elastic/"
# The library and the program.
OWN = r"include/elastic/|program/"
# What code may not say, where that does not hold, and what it says instead.
BANNED = [
    # (pattern, files that it is banned in, files that are its one place, reason)
    (r"\b(system|steady|high_resolution)_clock::now\b|\b(clock_gettime|gettimeofday)\s*\(",
     OWN, r"include/elastic/base/(impl/)?time\.[hi]pp", "reads a clock; take a time_source"),
    (r"\bsteady_timer\b",
     OWN, r"include/elastic/base/", "names a timer; take a time_source"),
    (r"\b(sleep_for|sleep_until\s*\(\s*std::|usleep|nanosleep)\b",
     r"include/elastic/|tests/unit/|tests/integration/|examples/|program/", None,
     "sleeps; wait for the event itself"),
    (r"\basio::detached\b",
     OWN, None, "starts a coroutine that nobody waits for"),
    (r"#include <(boost/)?asio\b",
     HEADERS, r"include/elastic/base/(asio|detail/asio_\w+)\.hpp",
     "includes Asio, which is one of two; include <elastic/base/asio.hpp> or its parts"),
    (r"(?<!:)\basio::(error_code|system_error)\b",
     HEADERS, r"include/elastic/base/detail/asio_core\.hpp",
     "is in standalone Asio alone; write asio_error_code, asio_system_error"),
    (r"#include <nlohmann/json\.hpp>",
     OWN, r"include/elastic/base/detail/json\.hpp", "includes all of nlohmann/json"),
    (r"(?<![\w.>])(v?fork|popen|system)\s*\(",
     r"include/elastic/|examples/|program/",
     r"include/elastic/process/detail/fork_launcher\.ipp",
     "starts a process past process_launcher"),
    (r"\b(SYS_clone3|waitid|waitpid|pidfd_open|pidfd_send_signal|close_range|execvpe?|execve)\b",
     OWN, r"include/elastic/process/", "handles processes outside of process/"),
    (r"(?<!\w)::(kill|raise)\s*\(|\bkillpg\s*\(",
     OWN, r"include/elastic/process/", "sends a signal outside of process/"),
    (r"\btcp::(socket|acceptor|resolver)\b",
     OWN, r"include/elastic/(base|net|store|etcd)/",
     "opens a socket outside of net/, store/ and etcd/"),
    (r"\bstd::(cerr|cout|clog)\b|#include <iostream>",
     OWN, None, "writes to a stream of the process; take a logger"),
    (r"^\s*using namespace\b(?!.*\bliterals;)",
     OWN, None, "names a whole namespace"),
]

# The macros that the library's headers may ask for. All objects of a program have to agree in one
# that changes a class or an inline function: the symbol of ELASTIC_AGREE by which the linker says
# so. Those of Asio are here without the BOOST_ that they begin with in Boost's.
AGREED = {
    "ELASTIC_VERSION_PATCH": "elastic_has_one_version_in_one_object_and_another_in_another",
    "ELASTIC_SEPARATE_COMPILATION": "elastic_is_header_only_in_one_object_and_compiled_in_another",
    "ELASTIC_USE_BOOST_ASIO":
        "elastic_is_on_boost_asio_in_one_object_and_on_standalone_asio_in_another",
    "ELASTIC_NO_RING": "elastic_has_io_uring_in_one_object_and_not_in_another",
    "ELASTIC_HAS_TLS": "elastic_has_tls_in_one_object_and_not_in_another",
    "ASIO_VERSION": "elastic_has_one_version_of_asio_in_one_object_and_another_in_another",
    "ASIO_HAS_IO_URING_AS_DEFAULT":
        "elastic_has_asio_on_io_uring_in_one_object_and_not_in_another",
    "ASIO_HAS_THREADS": "elastic_has_threads_of_asio_in_one_object_and_not_in_another",
    "ASIO_ENABLE_HANDLER_TRACKING":
        "elastic_has_handler_tracking_in_one_object_and_not_in_another",
    "ASIO_USE_TS_EXECUTOR_AS_DEFAULT":
        "elastic_has_executors_of_the_ts_in_one_object_and_not_in_another",
    "JSON_DIAGNOSTICS": "elastic_has_json_diagnostics_in_one_object_and_not_in_another",
    "_GLIBCXX_DEBUG": "elastic_has_debug_containers_in_one_object_and_not_in_another",
}
# Those that change neither, and why.
HARMLESS = {
    "ELASTIC_HEADER_ONLY": "the same as no ELASTIC_SEPARATE_COMPILATION",
    "ELASTIC_DYN_LINK": "only the visibility of symbols",
    "ELASTIC_SOURCE": "only in units of the compiled library",
    "ELASTIC_SOURCE_PART": "only in units of the compiled library",
    "ASIO_HAS_CO_AWAIT": "an error if it is missing",
    "ASIO_HAS_IO_URING": "ASIO_HAS_IO_URING_AS_DEFAULT is what changes classes",
    "ASIO_DISABLE_EPOLL": "ASIO_HAS_IO_URING_AS_DEFAULT is what changes classes",
    **{f"ELASTIC_WITH_{module.upper()}": "which modules the single header and its source show"
       for module in [*OPT_IN_LAYERS, "inspection"]},
}
DEBRIS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "WI" + "P"]


class Tree:
    """The files of a repository that the rules look at: path in the repository → lines."""

    FOLDERS = ["include", "tests", "examples", "program", "python", "packaging", "benchmarks",
               "scripts", "cmake", "docs", ".ci"]
    SUFFIXES = {".hpp", ".ipp", ".cpp", ".py", ".sh", ".cmake", ".in", ".txt", ".md", ".json"}
    NAMES = {"run", ".clang-format", ".gitignore"}
    RECORDED = ("tests/vectors/", "tests/golden/")

    def __init__(self, root):
        self.root = root
        paths = [path for path in root.iterdir() if path.is_file()]
        for folder in self.FOLDERS:
            paths += [path for path in (root / folder).rglob("*") if path.is_file()]
        self.files = {}
        for path in sorted(paths):
            name = path.relative_to(root).as_posix()
            if name.startswith(self.RECORDED) or not (
                    path.suffix in self.SUFFIXES or path.name in self.NAMES):
                continue
            self.files[name] = path.read_text(encoding="utf-8").split("\n")

    def headers(self, suffixes=(".hpp",)):
        """The library's headers, named from include/ on."""
        return {name[len("include/"):]: lines for name, lines in self.files.items()
                if name.startswith(HEADERS) and name.endswith(suffixes)}


def check_text(tree):
    """No line over the columns (prose and generated headers apart), no trailing blanks, no tab, one
    last line end."""
    for name, lines in tree.files.items():
        prose = (name.endswith((".md", ".json", "/embedded.hpp")) or ".clang" in name
                 or name.startswith("tests/scenarios/"))
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and not prose:
                yield name, number, f"{len(line)} columns, {COLUMNS} are allowed"
            if line != line.rstrip():
                yield name, number, "blanks at the end of the line"
            if "\t" in line:
                yield name, number, "tab"
        if lines[-1] or len(lines) > 1 and not lines[-2]:
            yield name, len(lines), "the file does not end with one line end"


def check_start(tree):
    """Source files start with the two SPDX lines, headers go on with #pragma once."""
    spdx = ["SPDX-FileCopyrightText: 2026 The elastic authors", "SPDX-License-Identifier: MIT"]
    for name, lines in tree.files.items():
        if not name.endswith((".hpp", ".ipp", ".cpp", ".py", ".sh")):
            continue
        comment = "// " if name.endswith("pp") else "# "
        start = lines[1:] if lines[0].startswith("#!") else lines
        if start[:2] != [comment + line for line in spdx]:
            yield name, 1, "does not start with the two SPDX lines"
        if name.endswith((".hpp", ".ipp")) and (len(lines) < 3 or lines[2] != "#pragma once"):
            yield name, 3, "#pragma once is missing in the third line"


def check_layers(tree):
    """A header includes only what its module may; it names the headers that it needs."""
    umbrellas = umbrellas_of(tree)
    for header, lines in tree.headers((".hpp", ".ipp")).items():
        parts = header.split("/")
        if len(parts) < 3 or header in umbrellas:
            continue
        module = parts[1]
        if module not in ALL_LAYERS:
            yield "include/" + header, 1, f"module {module} is not in the table of layers"
            continue
        for number, line in enumerate(lines, 1):
            if line.startswith('#include "'):
                yield "include/" + header, number, "include with quotes; write <elastic/…>"
            if line.startswith("#include <program/"):
                yield "include/" + header, number, "the library may not include the program"
            found = re.match(r"#include <elastic/([^>]+)>", line)
            if not found:
                continue
            target = found[1].split("/")
            is_core = module in LAYERS
            if f"elastic/{found[1]}" in umbrellas:
                yield "include/" + header, number, "includes an umbrella; name the header itself"
            elif is_core and target[0] in OPT_IN_LAYERS:
                yield "include/" + header, number, f"the core may not include {target[0]}: opt-in"
            elif target[0] != module and target[0] not in ALL_LAYERS[module]:
                yield "include/" + header, number, f"{module} may not include {target[0]}"
            elif target[0] != module and "detail" in target and not is_shared(target):
                yield "include/" + header, number, f"includes what is private to {target[0]}"


def is_shared(target):
    """Whether ["base", "detail", "ring.hpp"] is a header of SHARED, also in a room of detail/."""
    name = "/".join([*target[1:target.index("detail")], target[-1].removesuffix(".hpp")])
    return name in SHARED.get(target[0], [])


def umbrellas_of(tree):
    """What each umbrella has to list: that of a folder is its name and .hpp, and lists the headers
    that are in the folder but for the opt-in. The folders of a folder have umbrellas of their own,
    detail/, its rooms and impl/ have none. elastic.hpp lists no umbrella of an opt-in module."""
    expected = {}
    guests = [f"elastic/{module}.hpp" for module in OPT_IN_LAYERS]
    for header, lines in tree.headers().items():
        folder = header.rsplit("/", 1)[0]
        if "/detail" in folder or header in ("elastic/elastic.hpp", SOURCE, *guests):
            continue
        umbrella = "elastic/elastic.hpp" if folder == "elastic" else folder + ".hpp"
        listed = expected.setdefault(umbrella, set())
        if not any(line.startswith(OPT_IN) for line in lines):
            listed.add(header)
    return expected


def check_umbrellas(tree):
    """Each umbrella lists what it has to, and nothing else."""
    headers = tree.headers()
    for umbrella, wanted in umbrellas_of(tree).items():
        if umbrella not in headers:
            yield "include/" + umbrella, 1, "this umbrella is missing"
            continue
        text = "\n".join(headers[umbrella])
        listed = set(re.findall(r"^#include <(elastic/[^>]+)>", text, re.MULTILINE))
        for header in sorted(wanted - listed):
            yield "include/" + umbrella, 1, f"does not list {header}"
        for header in sorted(listed - wanted):
            yield "include/" + umbrella, 1, f"lists {header}, which is not of this folder or opt-in"


def definitions_of(header):
    """Where the definitions of a header are: beside it in detail/, in impl/ for a public header,
    such as elastic/base/time.hpp → elastic/base/impl/time.ipp."""
    folder, name = header.rsplit("/", 1)
    place = folder if "/detail" in folder else f"{folder}/impl"
    return f"{place}/{name.removesuffix('.hpp')}.ipp"


def check_definitions(tree):
    """A header ends with its definitions, these begin with it, and src.hpp lists all of them."""
    headers = tree.headers()
    definitions = tree.headers((".ipp",))
    ending = ["#if defined(ELASTIC_HEADER_ONLY)", "#include <{}>", "#endif", ""]
    for header, lines in headers.items():
        wanted = [line.format(definitions_of(header)) for line in ending]
        declares = any("ELASTIC_DECL" in code_of(line) for line in lines if line[:1] != "#")
        if definitions_of(header) in definitions or declares:
            if lines[-4:] != wanted:
                yield "include/" + header, len(lines), "does not end with its definitions"
    of = {definitions_of(header): header for header in headers}
    for name, lines in definitions.items():
        if name not in of:
            yield "include/" + name, 1, "there is no header for these definitions"
        elif f"#include <{of[name]}>" != next((x for x in lines if x.startswith("#include")), ""):
            yield "include/" + name, 1, "does not include its header first"
    listed = set(re.findall(r"^#include <(elastic/[^>]+\.ipp)>", "\n".join(headers.get(SOURCE, [])),
                            re.MULTILINE))
    for name in sorted(set(definitions) ^ listed):
        yield "include/" + SOURCE, 1, f"does not list what there is: {name}"


TYPE = r"\b(?:class|struct|union)(?: ELASTIC_\w+)? (\w+)(?= final| :| \{|;)"
# A type of several words, with what follows a type; and an exception.
TYPE_USE = (r"(?<![\w.:])(?<!->)(\w+_\w+)(?=::|> |>\(|[&*]+ \w| \w+[;({=])"
            r"|catch \(const (\w+)&|(?<![\w:])detail::(\w+)\b(?!\()")
FREE_FUNCTION = r"(?!return|using|class|struct)[\w:]\S*(?: \S+)*[ &*](\w+)\("
# The lines of definitions up to which an internal class has one file: in its only reader, which is
# a file of definitions; or in its header, where it has no coroutine and needs no further header.
LINES_IN_READER = 40
LINES_IN_HEADER = 120
EXPENSIVE = ("elastic/", "asio", "nlohmann/")
KEYWORDS = {"return", "co_return", "co_await", "throw", "else", "new", "case", "if"}


def events_of(lines):
    """What a header includes, declares and calls, in that order. Names of one word count only where
    they are qualified: members often have the name of another header's function."""
    for number, line in enumerate(lines, 1):
        if found := re.match(r"#include <(elastic/[^>]+)>", line):
            yield "includes", found[1], number
            continue
        code = code_of(line)
        if line.startswith("namespace elastic::limits"):
            yield "shares", "limits", number
        elif re.search(r"(?<![\w:])limits::", code):
            yield "calls", "limits", number
        for found in re.finditer(r"(?<![\w:])detail::(\w+)\(", code):
            yield "calls", f"detail::{found[1]}", number
        if found := re.search(TYPE, code):
            place = "has as a member" if line.startswith(" ") else "shares"
            is_defined = "friend" not in code and code[found.end():found.end() + 1] != ";"
            yield place if is_defined else "declares", f"type {found[1]}", number
        for found in re.finditer(TYPE_USE, code):
            yield "calls", f"type {found[1] or found[2] or found[3]}", number
        if found := re.match(FREE_FUNCTION, code):
            yield "shares", f"detail::{found[1]}", number
        for found in re.finditer(r"(?<![.\w])(?<!->)(?<!::)(\w+_\w+)\(", code):
            before = re.search(r"(\w+|\w>)[&*]* [&*]*$", code[:found.start()])
            if not before or before[1] in KEYWORDS:
                yield "calls", found[1], number
            elif line.startswith(" "):
                yield "has as a member", found[1], number
            elif "ELASTIC_DECL" in line:
                yield "shares", found[1], number
            else:
                yield "declares", found[1], number


def undeclared_calls(headers, homes, start):
    """Where a unit that includes a header calls what only a header declares that comes later."""
    seen, known = {start}, set()
    pending = [(start, iter(headers[start]))]
    while pending:
        name, events = pending[-1]
        for kind, what, number in events:
            if kind == "includes":
                if what in headers and what not in seen:
                    seen.add(what)
                    pending.append((what, iter(headers[what])))
                    break
            elif kind == "calls":
                if what not in known and len(homes[what]) == 1:
                    yield name, number, f"uses {what}, and does not include {min(homes[what])}"
            else:
                known.add(what)
        else:
            pending.pop()


def check_self_contained(tree):
    """A header can be the first that a unit includes, and so can internal headers and definitions,
    in a unit of a compiled library: each includes the headers of the functions and types that it
    uses, or declares the types."""
    headers = {name: list(events_of(lines))
               for name, lines in tree.headers((".hpp", ".ipp")).items() if name != SOURCE}
    members = {what for events in headers.values() for kind, what, _ in events
               if kind == "has as a member"}
    homes = {}
    for name, events in headers.items():
        for kind, what, _ in events:
            if kind == "shares" and name.endswith(".hpp") and what not in members:
                homes.setdefault(what, set()).add(name)
    headers = {name: [event for event in events if event[0] == "includes" or event[1] in homes]
               for name, events in headers.items()}
    compiled = {name: [event for event in events if not str(event[1]).endswith(".ipp")]
                for name, events in headers.items()}
    found = {}
    for start in headers:
        graph = compiled if "/detail/" in start or start.endswith(".ipp") else headers
        for call in undeclared_calls(graph, homes, start):
            found.setdefault(call, start)
    for (name, number, message), start in sorted(found.items()):
        yield "include/" + name, number, f"{message} (a unit that begins with {start})"


def headers_behind(header, graph):
    """The header, and all that it includes, by way of others too."""
    seen, pending = set(), [header]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += graph.get(name, [])
    return seen


def check_cycles(tree):
    """Definitions include no public header that includes theirs: a program of headers alone that
    begins with it would read the definitions before it."""
    graph = {name: sorted(header for header in includes_of(lines) if header.endswith(".hpp"))
             for name, lines in tree.headers((".hpp", ".ipp")).items() if name != SOURCE}
    own = {definitions_of(header): header for header in graph if header.endswith(".hpp")}
    for name in sorted(graph.keys() & own.keys()):
        for header in graph[name]:
            is_public = header.startswith("elastic/") and "/detail/" not in header
            if is_public and header != own[name] and own[name] in headers_behind(header, graph):
                yield "include/" + name, 1, f"includes {header}, which includes its header"


def includes_of(lines):
    return {found[1] for line in lines if (found := re.match(r"#include <([^>]+)>", line))}


def is_cheap(header, definitions):
    """Whether a header may hold its definitions. A coroutine is emitted wherever it is seen, and so
    is a class with virtual functions without one that is defined in one place."""
    if any(re.search(r"\b(override|virtual)\b", code_of(line)) for line in header):
        return False
    code = "\n".join(map(code_of, definitions))
    more = includes_of(definitions) - includes_of(header)
    return not re.search(r"\bco_(await|return|yield)\b", code) and not any(
        name.startswith(EXPENSIVE) for name in more)


def check_pairs(tree):
    """An internal header has a file of definitions only for a reason."""
    headers = tree.headers((".hpp", ".ipp"))
    readers = collections.defaultdict(set)
    for name, lines in tree.files.items():
        for header in includes_of(lines) & headers.keys():
            readers[header].add(name.removeprefix("include/"))
    for header, lines in headers.items():
        name = definitions_of(header)
        if "/detail/" not in header or header.endswith(".ipp") or name not in headers:
            continue
        size = len(headers[name])
        others = readers[header] - {name}
        if size <= LINES_IN_READER and len(others) == 1 and min(others).endswith(".ipp"):
            yield "include/" + name, 1, f"{min(others)} alone reads {header}: move it there"
        elif size <= LINES_IN_HEADER and is_cheap([f"#include <{header}>", *lines], headers[name]):
            yield "include/" + name, 1, "needs no file: no coroutine, and no further header"


def module_targets():
    """How the file of the CMake targets adds the opt-in modules: "etcd torch" links both."""
    return [" ".join([module, *(layer for layer in layers if layer in OPT_IN_LAYERS)])
            for module, layers in OPT_IN_LAYERS.items()]


DECLARED = re.compile(r"[{};]|\b(?:public|private|protected):(?!:)")
SCOPE = re.compile(r"(?:template <.*> )?(?:namespace ?(?P<name>[\w:]*)|(?P<key>class|struct) .*)$")


def public_declarations(lines):
    """What a program sees of a header, each with the line at which it ends: members, functions,
    the heads of classes; none of namespace detail or of another library, and no bodies."""
    code = "\n".join("" if line.startswith("#") else code_of(line) for line in lines)
    seen = []  # of each open scope, whether a program sees what comes next
    begin = body = 0
    for token in DECLARED.finditer(code):
        text = " ".join(code[begin:token.start()].split())
        scope = SCOPE.match(text)
        if body:
            body += {"{": 1, "}": -1}.get(token[0], 0)
        elif token[0].endswith(":"):
            seen[-1] = token[0] == "public:"
        elif token[0] == "}":
            seen = seen[:-1]
        else:
            if all(seen):
                yield code.count("\n", 0, token.start()) + 1, text
            if token[0] == "{" and scope:
                seen.append(scope["key"] == "struct" or scope["name"] in SEEN_NAMESPACES)
            elif token[0] == "{":
                body = 1
        begin = token.end()


SEEN_NAMESPACES = ["elastic", "elastic::testing"]


def check_public_members(tree):
    """What programs see of public headers has public types: data members, functions and public
    bases. What other parts of the library need is private, behind detail::internals."""
    for name, lines in tree.headers().items():
        if "/detail/" in name:
            continue
        for number, text in public_declarations(lines):
            # Not the values of defaults, what constructors begin with, traits, private bases.
            if not text.startswith("using "):
                text = re.sub(r"(?<=\)) : .*| = [^,;]*|\btypename detail::", "", text)
            if SCOPE.match(text):
                text = "".join(re.findall(r"\bpublic [^,]*|^struct .*", text))
            if re.search(r"\bdetail::", text) and not text.startswith("friend "):
                yield "include/" + name, number, "what is public has a type of detail"


def check_modules(tree):
    """Each opt-in module has an umbrella, and a CMake target that links those that it includes."""
    for module in OPT_IN_LAYERS:
        if f"elastic/{module}.hpp" not in tree.headers():
            yield f"include/elastic/{module}.hpp", 1, "this umbrella of an opt-in module is missing"
    lines = "\n".join(tree.files.get(MODULES, []))
    targets = re.findall(r"^elastic_add_module\((.+)\)", lines, re.MULTILINE)
    if targets != module_targets():
        yield MODULES, 1, f"adds {targets}; the table in tidy.py says {module_targets()}"


def code_of(line):
    """A line without its strings and comment, so that words in them break no rule."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_banned(tree):
    """The calls of BANNED stay in their one place."""
    for name, lines in tree.files.items():
        if not name.endswith((".hpp", ".ipp", ".cpp")):
            continue
        rules = [(re.compile(pattern), reason) for pattern, where, place, reason in BANNED
                 if re.match(where, name) and not (place and re.match(place, name))]
        for number, line in enumerate(lines, 1):
            for pattern, reason in rules:
                if found := pattern.search(code_of(line)):
                    yield name, number, f"{found[0].strip()}: {reason}"


ASKED_MACRO = re.compile(r"\b(?:ELASTIC|(?:BOOST_)?ASIO|FMT|JSON|NLOHMANN|_GLIBCXX)_\w+|\bNDEBUG\b")


def check_macros(tree):
    """Headers ask for no macro in which objects may differ unnoticed: each is in AGREED, and a
    header then has its symbol, or in HARMLESS."""
    asked, symbols = {}, set()
    for header, lines in tree.headers((".hpp", ".ipp")).items():
        continues = False
        for number, line in enumerate(lines, 1):
            symbols.update(re.findall(r"^ELASTIC_AGREE\((\w+)", line))
            if continues or re.match(r"\s*#\s*(el)?if", line):
                continues = line.endswith("\\")
                for macro in ASKED_MACRO.findall(code_of(line)):
                    macro = macro.removeprefix("BOOST_")
                    asked.setdefault(macro, ("include/" + header, number))
    for macro, (name, number) in asked.items():
        if macro not in AGREED and macro not in HARMLESS:
            yield name, number, f"{macro} is neither in AGREED nor in HARMLESS"
        elif AGREED.get(macro, "") and AGREED[macro] not in symbols:
            yield name, number, f"{macro}: no header has ELASTIC_AGREE({AGREED[macro]})"


def check_exports(tree):
    """A shared library exports each public class with virtual functions: programs derive from it,
    and its type crosses the border between them."""
    for header, lines in tree.headers().items():
        unmarked = None
        for number, line in enumerate(lines, 1):
            if "/detail/" in header or line.startswith("}"):
                unmarked = None
            elif found := re.match(r"(?:class|struct) (\w+)\b(?!.*;)", line):
                unmarked = found[1] if found[1] != "ELASTIC_EXPORT" else None
            elif unmarked and re.search(r"\b(virtual|override)\b", code_of(line)):
                yield "include/" + header, number, f"{unmarked} has no ELASTIC_EXPORT"
                unmarked = None


AWAITED_CONDITION = re.compile(r"\b(?:if|while|switch) \(!?co_await\b")
DECLARATION = re.compile(r"^\s*(?:for \()?(?:const |static )?(?!return|throw|delete|else|co_)"
                         r"[a-z_][\w:]*(?:<.*>)?(?: const)?[&* ]+(?:\[[\w, ]+\]|\w+)"
                         r"(?: = |\{|;|\(|$)")


def body_around(lines, number):
    """The lines of the function around a line: as this code is laid out, from the last line with
    less indentation that opens a block to the one that closes it, for the outermost of them."""
    begin = number
    depth = len(lines[number]) - len(lines[number].lstrip())
    for place in range(number, -1, -1):
        line = lines[place]
        indentation = len(line) - len(line.lstrip())
        if line.rstrip().endswith("{") and indentation < depth:
            if re.match(r"\s*(?:class|struct|namespace|union|enum|extern)\b", line):
                break
            begin, depth = place, indentation
    end = next((place for place in range(number, len(lines))
                if lines[place].startswith(" " * depth + "}")), len(lines))
    return lines[begin + 1:end]


def check_awaited_conditions(tree):
    """No coroutine that declares no variable awaits in a condition: g++ 12 miscompiles it."""
    for name, lines in tree.files.items():
        if not name.endswith((".hpp", ".ipp", ".cpp")):
            continue
        for number, line in enumerate(lines):
            if not AWAITED_CONDITION.search(code_of(line)):
                continue
            if not any(DECLARATION.match(code_of(other)) for other in body_around(lines, number)):
                yield name, number + 1, ("awaits in a condition, in a function that declares no "
                                         "variable: g++ 12 miscompiles it; name the result")


STATEMENT = re.compile(r"[^;{}]+")


def operand_at(text, begin, end_letter):
    """An operand of a conditional operator, and where it ends: at a letter outside of parentheses,
    or with the parentheses around it."""
    depth = 0
    for place in range(begin, len(text)):
        letter = text[place]
        depth += (letter in "([") - (letter in ")]")
        is_scope = "::" in text[place - 1:place + 2]
        if depth < 0 or (depth == 0 and letter == end_letter and not is_scope):
            return text[begin:place].strip(), place
    return text[begin:].strip(), len(text)


def chooses_call(statement, mark):
    """Whether the conditional operator at `mark` may result in what a call returns."""
    first, colon = operand_at(statement, mark + 1, ":")
    second, _ = operand_at(statement, colon + 1, ",")
    awaits = [operand.startswith("co_await") for operand in (first, second)]
    calls = [re.search(r"[\w>]\(", operand) for operand in (first, second)]
    return all(awaits) or any(call and not await_ for call, await_ in zip(calls, awaits))


def check_awaited_choices(tree):
    """No conditional operator chooses between tasks, or other results of calls, where a coroutine
    awaits: g++ 12 destroys the chosen one twice."""
    for name, lines in tree.files.items():
        if not name.endswith((".hpp", ".ipp", ".cpp")):
            continue
        text = "\n".join(code_of(line) for line in lines)
        for found in STATEMENT.finditer(text):
            if "co_await" not in found[0]:
                continue
            for mark in re.finditer(r"\?", found[0]):
                if chooses_call(found[0], mark.start()):
                    number = text.count("\n", 0, found.start() + mark.start()) + 1
                    yield name, number, ("?: results in what a call returns, in an expression that "
                                         "awaits: g++ 12 destroys it twice; name it first")


def check_debris(tree):
    """Nothing that was left lying about: notes to oneself, switched-off code, merge marks."""
    words = re.compile(r"\b(" + "|".join(DEBRIS) + r")\b|^\s*#\s*if 0\b|^(<{7}|>{7}|={7})( |$)")
    for name, lines in tree.files.items():
        for number, line in enumerate(lines, 1):
            if found := words.search(line):
                yield name, number, f"left over: {found[0].strip()}"


def prose_of(lines):
    """The lines of a document without its blocks of code, numbered."""
    is_code = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def anchors_of(lines):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for _, line in prose_of(lines) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(tree):
    """A link in a document leads to a file of the repository, and to a heading of it."""
    for name, lines in tree.files.items():
        if not name.endswith(".md"):
            continue
        for number, line in prose_of(lines):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                path, _, anchor = target.partition("#")
                if ":" in path:
                    continue
                found = ((tree.root / name).parent / path).resolve() if path else tree.root / name
                if not found.exists():
                    yield name, number, f"the link {target} leads nowhere"
                elif anchor and anchor not in anchors_of(found.read_text("utf-8").split("\n")):
                    yield name, number, f"the link {target} leads to no heading"


def python_blocks(lines):
    """The blocks of Python in a document, each with the number of its first line."""
    begin = None
    for number, line in enumerate(lines, 1):
        if begin is None and line.strip() == "```python":
            begin = number + 1
        elif begin is not None and line.strip() == "```":
            yield begin, textwrap.dedent("\n".join(lines[begin - 1:number - 1]))
            begin = None


def check_python(tree):
    """What a document shows as Python is Python."""
    for name, lines in tree.files.items():
        if not name.endswith(".md"):
            continue
        for begin, block in python_blocks(lines):
            try:
                ast.parse(block)
            except SyntaxError as problem:
                yield name, begin + (problem.lineno or 1) - 1, f"this is no Python: {problem.msg}"


def functions_of(tree):
    """What the library declares or calls: race, and of a class in a file task_group::stop."""
    functions = set()
    for lines in tree.headers((".hpp", ".ipp")).values():
        text = "\n".join(lines)
        names = set(re.findall(r"\b((?:\w+::)?\w+)\s*\(", text))
        scopes = re.findall(r"\b(?:class|struct) (?:ELASTIC_EXPORT )?(\w+)[^;{(]*\{", text)
        functions |= names | {f"{scope}::{name}" for scope in scopes for name in names}
    return functions


def check_rules(tree):
    """The functions that carry a rule, in the column of that name of a document's table, exist."""
    functions = functions_of(tree)
    for name, lines in tree.files.items():
        if not name.startswith("docs/"):
            continue
        is_table_of_rules = False
        for number, line in prose_of(lines):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|"):
                is_table_of_rules = False
            elif cells[-1] == "carried by":
                is_table_of_rules = True
            elif is_table_of_rules:
                for function in re.findall(r"`([^`]+)`", cells[-1]):
                    if function not in functions:
                        yield name, number, f"there is no function {function}"


def check_table_of_layers(tree):
    """The design's table of modules has a row for each, with those that it may include."""
    head = "| module | holds | may include |"
    lines = tree.files.get(DESIGN, [])
    begin = lines.index(head) if head in lines else len(lines)
    rows = {}
    for number, line in enumerate(lines[begin + 2:], begin + 3):
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[cells[0].removesuffix(", opt-in")] = number, cells[-1]
    for module, layers in ALL_LAYERS.items():
        number, listed = rows.get(module, (1, "nothing"))
        if listed != ", ".join(layers):
            yield DESIGN, number, f"{module} may include {', '.join(layers)}, it says {listed}"


CHECKS = [check_text, check_start, check_layers, check_umbrellas, check_definitions,
          check_self_contained, check_cycles, check_pairs, check_public_members, check_modules,
          check_banned, check_macros, check_exports, check_awaited_conditions,
          check_awaited_choices, check_debris, check_links, check_python, check_rules,
          check_table_of_layers]


def findings(root):
    tree = Tree(root)
    return [finding for check in CHECKS for finding in check(tree)]


# ---- self-test --------------------------------------------------------------------------------

START = ("// SPDX-FileCopyrightText: 2026 The elastic authors\n"
         "// SPDX-License-Identifier: MIT\n#pragma once\n")
DEFINED = ("#if defined(ELASTIC_HEADER_ONLY)\n#include <elastic/process/impl/child.ipp>\n"
           "#endif\n")
PAIR = "include/elastic/process/detail/pair"
CLEAN = {
    "include/elastic/elastic.hpp": START + "\n#include <elastic/base.hpp>\n"
                                   "#include <elastic/process.hpp>\n",
    "include/elastic/base.hpp": START + "\n#include <elastic/base/time.hpp>\n",
    "include/elastic/base/time.hpp": START + "// not asio::detached\nnow = steady_clock::now();\n"
    "task<void> f() {\n  const bool b = c;\n  if (co_await g()) co_return;\n"
    "  const int i = b ? *c : co_await h(b ? x::y : z);\n}\n",
    "include/elastic/base/extra.hpp": START + "\n// Opt-in: large.\n",
    "include/elastic/process.hpp": START + "\n#include <elastic/process/child.hpp>\n"
                                   "#include <elastic/process/clock.hpp>\n",
    "include/elastic/src.hpp": START + "#include <elastic/process/impl/child.ipp>\n"
                               "#include <elastic/process/impl/clock.ipp>\n"
                               "#include <elastic/process/detail/pair.ipp>\n",
    "include/elastic/process/impl/child.ipp": START + "#include <elastic/process/child.hpp>\n",
    "include/elastic/process/child.hpp":
        START + "#include <elastic/base/detail/ring.hpp>\nwaitid(1);\n"
        "class hidden : detail::ring {\n public:\n  hidden() : ring_(detail::none) {}\n"
        "  int f(int a = detail::none) { return detail::g(a); }\n\n private:\n"
        "  friend detail::internals;\n  detail::ring* h();\n  detail::ring* ring_;\n};\n" + DEFINED,
    "include/elastic/process/clock.hpp":
        START + "class failure {};\nclass wall_clock {\nELASTIC_DECL int read_time();\n" +
        DEFINED.replace("child", "clock"),
    "include/elastic/process/impl/clock.ipp": START + "#include <elastic/process/clock.hpp>\n",
    PAIR + ".hpp": START + "#include <elastic/base/config.hpp>\n" +
        DEFINED.replace("impl/child", "detail/pair"),
    "include/elastic/process/detail/pair.ipp":
        START + "#include <elastic/process/detail/pair.hpp>\n\n"
        "#include <elastic/process/clock.hpp>\n",
    "docs/page.md": "# A page\n\n[here](#a-page), [there](../include/elastic/base.hpp)\n\n"
                    "| rule | carried by |\n| --- | --- |\n| one | `steady_clock::now` |\n",
}
for module in OPT_IN_LAYERS:
    CLEAN[f"include/elastic/{module}.hpp"] = START + f"\n#include <elastic/{module}/thing.hpp>\n"
    CLEAN[f"include/elastic/{module}/thing.hpp"] = START
CLEAN[DESIGN] = "| module | holds | may include |\n| --- | --- | --- |\n" + "".join(
    f"| {module} | things | {', '.join(layers)} |\n" for module, layers in ALL_LAYERS.items())
CLEAN[MODULES] = "".join(f"elastic_add_module({target})\n" for target in module_targets())
TIME = "include/elastic/base/time.hpp"
CHILD = "include/elastic/process/child.hpp"
PAGE = "docs/page.md"
# Each of these alone, added to the end of a file of the clean tree, must be found.
VIOLATIONS = [
    (TIME, "x" * (COLUMNS + 1) + "\n", "columns"),
    (TIME, "int a; \n", "blanks at the end"),
    (TIME, "\tint a;\n", "tab"),
    (TIME, "\n", "one line end"),
    (TIME, "int a;", "one line end"),
    (TIME, "#include <elastic/process/child.hpp>\n", "base may not include process"),
    (TIME, "#include <elastic/process.hpp>\n", "umbrella"),
    (TIME, '#include "task.hpp"\n', "quotes"),
    (TIME, "#include <program/preflight.hpp>\n", "may not include the program"),
    (TIME, "std::cerr << 1;\n", "std::cerr"),
    (TIME, "#include <iostream>\n", "iostream"),
    (TIME, "asio::co_spawn(a, b, asio::detached);\n", "asio::detached"),
    (TIME, "using namespace std;\n", "using namespace"),
    (TIME, "#include <asio/post.hpp>\n", "#include <asio"),
    (CHILD, "#include <boost/asio.hpp>\n", "#include <boost/asio"),
    (CHILD, "asio::error_code failure;\n", "asio::error_code"),
    (CHILD, "#include <nlohmann/json.hpp>\n", "all of nlohmann/json"),
    ("program/part.cpp", START + "usleep(1); asio::detached;\n", "asio::detached"),
    ("program/part.cpp", START + "::kill(pid, 9);\n", "kill"),
    (TIME, "if (fork() == 0) {\n", "fork"),
    (TIME, "waitid(P_PIDFD);\n", "waitid"),
    (TIME, "::kill(pid, 9);\n", "kill"),
    (TIME, "task<void> f() {\n  if (co_await g()) co_return;\n  throw x;\n}\n", "in a condition"),
    (TIME, "class c {\n  int a;\n  task<void> f() {\n    while (!co_await g()) h();\n  }\n};\n",
     "in a condition"),
    (TIME, "co_await (c ? f() : g());\n", "destroys it twice"),
    (TIME, "co_await (is_new\n              ? a::f(x)\n              : a::g(y, z));\n",
     "destroys it twice"),
    (TIME, "co_await race(c ? f() : g(), h());\n", "destroys it twice"),
    (TIME, "co_await stop(c ? named : make(1));\n", "destroys it twice"),
    (TIME, "x = c ? co_await f() : co_await g();\n", "destroys it twice"),
    (TIME, "class c {\n  virtual ~c();\n};\n", "c has no ELASTIC_EXPORT"),
    (TIME, "// " + DEBRIS[0] + ": later\n", DEBRIS[0]),
    (TIME, "#if 0\n", "#if 0"),
    (TIME, "#if defined(ELASTIC_FAST)\n#endif\n", "ELASTIC_FAST is neither in AGREED"),
    (TIME, "#if __linux__ && \\\n    defined(NDEBUG)\n#endif\n", "NDEBUG is neither in AGREED"),
    (TIME, "#ifdef BOOST_ASIO_HAS_THREADS\n#endif\n", "ASIO_HAS_THREADS: no header has"),
    (TIME, "<<<<<<< HEAD\n", "<<<<<<<"),
    (CHILD, "std::chrono::system_clock::now();\n", "system_clock::now"),
    (CHILD, "asio::steady_timer timer(executor);\n", "steady_timer"),
    (CHILD, "std::this_thread::sleep_for(1s);\n", "sleep_for"),
    (CHILD, "usleep(10);\n", "usleep"),
    (CHILD, "asio::ip::tcp::socket s;\n", "tcp::socket"),
    (CHILD, "#include <elastic/base/detail/queue.hpp>\n", "private to base"),
    (CHILD, "#include <elastic/base/time/detail/ring.hpp>\n", "private to base"),
    (TIME, "#include <elastic/etcd/thing.hpp>\n", "the core may not include etcd: opt-in"),
    ("include/elastic/torch/thing.hpp", "#include <elastic/etcd/thing.hpp>\n",
     "torch may not include etcd"),
    ("include/elastic/base.hpp", "#include <elastic/base/extra.hpp>\n", "opt-in"),
    ("include/elastic/base.hpp", "#include <elastic/etcd/thing.hpp>\n", "opt-in"),
    ("include/elastic/elastic.hpp", "#include <elastic/etcd.hpp>\n", "opt-in"),
    ("include/elastic/etcd/more.hpp", START, "does not list elastic/etcd/more.hpp"),
    (MODULES, "elastic_add_module(thing)\n", "the table in tidy.py says"),
    ("include/elastic/base/more.hpp", START, "does not list elastic/base/more.hpp"),
    ("include/elastic/other/thing.hpp", START, "not in the table"),
    ("include/elastic/net/thing.hpp", START, "this umbrella is missing"),
    ("include/elastic/net.hpp", START, "does not list elastic/net.hpp"),
    ("include/elastic/process/fork/child.hpp", START, "this umbrella is missing"),
    ("include/elastic/process/fork.hpp", START, "does not list elastic/process/fork.hpp"),
    (CHILD, "#include <elastic/base/time/detail/queue.hpp>\n", "private to base"),
    ("examples/01_x.cpp", "int a;\n", "SPDX"),
    ("include/elastic/base/detail/x.hpp", START.replace("#pragma once\n", ""), "#pragma once"),
    (CHILD, "int after_the_definitions;\n", "does not end with its definitions"),
    (TIME, "ELASTIC_DECL int now();\n", "does not end with its definitions"),
    ("include/elastic/base/impl/time.ipp", START + "#include <elastic/base/time.hpp>\n",
     "does not list what there is"),
    ("include/elastic/process/impl/stray.ipp", START, "there is no header"),
    ("include/elastic/process/impl/clock.ipp", "#include <elastic/process/detail/pair.hpp>\n",
     "alone reads elastic/process/detail/pair.hpp"),
    (PAIR + ".hpp", "#include <elastic/process/clock.hpp>\n", "needs no file"),
    ("include/elastic/process/impl/clock.ipp", "#include <elastic/process.hpp>\n",
     "includes elastic/process.hpp, which includes its header"),
    ("include/elastic/process/impl/child.ipp", "void start() {\n  read_time();\n}\n",
     "uses read_time"),
    ("include/elastic/process/impl/child.ipp", "void start() {\n  detail::read_time();\n}\n",
     "uses detail::read_time"),
    ("include/elastic/process/impl/child.ipp", "wall_clock clock;\n", "uses type wall_clock"),
    ("include/elastic/process/impl/child.ipp", "} catch (const failure&) {\n",
     "uses type failure"),
    (CHILD, "struct options {\n  std::shared_ptr<detail::ring> ring = {};\n};\n",
     "has a type of detail"),
    (CHILD, "class child {\n public:\n  detail::ring* rings(int count) const { return all; }\n};\n",
     "has a type of detail"),
    (CHILD, "class child {\n  int a;\n\n public:\n  void use(\n      int a = {},\n"
     "      detail::ring* all = {});\n};\n", "has a type of detail"),
    (CHILD, "class child final : public stream, public detail::ring {};\n", "has a type of detail"),
    (CHILD, "struct child : detail::ring {};\n", "has a type of detail"),
    (CHILD, "namespace elastic {\nusing ring = detail::ring;\n}\n", "has a type of detail"),
    (PAGE, "[x](gone.md)\n", "gone.md leads nowhere"),
    (PAGE, "[x](#gone)\n", "#gone leads to no heading"),
    (PAGE, "```python\nfor step in steps:\n        one()\n    two()\n```\n", "this is no Python"),
    (PAGE, "| two | `steady_clock::gone` |\n", "there is no function steady_clock::gone"),
    (DESIGN, "| etcd, opt-in | more | net |\n", "etcd may include base, net, store"),
]


def write_tree(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        write_tree(pathlib.Path(folder), CLEAN)
        found = findings(pathlib.Path(folder))
    failures = [f"found in a clean tree: {finding}" for finding in found]
    for name, added, wanted in VIOLATIONS:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(pathlib.Path(folder), {**CLEAN, name: CLEAN.get(name, "") + added})
            found = findings(pathlib.Path(folder))
            if not any(wanted in message for _, _, message in found):
                failures.append(f"not found: {added!r} in {name} (wanted: {wanted}; got: {found})")
    print("\n".join(failures) or f"{len(VIOLATIONS)} violations, each one found")
    return 1 if failures else 0


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    arguments = argparse.ArgumentParser(description="Checks the style rules.")
    arguments.add_argument("--self-test", action="store_true", help="test the rules themselves")
    arguments.add_argument("--root", type=pathlib.Path, default=root, help="the repository")
    options = arguments.parse_args()
    if options.self_test:
        sys.exit(self_test())
    found = findings(options.root.resolve())
    for name, number, message in found:
        print(f"{name}:{number}: {message}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
