#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Jobs as calls of Python: elasticrun.run of docs/python.md.

  run_from_python.py ELASTICRUN [words for unittest]

The package is copied beside the program, as pip installs both. If the Python that runs this can
import torch, ranks reduce a tensor, too; if it can import cloudpickle, that is used, too.
"""

import asyncio
import contextlib
import importlib.util
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from waiting import comes_true

# What the workers of this test import.
JOBS = """\
import os, signal, sys, time

def rank(): return int(os.environ["RANK"])
def restarts(): return int(os.environ["TORCHELASTIC_RESTART_COUNT"])
def describe(*words, **named): return rank(), words, named
def large(size): return bytes([rank()]) * size
def variable(name): return os.environ[name]
def arguments(): return sys.argv[1:], sys.stdin.read()

def fail_once():
    if rank() == 1 and restarts() == 0:
        raise OSError("the first attempt")
    return rank(), restarts()

def fail(rank_to_fail):
    if rank() != rank_to_fail: time.sleep(600)
    raise ValueError("no such sample: 7")

def die(number):
    if rank() != 1: time.sleep(600)
    os.kill(os.getpid(), number)

def leave(code):
    if code or rank() == 1: sys.exit(code)
    return "done"

def talk(text):
    # A line is one call each: print() makes two, and workers share the stream.
    sys.stdout.write(f"{text} {rank()}\\n")
    sys.stderr.write("aside\\n")

def unsendable(): return (each for each in ())

class Odd(Exception):
    def __init__(self, one, two): super().__init__(f"{one} and {two}")

def fail_oddly(): raise Odd(1, 2)

def stay(folder):
    pathname = os.path.join(folder, str(rank()))
    with open(pathname + ".part", "w") as file: file.write(str(os.getpid()))
    os.rename(pathname + ".part", pathname)
    time.sleep(600)

def reduce():
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    value = torch.tensor([rank() + 1.0])
    dist.all_reduce(value)
    dist.destroy_process_group()
    return value
"""
CALL = "import elasticrun, jobs\n"
# What starts the tests may ignore SIGINT, as a shell does for what runs in its background.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
GONE_WITHIN = 60


def is_alive(pid):
    """Whether a process runs; one that only waits for its parent does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Stage(unittest.TestCase):
    """A folder that is the current one, with the package, the program and the module `jobs`."""

    maxDiff = None
    elasticrun_path = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(cls, tempfile.TemporaryDirectory()))
        cls.site = cls.folder / "site"
        shutil.copytree(ROOT / "python" / "elasticrun", cls.site / "elasticrun",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (cls.site / "bin").mkdir()
        (cls.site / "bin" / "elasticrun").symlink_to(cls.elasticrun_path)
        (cls.site / "jobs.py").write_text(JOBS, encoding="utf-8")

    @staticmethod
    def enterClassContext(cls, context):  # of unittest since Python 3.11
        result = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        return result

    def setUp(self):
        self.work = self.folder / self.id().rpartition(".")[2]
        # Its temporary folder shows what a job leaves behind.
        self.temporary = self.work / "$tmp"
        self.temporary.mkdir(parents=True)

    def environment(self, **changes):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("PYTHON", "PET_", "TORCHELASTIC", "ELASTIC_"))}
        return {**kept, "PYTHONPATH": str(self.site), "OMP_NUM_THREADS": "1",
                "TMPDIR": str(self.temporary), **changes}

    def start(self, *words, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([sys.executable, *words], env=self.environment(), cwd=self.work,
                                **options)

    def output(self, *words, **options):
        """What Python writes to stdout; it must succeed."""
        with self.start(*words, **options) as process:
            out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, out + err)
        return out

    def script(self, text, name="script.py"):
        path = self.work / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    def pids(self, count):
        """Of the workers of jobs.stay, when all of them run."""
        def read():
            files = [path for path in self.work.iterdir() if path.name.isdigit()]
            return len(files) == count and [int(path.read_text()) for path in files]
        return comes_true("all workers run", read, 120)

    def assert_gone(self, pids):
        comes_true("the workers are gone", lambda: not any(map(is_alive, pids)), GONE_WITHIN)


