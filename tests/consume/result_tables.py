#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Tests benchmarks/tables.py: the page that it writes, and the tables that it takes."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True

from tables import Invalid, json_text, page, take  # noqa: E402

RESULTS = """{
  "title": "Launch",
  "programs": ["launch.py"],
  "question": "How long?",
  "tables": [
    {
      "method": "Median in ms",
      "date": "2026-11-24",
      "commands": ["launch.py"],
      "columns": ["command", "bare loop", "elasticrun", "bound"],
      "rows": [["a | b", [2.0, 1.90, 2.10], [157, 6.35], null]],
      "notes": ["A note."]
    }
  ]
}
"""

PAGE = r"""## Launch

How long? (`launch.py`)

Median in ms; 2026-11-24.

```sh
launch.py
```

| command | bare loop | elasticrun | bound |
| --- | --- | --- | --- |
| a \| b | 2.0 (1.90 - 2.10) | 157 (6.35) | |

- A note.
"""


def page_of(*files):
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(files):
            pathlib.Path(folder, f"{number}.json").write_text(text)
        return page(pathlib.Path(folder))


class Pages(unittest.TestCase):
    def test_a_table_has_the_digits_of_its_file(self):
        self.assertTrue(page_of(RESULTS).endswith("\n\n" + PAGE), page_of(RESULTS))

    def test_titles_are_in_alphabetical_order(self):
        text = page_of(RESULTS, RESULTS.replace("Launch", "Idle"))
        self.assertLess(text.index("## Idle"), text.index("## Launch"))

    def test_a_table_with_an_unknown_field_is_refused(self):
        with self.assertRaisesRegex(Invalid, r"0\.json: a table has no field day"):
            page_of(RESULTS.replace('"date"', '"day"'))

    def test_a_row_with_another_number_of_cells_is_refused(self):
        with self.assertRaisesRegex(Invalid, r"0\.json: the row a \| b has 3 cells, .* 4 columns"):
            page_of(RESULTS.replace(", null]", "]"))


class Outputs(unittest.TestCase):
    def test_contenders_become_columns(self):
        printed = "2 x CPU, load 0.1\n\n" \
                  "8 x true, ms | median | quartiles | of the bare loop\n" \
                  "| spawn_loop | 4.500 | 4.3 - 4.6 | 1.00 |\n" \
                  "| elasticrun | 7.400 | 7.2 - 7.6 | 1.64 |\n\n" \
                  "64 x true, ms | median | quartiles | of the bare loop\n" \
                  "| spawn_loop | 23.9 | 23.3 - 25.1 | 1.00 |\n" \
                  "| elasticrun (2 of 2 hung) | | | |\n"
        self.assertEqual(take(printed), [{
            "columns": ["measured", "spawn_loop", "elasticrun", "elasticrun of the bare loop",
                        "elasticrun (2 of 2 hung)"],
            "rows": [["8 x true, ms", [4.5, 4.3, 4.6], [7.4, 7.2, 7.6], 1.64, None],
                     ["64 x true, ms", [23.9, 23.3, 25.1], None, None, None]]}])

    def test_another_table_is_taken_as_it_is(self):
        printed = "| nodes | ring | reached |\n| --- | --- | --- |\n| 8 | 199 (4.90) | yes |\n\n" \
                  "SIGTERM | median | quartiles | worst\n| guarded | 3.0 | 2.9 - 3.3 | 6.7 |\n"
        self.assertEqual(take(printed), [
            {"columns": ["nodes", "ring", "reached"], "rows": [["8", [199, 4.9], "yes"]]},
            {"columns": ["SIGTERM", "median", "quartiles", "worst"],
             "rows": [["guarded", 3.0, "2.9 - 3.3", 6.7]]}])

    def test_a_figure_below_zero_is_a_number(self):
        self.assertEqual(take("a | b\n| r | 2.25 (-1.50 - 3.00) |\n")[0]["rows"],
                         [["r", [2.25, -1.5, 3.0]]])

    def test_a_taken_table_is_a_table_of_a_page(self):
        results = json.loads(RESULTS)
        text = json_text(take("a | b\n| r | 10 |\n\nc | d\n| r | 20 |\n"))
        results["tables"] = [{"method": "Median", **table} for table in json.loads(f"[{text}]")]
        self.assertIn("| c | d |\n| --- | --- |\n| r | 20 |\n", page_of(json.dumps(results)))
        self.assertIn("| a | b |\n| --- | --- |\n| r | 10 |\n", page_of(json.dumps(results)))


if __name__ == "__main__":
    unittest.main()
