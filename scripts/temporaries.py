#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Finds public functions that g++ 12 may miscompile, or not compile, in an awaited expression.

  temporaries.py --cxx g++ --include DIR   checks the public headers of the library
  temporaries.py --cxx g++ --self-test     shows that each rule finds its violations

In an expression that contains co_await, g++ 12 destroys some temporaries twice and does not compile
the array behind an initializer list (docs/design/coroutines.md). A public
function that can be part of such an expression therefore takes

  - no aggregate that has a destructor, except as named<T>, which takes no temporary. A class that
    declares a constructor is not an aggregate;
  - no container that can be made from braces: a key_list can;
  - no std::function, which may be made from a lambda that captures.

Such functions are the coroutines, the functions that return an object with coroutines, which can be
awaited at once, and the constructors of classes whose coroutines can be called on a temporary. The
compiler says which types are aggregates. Functions that take a type of detail/ are not for users.

It also has the compiler say that each public task can be given to `asio::co_spawn` with a handler,
which takes a result that can be made without arguments, for the handler of a task that threw.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Nobody ends an object in the expression that makes it.
ENDS = {"stop", "finish"}
# Functions that break a rule, and why they may.
ALLOWED = {
    "elastic::rendezvous_service::rendezvous_service":
        "is made for a server, which runs it; no user awaits it",
    "elastic::rendezvous_factory::rendezvous_factory":
        "a registry's function, which is not a coroutine, makes it",
    "elastic::c10d_rendezvous::c10d_rendezvous":
        "make_registered_rendezvous, which is not a coroutine, names the function",
}
# Tasks cannot be copied, so no braces make a container of them.
CONTAINER = re.compile(r"\b(vector|map|set|deque|initializer_list)\s*<(?!\s*task\b)")
FUNCTION = re.compile(r"\bstd::function\s*<")
WORD = re.compile(r"[A-Za-z_]\w*")