class Program(Stage):
    """Which program the package runs."""

    def setUp(self):
        super().setUp()
        self.package = self.work / "package"
        shutil.copytree(self.site / "elasticrun", self.package / "elasticrun")
        self.bin = self.work / "bin"
        self.bin.mkdir()

    def find(self):
        """The path, or the error, of a package beside which there is no program."""
        script = ("import elasticrun\n"
                  "try: print(elasticrun.find_elasticrun())\n"
                  "except FileNotFoundError as missing: print(missing)\n")
        environment = self.environment(PYTHONPATH=str(self.package), PATH=str(self.bin))
        return subprocess.run([sys.executable, "-S", "-c", script], env=environment, text=True,
                              stdout=subprocess.PIPE, check=True, cwd=self.work).stdout.strip()

    def test_in_path(self):
        program = self.bin / "elasticrun"
        program.symlink_to(self.elasticrun_path)
        self.assertEqual(self.find(), str(program))

    def test_beside_the_package(self):
        (self.bin / "elasticrun").symlink_to(self.elasticrun_path)
        own = self.package / "bin" / "elasticrun"
        own.parent.mkdir()
        own.symlink_to(self.elasticrun_path)
        self.assertEqual(self.find(), str(own))

    def test_nowhere(self):
        self.assertEqual(self.find().rpartition(" ")[2], "PATH")


