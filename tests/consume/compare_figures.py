#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Tests benchmarks/compare.py: which cells it reads as figures, and which changes it lists."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "benchmarks" / "compare.py"
sys.path.insert(0, str(PROGRAM.parent))
sys.dont_write_bytecode = True

import compare as program  # noqa: E402
from compare import Figure, compare, figures_in, read_figures, say  # noqa: E402

TABLE = """# Benchmarks

## Launch

Some text | with a bar in it, which is not a table.

| whole command | bare loop | elasticrun | bound | reached |
| --- | ---: | --- | --- | --- |
| 8 x /bin/true | 5.8 (5.7 - 6.1) | 10.9 (10.4 - 11.4) | 3 | yes |
| another | 1 | 2 | | |
| another | 3 | 4 | | |
"""


def moves(before, after, percent=10):
    return compare(read_figures(before), read_figures(after), percent)


class Cells(unittest.TestCase):
    def test_a_number_is_a_figure(self):
        for cell, values in (("12", [12]), ("0.35 ms", [0.35]), ("`64`", [64]), ("**1.5**", [1.5]),
                             ("127 (7.48)", [127, 7.48]), ("66, 91", [66, 91]),
                             ("16 of 32 survive", [16, 32]), ("yes", []), ("", [])):
            self.assertEqual([figure.value for figure in figures_in(cell)], values, cell)

    def test_quartiles_are_the_spread_of_the_figure_before_them(self):
        self.assertEqual(figures_in("5.8 (5.7 - 6.1)"), [Figure(5.8, (5.7, 6.1))])
        self.assertEqual(figures_in("320 (300 to 340)"), [Figure(320, (300, 340))])
        self.assertEqual(figures_in("5.7 - 6.1"), [])

    def test_digits_inside_a_word_are_no_figure(self):
        self.assertEqual(figures_in("c10d and v1.13"), [])


class Tables(unittest.TestCase):
    def test_a_figure_is_named_by_its_heading_title_row_and_column(self):
        names = [say(name) for name in read_figures(TABLE)]
        self.assertEqual(names[:3], ["Launch: whole command: 8 x /bin/true: bare loop",
                                     "Launch: whole command: 8 x /bin/true: elasticrun",
                                     "Launch: whole command: 8 x /bin/true: bound"])

    def test_rows_of_one_name_are_told_apart(self):
        names = [say(name) for name in read_figures(TABLE)]
        self.assertIn("Launch: whole command: another: bare loop", names)
        self.assertIn("Launch: whole command: another (2): bare loop", names)

    def test_the_output_of_a_benchmark_is_a_table_too(self):
        printed = "2 x CPU, load 0.1\n\n8 x /bin/true, ms | median | quartiles\n" \
                  "| elasticrun | 10.900 | 10.4 - 11.4 |\n\nnext, ms | median\n| elasticrun | 2 |\n"
        figures = {say(name): figure.value for name, figure in read_figures(printed).items()}
        self.assertEqual(figures, {"8 x /bin/true, ms: elasticrun: median": 10.9,
                                   "next, ms: elasticrun: median": 2})

    def test_what_stands_in_a_code_block_is_no_table(self):
        self.assertEqual(read_figures("```sh\na | b\nc | 1\n```\n"), {})


class Moves(unittest.TestCase):
    def test_nothing_moved(self):
        result = moves(TABLE, TABLE)
        self.assertEqual((result.moved, result.gone, result.new), ([], [], []))
        self.assertEqual(result.count, 7)

    def test_more_than_ten_percent_is_named_in_either_direction(self):
        for after, is_named in (("11.9", False), ("12.1", True), ("9.9", False), ("9.7", True)):
            result = moves(TABLE, TABLE.replace("10.9 (10.4 - 11.4)", after))
            self.assertEqual([move.name for move in result.moved],
                             ["Launch: whole command: 8 x /bin/true: elasticrun"] * is_named, after)

    def test_exactly_ten_percent_is_not(self):
        before, after = "a | b\n| r | 10 |\n", "a | b\n| r | 11 |\n"
        self.assertEqual(moves(before, after).moved, [])
        self.assertEqual(len(moves(before, after, percent=9).moved), 1)

    def test_any_move_from_zero_is_named(self):
        self.assertEqual(len(moves("a | b\n| r | 0 |\n", "a | b\n| r | 1 |\n").moved), 1)
        self.assertEqual(moves("a | b\n| r | 0 |\n", "a | b\n| r | 0 |\n").moved, [])

    def test_a_move_within_the_spreads_is_marked(self):
        for spread, is_within in (("(11 - 15)", True), ("(12 - 15)", False)):
            result = moves(TABLE, TABLE.replace("10.9 (10.4 - 11.4)", f"13.0 {spread}"))
            self.assertEqual([move.is_within_spread for move in result.moved], [is_within])

    def test_what_stands_on_one_side_only_is_said(self):
        result = moves(TABLE, TABLE.replace("| another | 3 | 4 | | |\n", "| new | 3 | | | |\n"))
        self.assertEqual(result.gone, ["Launch: whole command: another (2): bare loop",
                                       "Launch: whole command: another (2): elasticrun"])
        self.assertEqual(result.new, ["Launch: whole command: new: bare loop"])


class Program(unittest.TestCase):
    def run_with(self, *arguments):
        return subprocess.run([sys.executable, str(PROGRAM), *map(str, arguments)],
                              capture_output=True, text=True)

    def test_the_exit_status_is_that_of_diff(self):
        with tempfile.TemporaryDirectory() as folder:
            before, after = pathlib.Path(folder, "before.md"), pathlib.Path(folder, "after.md")
            before.write_text(TABLE)
            after.write_text(TABLE.replace("10.9", "21.8"))
            self.assertEqual(self.run_with(before, before).returncode, 0)
            moved = self.run_with(before, after)
            self.assertEqual(moved.returncode, 1)
            self.assertIn("elasticrun: 10.9 -> 21.8 (+100 %, the spreads overlap)\n", moved.stdout)
            self.assertIn("1 of 7 figures moved by more than 10 %", moved.stdout)

    def test_what_has_no_table_or_is_not_there_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder, "empty.md")
            empty.write_text("no table\n")
            for source, words in ((empty, "has no table with figures"),
                                  ("no-such-revision", "neither a file nor a git revision")):
                refused = self.run_with(source, source)
                self.assertEqual(refused.returncode, 2)
                self.assertIn(words, refused.stderr)


class Revisions(unittest.TestCase):
    @unittest.skipUnless(shutil.which("git"), "it takes git")
    def test_a_revision_stands_for_its_results_or_for_its_readme_if_it_has_none(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def git(*arguments):
                subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e",
                                *arguments], check=True, capture_output=True)

            def commit(name):
                root.joinpath("benchmarks").mkdir(exist_ok=True)
                root.joinpath("benchmarks", name).write_text(name)
                git("add", ".")
                git("commit", "-m", name)

            git("init")
            commit("README.md")
            commit("results.md")
            with unittest.mock.patch.object(program, "ROOT", root):
                self.assertEqual(program.read("HEAD~1"), "README.md")
                self.assertEqual(program.read("HEAD"), "results.md")


if __name__ == "__main__":
    unittest.main()