def code_of(text):
    """The text of a header without comments, strings and directives of the preprocessor."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(?:\\.|[^'\\\n])'", "' '", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)


def split(text, separator=","):
    """Splits `text` at the separators outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([{<":
            depth += 1
        elif letter in ")]}" or letter == ">" and text[place - 1] != "-":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    parts.append(text[begin:])
    return [part.strip() for part in parts if part.strip()]


def closing(text, opening):
    """Where the bracket that opens at `opening` closes."""
    pairs = {"(": ")", "{": "}", "<": ">"}
    mate, depth = pairs[text[opening]], 0
    for place in range(opening, len(text)):
        if text[place] == text[opening]:
            depth += 1
        elif text[place] == mate and text[place - 1] != "-":
            depth -= 1
            if depth == 0:
                return place
    raise ValueError("a bracket does not close: " + text[opening:opening + 60])


class Parameter:
    def __init__(self, text):
        declared, *default = split_default(text)
        self.default = bool(default)
        # The name of the parameter, if it has one, is the last word behind a whole type.
        unnamed = re.sub(r"(?<=[\w>&*.])\s*(?<![\w:])[A-Za-z_]\w*$", "", declared).strip()
        self.type = unnamed or declared
        self.is_rvalue = self.type.endswith("&&")

    def may_be_temporary(self):
        return not self.type.endswith("&") or "const" in self.type or self.is_rvalue


def split_default(text):
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "=" and depth == 0:
            return [text[:place].strip(), text[place + 1:].strip()]
    return [text.strip()]


class Function:
    def __init__(self, scope, name, result, parameters, suffix, where, is_template=False):
        self.scope, self.name, self.result, self.suffix = scope, name, result, suffix
        self.where, self.is_template, self.is_spawnable = where, is_template, True
        self.parameters = [Parameter(text) for text in split(parameters)]
        self.is_deleted = bool(re.search(r"=\s*delete\b", suffix))
        self.is_constructor = bool(scope) and name == scope.rsplit("::", 1)[-1]
        qualifier = re.sub(r"\b(const|noexcept|override|final)\b", "", suffix).strip()
        self.needs_named_object = qualifier.startswith("&") and not qualifier.startswith("&&")

    def __str__(self):
        shown = ", ".join(parameter.type for parameter in self.parameters)
        return f"{self.scope + '::' if self.scope else ''}{self.name}({shown})"


class Header:
    """The public types, aliases and functions that a header declares."""

    def __init__(self, where, text):
        self.where, self.text = where, code_of(text)
        self.types, self.aliases, self.bases, self.functions = [], {}, {}, []
        self.templates = set()
        self.read(0, len(self.text), [], False)

    def read(self, at, end, scope, is_class, public=True):
        """The declarations of [at, end), which is the inside of a scope."""
        text, begin = self.text, at
        while at < end:
            letter = text[at]
            if is_class and (found := re.match(r"(public|private|protected)\s*:(?!:)", text[at:])) \
                    and not text[begin:at].strip():
                public = found[1] == "public"
                at = begin = at + found.end()
                continue
            if letter == "<" and re.search(r"\btemplate\s*$", text[begin:at]):
                at = closing(text, at) + 1
            elif letter == "(":
                at = closing(text, at) + 1
            elif letter == "{":
                close = closing(text, at)
                if public:
                    self.block(text[begin:at], at + 1, close, scope)
                at = begin = close + 1
            elif letter == ";":
                if public:
                    self.declaration(text[begin:at], scope)
                at = begin = at + 1
            else:
                at += 1

    def block(self, head, at, end, scope):
        """Reads the head before braces: a namespace, a class, or a function with its body."""
        head = head.strip()
        if found := re.match(r"(?:inline\s+)?namespace\s*([\w:]*)$", head):
            if found[1] != "detail":
                self.read(at, end, [*scope, *found[1].split("::")], False)
            return
        template = re.match(r"template\s*<", head)
        rest = head[closing(head, template.end() - 1) + 1:].strip() if template else head
        if found := re.match(r"(class|struct)\s+(?:ELASTIC_EXPORT\s+)?(\w+)\s*(?:final)?\s*"
                             r"(?::(?!:)(.*))?$", rest, re.DOTALL):
            inner = [*scope, found[2]]
            if template:
                self.templates.add("::".join(inner))
            else:
                self.types.append("::".join(inner))
            self.bases["::".join(inner)] = set(WORD.findall(found[3] or ""))
            self.read(at, end, inner, True, found[1] == "struct")
            return
        self.declaration(head, scope)

    def declaration(self, text, scope):
        text = text.strip()
        if found := re.match(r"using\s+(\w+)\s*=\s*(.*)$", text, re.DOTALL):
            self.aliases["::".join([*scope, found[1]])] = " ".join(found[2].split())
            return
        if re.match(r"(using|friend|enum|static_assert|namespace|typedef|struct|class)\b", text):
            return
        is_template = any("::".join(scope).startswith(name) for name in self.templates)
        if template := re.match(r"template\s*<", text):
            is_template = True
            text = text[closing(text, template.end() - 1) + 1:].strip()
            if text.startswith("requires"):
                text = after_requirement(text)
        text = re.sub(r"\b(ELASTIC_DECL|inline|static|virtual|explicit|constexpr|friend)\b|"
                      r"\[\[.*?\]\]", "", text).strip()
        if "operator" in text or split_default(text.split("(")[0])[1:]:
            return
        opening = text.find("(")
        if opening < 0:
            return
        head = text[:opening].strip()
        if not (found := re.search(r"(~?\w+)$", head)) or found[1].startswith("~"):
            return
        close = closing(text, opening)
        self.functions.append(Function("::".join(scope), found[1], head[:found.start()].strip(),
                                       text[opening + 1:close], text[close + 1:].strip(),
                                       self.where, is_template))


def after_requirement(text):
    """The text behind a requires-clause, whose last braces or brackets end it."""
    place = text.find("requires", len("requires"))
    place = place if place >= 0 else 0
    brace = text.find("{", place)
    if brace < 0:
        return text
    return text[closing(text, brace) + 1:].strip()


def aggregates(types, headers, call):
    """Those of `types` that are aggregates with a destructor."""
    lines = [f"#include <{header}>" for header in headers]
    lines += ["#include <type_traits>",
              "template <class T> constexpr bool is_unsafe = std::is_aggregate_v<T> && "
              "!std::is_trivially_destructible_v<T>;"]
    lines += [f'static_assert(!is_unsafe<{name}>, "<{name}>");' for name in types]
    return failed_assertions(lines, call)


def mark_unspawnable(headers, call):
    """Marks the coroutines whose result `asio::co_spawn` cannot give to a handler."""
    rules = Rules(headers, ())
    tasks = [function for function in rules.functions
             if rules.is_coroutine(function) and not function.is_template
             and not function.is_deleted]
    lines = [f"#include <{header.where}>" for header in headers]
    lines += ["#include <concepts>", "#include <type_traits>", "namespace elastic {",
              "template <class T> constexpr bool is_spawnable = std::is_void_v<T> || "
              "(std::default_initializable<T> && std::move_constructible<T>);"]
    for number, function in enumerate(tasks):
        result = re.sub(r"[A-Za-z_][\w:]*",
                        lambda name, scope=function.scope: rules.type_of(name[0], scope),
                        function.result[function.result.index("<") + 1:-1])
        lines.append(f'static_assert(is_spawnable<{result}>, "<{number}>");')
    for number in failed_assertions([*lines, "}"], call):
        tasks[int(number)].is_spawnable = False


def failed_assertions(lines, call):
    """The names in the texts of the assertions that fail. Any other error ends the script."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "types.cpp"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        run = subprocess.run([*call, "-w", "-fsyntax-only", str(source)],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wanted = re.compile(r"static assertion failed: <([\w:]+)>")
    others = [line for line in run.stdout.splitlines()
              if "error:" in line and not wanted.search(line)]
    if others:
        sys.exit("\n".join(others[:20]))
    return set(wanted.findall(run.stdout))


def last_word(name):
    return name.rsplit("::", 1)[-1]


class Rules:
    """Judges each function of a library from all of its headers together."""

    def __init__(self, headers, unsafe):
        self.functions = [function for header in headers for function in header.functions]
        self.types = {name for header in headers for name in header.types}
        self.unsafe = set(unsafe)
        self.aliases = {last_word(name): target for header in headers
                        for name, target in header.aliases.items()}
        bases = {last_word(name): found
                 for header in headers for name, found in header.bases.items()}
        # Classes with coroutines, and those of them whose coroutines take a temporary object.
        self.awaited = self.with_bases(bases, lambda function: True)
        self.awaited_at_once = self.with_bases(
            bases, lambda function: not function.needs_named_object)

    def with_bases(self, bases, wanted):
        found = {last_word(function.scope) for function in self.functions
                 if self.is_coroutine(function) and function.name not in ENDS
                 and not function.is_deleted and wanted(function)}
        while more := {name for name, of in bases.items() if of & found} - found:
            found |= more
        return found

    @staticmethod
    def is_coroutine(function):
        return bool(re.match(r"(asio::awaitable|task)\s*<", function.result))

    def can_be_awaited(self, function):
        if function.is_constructor:
            return last_word(function.scope) in self.awaited_at_once
        if self.is_coroutine(function):
            return True
        made = set(WORD.findall(function.result))
        return not function.result.endswith("&") and bool(made & self.awaited)

    def resolved(self, text):
        """A type with its aliases replaced by what they stand for."""
        return WORD.sub(lambda word: self.aliases.get(word[0], word[0]), text)

    def type_of(self, name, scope):
        """The type that a name means in a scope; inner scopes hide outer ones."""
        while scope:
            if f"{scope}::{name}" in self.types:
                return f"{scope}::{name}"
            scope = scope.rpartition("::")[0]
        return name

    def fault(self, parameter, scope):
        if not parameter.may_be_temporary() or re.match(r"named\s*<", parameter.type):
            return None
        text = self.resolved(parameter.type)
        if FUNCTION.search(text):
            return "a std::function"
        if CONTAINER.search(text):
            return "a container; take a type like key_list"
        if re.search(r"(_ptr|function)\s*<", text) or text.endswith("*"):
            return None
        # Whole names: job_command::kind is not a job_command.
        names = {self.type_of(name, scope) for name in re.findall(r"[A-Za-z_][\w:]*", text)}
        if found := sorted(names & self.unsafe):
            shown = found[0].removeprefix("elastic::")
            return f"the aggregate {shown}; take named<{shown}> or declare its constructor"
        return None

    def findings(self):
        for function in self.functions:
            if function.is_deleted or not self.can_be_awaited(function) or \
                    str(function).split("(")[0] in ALLOWED or \
                    any("detail::" in parameter.type for parameter in function.parameters):
                continue
            if not function.is_spawnable:
                yield (f"{function.where}: {function} has a result without a default: co_spawn "
                       "cannot give it to a handler")
            for parameter in function.parameters:
                if fault := self.fault(parameter, function.scope):
                    yield f"{function.where}: {function} takes {fault}"


def read_headers(root, call):
    """The public headers below `root`, and their aggregates with a destructor."""
    headers = [Header(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
               for path in sorted(root.rglob("*.hpp"))
               if "detail" not in path.parts and path.name != "src.hpp"]
    types = sorted({name for header in headers for name in header.types})
    call = [*call, f"-I{root}"]
    mark_unspawnable(headers, call)
    return headers, aggregates(types, [header.where for header in headers], call)


# ---- self-test --------------------------------------------------------------------------------

SELF_TEST = """
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace elastic::case_%d {
template <class T> class task {};
template <class T> class named {};
struct options { std::string name; };
struct safe_options { safe_options() = default; std::string name; };
struct numbers { int count = 0; };
using handler = std::function<void()>;
class service {
 public:
  virtual ~service() = default;
  virtual task<void> run() = 0;
};
%s
}  // namespace elastic::case_%d
"""
# Declarations, and what is said of them; None: nothing is.
CASES = [
    ("task<void> f(options given);", "the aggregate options"),
    ("task<void> f(const options& given);", "the aggregate options"),
    ("task<void> f(int count, options given = {});", "the aggregate options"),
    ("task<void> f(options&& given);", "the aggregate options"),
    ("task<void> f(std::optional<options> given);", "the aggregate options"),
    ("task<void> f(std::vector<std::string> keys);", "a container"),
    ("task<void> f(const std::map<int, int>& counts);", "a container"),
    ("task<void> f(std::function<void()> call);", "a std::function"),
    ("task<void> f(handler call);", "a std::function"),
    ("template <class T>\n  requires requires(T t) { t.go(); }\n"
     "task<void> f(options given, T more);", "the aggregate options"),
    ("std::unique_ptr<service> make(const options& given);", "the aggregate options"),
    ("class made final : public service {\n public:\n  explicit made(options given);\n};",
     "the aggregate options"),
    ("class made {\n public:\n  made(options given);\n  task<void> go();\n};",
     "the aggregate options"),
    ("class made {\n public:\n  static task<made> make(options given);\n};",
     "the aggregate options"),
    ("class made {\n public:\n  task<void> go(options given) &;\n};", "the aggregate options"),
    ("struct made {\n  struct numbers {\n    std::string name;\n  };\n"
     "  task<void> go(numbers given);\n};", "the aggregate made::numbers"),
    ("struct made {\n  struct options {\n    options() = default;\n    std::string name;\n  };\n"
     "  task<void> go(options given);\n};", None),
    ("class made {\n public:\n  made(options given);\n  task<void> go() &;\n};", None),
    ("class made {\n public:\n  made(options given);\n  task<void> stop();\n};", None),
    ("class made {\n  task<void> go(options given);\n};", None),
    ("task<void> f(options&& given) = delete;", None),
    ("task<void> f(options& given);", None),
    ("task<void> f(named<options> given);", None),
    ("task<void> f(safe_options given, numbers more = {});", None),
    ("task<void> f(std::shared_ptr<options> given);", None),
    ("task<void> f(std::vector<task<void>> tasks);", None),
    ("void f(const options& given, std::vector<int> more);", None),
    ("namespace detail {\ntask<void> f(options given);\n}", None),
    ("struct made {\n  explicit made(int count);\n};\ntask<made> f();", "without a default"),
    ("struct made {\n  struct numbers {\n    int& count;\n  };\n  task<numbers> go();\n};",
     "without a default"),
    ("struct made {\n  explicit made(int count);\n};\ntask<std::optional<made>> f();", None),
    ("struct made {\n  struct numbers {\n    int count;\n  };\n  task<numbers> go();\n};",
     None),
    ("template <class T>\ntask<T> f(T given);", None),
]


def self_test(call):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for number, (declared, _) in enumerate(CASES):
            (root / f"case_{number:02}.hpp").write_text(
                "#include <optional>" + SELF_TEST % (number, declared, number), encoding="utf-8")
        headers, unsafe = read_headers(root, call)
    failures = []
    for number, (header, (declared, wanted)) in enumerate(zip(headers, CASES, strict=True)):
        found = [finding.replace(f"case_{number}::", "")
                 for finding in Rules([header], unsafe).findings()]
        if len(found) != (wanted is not None) or wanted and wanted not in found[0]:
            failures.append(f"{declared}\n  wanted: {wanted}; got: {found}")
    print("\n".join(failures) or f"{len(CASES)} declarations, each judged right")
    return bool(failures)


def main():
    arguments = argparse.ArgumentParser(description="Finds functions that g++ 12 may miscompile.")
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--include", action="append", default=[], help="besides the library's")
    arguments.add_argument("--define", action="append", default=[])
    arguments.add_argument("--self-test", action="store_true", help="test the rules themselves")
    options = arguments.parse_args()
    call = [options.cxx, "-std=c++20", "-DELASTIC_SEPARATE_COMPILATION=1",
            *(f"-D{define}" for define in options.define),
            *(f"-I{folder}" for folder in options.include if folder != "/usr/include")]
    if options.self_test:
        sys.exit(self_test(call))
    root = pathlib.Path(__file__).resolve().parent.parent / "include"
    headers, unsafe = read_headers(root, call)
    rules = Rules(headers, unsafe)
    found, judged = list(rules.findings()), sum(map(rules.can_be_awaited, rules.functions))
    print("\n".join(found) or f"{judged} functions can be awaited, none takes such an argument, "
                               "and each task can be spawned")
    sys.exit(1 if found or not judged else 0)


if __name__ == "__main__":
    main()