class Calls(Stage):
    """By this process itself."""

    def setUp(self):
        super().setUp()
        former = dict(os.environ)
        self.addCleanup(os.environ.update, former)
        self.addCleanup(os.environ.clear)
        os.environ.clear()
        os.environ.update(self.environment())
        former_temporary = tempfile.tempdir
        tempfile.tempdir = str(self.temporary)
        self.addCleanup(setattr, tempfile, "tempdir", former_temporary)
        if str(self.site) not in sys.path:
            sys.path.insert(0, str(self.site))
        # pylint: disable=import-outside-toplevel
        import elasticrun
        import jobs
        self.assertEqual(pathlib.Path(elasticrun.__file__).parent, self.site / "elasticrun")
        self.run_job, self.failed, self.jobs = elasticrun.run, elasticrun.JobFailed, jobs

    def failure(self, *arguments, **options):
        self.err = io.StringIO()
        with self.assertRaises(self.failed) as caught, contextlib.redirect_stderr(self.err):
            self.run_job(*arguments, **options)
        return caught.exception

    def assert_nothing_left(self):
        self.assertEqual([path.name for path in self.temporary.iterdir()], [])

    def test_results_are_in_order_of_rank(self):
        self.assertEqual(self.run_job(self.jobs.rank, nproc_per_node=3), [0, 1, 2])
        self.assert_nothing_left()

    def test_a_function_gets_its_arguments(self):
        self.assertEqual(self.run_job(self.jobs.describe, ("$HOME", 2.5), {"named": [None]}),
                         [(0, ("$HOME", 2.5), {"named": [None]})])

    def test_results_may_be_large(self):
        size = 10_000_000
        results = self.run_job(self.jobs.large, (size,), nproc_per_node=2)
        self.assertEqual([(len(each), each[0], each[-1]) for each in results],
                         [(size, 0, 0), (size, 1, 1)])

    def test_workers_have_variables_and_neither_arguments_nor_input(self):
        self.assertEqual(self.run_job(self.jobs.variable, ("PLACE",), nproc_per_node=2,
                                      env={"PLACE": "${rank} of ${world_size}"}),
                         ["0 of 2", "1 of 2"])
        self.assertEqual(self.run_job(self.jobs.arguments), [([], "")])

    def test_each_worker_has_a_result_where_all_have_one_local_rank(self):
        # GPUs are needed for that option, or variables that say there are some.
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        self.assertEqual(self.run_job(self.jobs.variable, ("LOCAL_RANK",), nproc_per_node=2,
                                      virtual_local_rank=True), ["0", "0"])

    def test_a_restart_gives_the_results_of_the_last_attempt(self):
        self.assertEqual(self.run_job(self.jobs.fail_once, nproc_per_node=2, max_restarts=1),
                         [(0, 1), (1, 1)])
        self.assert_nothing_left()

    def test_an_exception_of_a_worker_is_the_cause(self):
        error = self.failure(self.jobs.fail, (1,), nproc_per_node=2)
        self.assertEqual(error.exit_code, 1)
        self.assertIn("rank 1 ended: exit code 1", error.reason)
        self.assertIsInstance(error.__cause__, ValueError)
        self.assertEqual(str(error.__cause__), "no such sample: 7")
        cause = error.root_cause
        self.assertEqual((cause.rank, cause.local_rank, cause.node_rank, cause.role), (1, 1, 0,
                                                                                       "default"))
        self.assertEqual(cause.host, os.uname().nodename)
        self.assertEqual((cause.end, cause.exit_code, cause.signal), ("exit code 1", 1, None))
        self.assertEqual(cause.message, "ValueError: no such sample: 7")
        self.assertIn("in fail\n", cause.traceback)
        self.assertIn("no such sample: 7", pathlib.Path(cause.error_file).read_text())
        self.assertFalse(cause.was_stopped)
        self.assertEqual([(each.rank, each.was_stopped) for each in error.failures],
                         [(1, False), (0, True)])
        self.assertIn(cause.traceback.rstrip(), str(error))
        self.assertEqual(pathlib.Path(error.log_dir).parents[1], self.temporary)
        self.assertEqual(error.report["state"], "FAILED")

    def test_a_signal_that_ends_a_worker_is_named(self):
        error = self.failure(self.jobs.die, (signal.SIGKILL,), nproc_per_node=2)
        cause = error.root_cause
        self.assertEqual((cause.rank, cause.end, cause.exit_code, cause.signal),
                         (1, "SIGKILL", None, signal.SIGKILL))
        self.assertIsNone(error.__cause__)

    def test_a_worker_may_exit(self):
        self.assertEqual(self.run_job(self.jobs.leave, (0,), nproc_per_node=2), ["done", None])
        error = self.failure(self.jobs.leave, (7,), nproc_per_node=1)
        self.assertEqual(error.root_cause.exit_code, 7)

    def test_a_result_that_cannot_be_sent_is_a_failure(self):
        error = self.failure(self.jobs.unsendable)
        self.assertIn("a value of the type builtins.generator cannot be sent to another process",
                      error.root_cause.message)

    def test_an_exception_that_cannot_be_built_again_is_in_the_report_alone(self):
        error = self.failure(self.jobs.fail_oddly)
        self.assertEqual(error.root_cause.message, "Odd: 1 and 2")
        self.assertIsNone(error.__cause__)

    def test_a_script_gets_its_words_and_has_no_result(self):
        script = self.script("""\
            import os, pathlib, sys
            pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(repr(sys.argv[2:]))
            """)
        self.assertIsNone(self.run_job(script, (self.work, "--lr", 0.1), nproc_per_node=2))
        self.assertEqual([(self.work / rank).read_text() for rank in "01"], ["['--lr', '0.1']"] * 2)
        self.assertIsNone(self.run_job(pathlib.Path("/bin/true"), no_python=True))
        self.assert_nothing_left()

    def test_a_script_that_fails_shows_the_end_of_its_stderr(self):
        error = self.failure(self.script("import sys\nsys.exit('no data')"))
        self.assertEqual(error.root_cause.message, "no data")
        self.assertEqual(error.root_cause.stderr, ("no data",))
        self.assertIn("\nno data\n", str(error))

    def test_files_go_to_the_folder_that_is_named(self):
        logs = self.work / "logs"
        self.run_job(self.jobs.talk, ("hello",), log_dir=logs, redirects=3)
        self.assertEqual([path.read_text() for path in logs.glob("*/attempt_0/0/stdout.log")],
                         ["hello 0\n"])
        first = self.failure(self.jobs.leave, (7,), log_dir=logs)
        second = self.failure(self.jobs.leave, (8,), log_dir=logs)
        self.assertNotEqual(first.log_dir, second.log_dir)
        self.assertEqual([first.root_cause.exit_code, second.root_cause.exit_code], [7, 8])
        self.assertEqual(pathlib.Path(first.log_dir).parent, logs)
        self.assert_nothing_left()

    def test_output_goes_where_sys_stdout_does(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.run_job(self.jobs.talk, ("grüße",), nproc_per_node=2)
        self.assertEqual(sorted(out.getvalue().splitlines()), ["grüße 0", "grüße 1"])
        self.assertEqual(err.getvalue().count("aside\n"), 2)

    def test_a_stream_that_cannot_be_written_ends_the_job(self):
        class Closed(io.StringIO):
            def write(self, text):
                raise BrokenPipeError("nobody reads")
        with contextlib.redirect_stdout(Closed()), self.assertRaises(BrokenPipeError):
            self.run_job(self.jobs.talk, ("lost",))
        self.assert_nothing_left()

    def test_wrong_calls_start_nothing(self):
        for arguments, options, text in [
                ((7,), {}, "a function or the path of a script is needed, not 7"),
                (("train.py", (), {"a": 1}), {}, "a script has no keyword arguments"),
                ((self.jobs.rank,), {"module": True}, "module is for scripts, not for functions"),
                ((self.jobs.describe, (threading.Lock(),)), {}, "cannot be sent")]:
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                self.run_job(*arguments, **options)
        self.assert_nothing_left()

    def test_what_elasticrun_says_of_wrong_options_is_the_reason(self):
        unknown = self.failure(self.jobs.rank, max_restart=True)
        error = self.failure(self.jobs.rank, nproc_per_node=0)
        self.assertEqual((error.exit_code, error.failures, error.root_cause, error.log_dir),
                         (2, (), None, None))
        self.assertIn("--nproc-per-node", str(error))
        self.assertIn("--max-restart", str(unknown))
        self.assertIn(error.reason.splitlines()[-1], self.err.getvalue())
        self.assert_nothing_left()

    def test_a_job_runs_in_a_coroutine_and_in_threads(self):
        async def call():
            return self.run_job(self.jobs.rank, nproc_per_node=2)
        self.assertEqual(asyncio.run(call()), [0, 1])
        results = {}
        threads = [threading.Thread(target=lambda place=place: results.update(
            {place: self.run_job(self.jobs.describe, (place,))})) for place in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {place: [(0, (place,), {})] for place in range(3)})

    def test_a_process_that_ignores_its_children_is_refused(self):
        former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGCHLD, former)
        with self.assertRaisesRegex(RuntimeError, "ignores SIGCHLD"):
            self.run_job(self.jobs.rank)

    def test_the_error_itself_can_be_sent(self):
        import pickle  # pylint: disable=import-outside-toplevel
        error = self.failure(self.jobs.leave, (7,))
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.failures), (str(error), error.failures))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "this Python has no torch")
    def test_ranks_of_pytorch_reduce_a_tensor(self):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        self.assertEqual([each.item() for each in self.run_job(self.jobs.reduce,
                                                               nproc_per_node=2)], [3.0, 3.0])


class Programs(Stage):
    """By a Python of its own: scripts, python -c, interruptions."""

    def test_a_script_may_use_its_own_functions_and_classes(self):
        script = self.script("""\
            import os
            import elasticrun

            class Place:
                def __init__(self, rank): self.rank = rank

            def find(base): return Place(base.rank + int(os.environ["RANK"]))

            if __name__ == "__main__":
                places = elasticrun.run(find, (Place(40),), nproc_per_node=2)
                print([(type(each) is Place, each.rank) for each in places])
            """)
        self.assertEqual(self.output(script), "[(True, 40), (True, 41)]\n")

    def test_a_script_without_a_guard_is_told_so(self):
        script = self.script("""\
            import elasticrun
            def find(): return 1
            elasticrun.run(find)
            """)
        with self.start(script) as process:
            err = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, 1)
        self.assertIn("elasticrun.JobFailed", err)
        self.assertIn('put the call of elasticrun.run below  if __name__ == "__main__":', err)

    def test_a_module_runs_by_its_name(self):
        (self.work / "pack").mkdir()
        self.script("word = 'found'", "pack/part.py")
        self.script("""\
            import elasticrun
            from . import part
            def find(): return part.word
            if __name__ == "__main__": print(elasticrun.run(find, nproc_per_node=2))
            """, "pack/main.py")
        self.assertEqual(self.output("-m", "pack.main"), "['found', 'found']\n")

    def test_python_c_runs_functions_of_modules(self):
        self.assertEqual(self.output("-c", CALL + "print(elasticrun.run(jobs.rank, "
                                                  "nproc_per_node=2))"), "[0, 1]\n")

    def test_a_function_without_a_file_needs_cloudpickle(self):
        code = ("import sys; sys.modules['cloudpickle'] = None\nimport elasticrun\n"
                "def find(): return 1\n"
                "for each in (find, lambda: 2):\n"
                "    try: elasticrun.run(each)\n"
                "    except TypeError as error: print(error)\n")
        first, second = self.output("-c", code).splitlines()
        self.assertEqual(first, "the function find cannot be sent to another process (workers "
                         "cannot import __main__, of which it is a part). Put it into a module, or "
                         "install cloudpickle, which sends the code of a function instead of its "
                         "name")
        self.assertIn("the function <lambda> cannot be sent to another process", second)

    def test_cloudpickle_sends_a_function_without_a_file(self):
        if not importlib.util.find_spec("cloudpickle"):  # what stands in for it knows only code
            self.script("""\
                import marshal, pickle, types
                def made(code, name): return types.FunctionType(marshal.loads(code), {}, name)
                class Sent:
                    def __init__(self, function): self.function = function
                    def __reduce__(self):
                        function = self.function
                        return made, (marshal.dumps(function.__code__), function.__name__)
                def dumps(call): return pickle.dumps((Sent(call[0]), *call[1:]))
                """, "cloudpickle.py")
        code = ("import elasticrun\ndef find(base):\n    import os\n"
                "    return base + int(os.environ['RANK'])\n"
                "print(elasticrun.run(find, (5,), nproc_per_node=2))")
        self.assertEqual(self.output("-c", code), "[5, 6]\n")

    def test_it_needs_neither_a_terminal_nor_open_streams(self):
        code = CALL + f"open({str(self.work / 'result')!r}, 'w').write(" \
                      f"str(elasticrun.run(jobs.describe, nproc_per_node=2)))"
        closing = 'exec "$0" -c "$1" <&- >&- 2>&-'
        subprocess.run(["sh", "-c", closing, sys.executable, code], check=True, timeout=300,
                       env=self.environment(), cwd=self.work, start_new_session=True)
        self.assertEqual((self.work / "result").read_text(), "[(0, (), {}), (1, (), {})]")

    def test_output_of_workers_is_that_of_the_script(self):
        out = self.output("-c", CALL + "print('before')\n"
                          "elasticrun.run(jobs.talk, ('within',))\nprint('after')")
        self.assertEqual(out, "before\nwithin 0\nafter\n")

    def interrupted(self, before=""):
        """A script that is sent SIGINT while its workers run. What it writes after that."""
        script = self.script(INTERRUPTIBLE + CALL + textwrap.dedent(before) + textwrap.dedent(f"""
            try: elasticrun.run(jobs.stay, ({str(self.work)!r},), nproc_per_node=2)
            except KeyboardInterrupt: print("interrupted", flush=True)
            """))
        with self.start(script) as process:
            pids = self.pids(2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
            left = [pid for pid in pids if is_alive(pid)]
        self.assertEqual(left, [], err)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return out

    def test_an_interruption_stops_the_job(self):
        self.assertEqual(self.interrupted(), "interrupted\n")

    def test_an_interruption_stops_the_job_where_output_is_captured(self):
        self.assertEqual(self.interrupted("import io, sys; sys.stderr = io.StringIO()"),
                         "interrupted\n")

    def test_a_second_interruption_kills_the_workers(self):
        script = self.script(INTERRUPTIBLE + CALL + textwrap.dedent(f"""
            try:
                elasticrun.run("stubborn.py", ({str(self.work)!r},), nproc_per_node=2,
                               shutdown_timeout=900)
            except KeyboardInterrupt: print("interrupted", flush=True)
            """))
        self.script("""\
            import signal, sys, jobs
            signal.signal(signal.SIGINT, lambda *_: open(sys.argv[1] + "/asked", "w").close())
            jobs.time.sleep = lambda _: [signal.pause() for _ in iter(int, 1)]
            print("up", file=sys.stderr, flush=True)
            jobs.stay(sys.argv[1])
            """, "stubborn.py")
        with self.start(script) as process:
            # Stderr is passed on once a worker counts as started: a stop before that kills it.
            for _ in range(2):
                while (line := process.stderr.readline()) != "up\n":
                    self.assertTrue(line, "the job has ended")
            pids = self.pids(2)
            process.send_signal(signal.SIGINT)
            comes_true("the workers are asked", (self.work / "asked").exists, 60)
            self.assertTrue(all(map(is_alive, pids)))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
            self.assertEqual([pid for pid in pids if is_alive(pid)], [], err)
        self.assertEqual(out, "interrupted\n")

    def test_a_script_that_is_killed_leaves_no_worker(self):
        script = self.script(CALL + f"elasticrun.run(jobs.stay, ({str(self.work)!r},), "
                                    f"nproc_per_node=2)")
        with self.start(script, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            pids = self.pids(2)
            process.kill()
        self.assert_gone(pids)


if __name__ == "__main__":
    Stage.elasticrun_path = os.path.abspath(sys.argv.pop(1))
    unittest.main()
