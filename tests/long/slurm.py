#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Runs jobs under a real Slurm: its controller, two nodes and munge, all on this host.

  slurm.py ELASTICRUN [--only PATTERN] [--list] [--figures]

As root, with Debian's packages slurmctld, slurmd, slurm-client and munge, which need not run. Each
case is a step whose tasks are the workers of one job. What goes wrong is shown with what the step
wrote, and makes the exit status 1. --figures measures starts and restarts instead, against what
srun itself takes.
"""

import argparse
import contextlib
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.ports import reserved_port
from support.waiting import comes_true

PATIENCE = 60
MARK = "ELASTIC_SLURM_TEST"

# Two nodes, which differ in their address: that is their name, too, so that it resolves.
CONFIGURATION = """
ClusterName=elastic
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SlurmdParameters=config_overrides
KillWait=60
NodeName=127.0.0.[1-2] NodeHostname=localhost Port={first},{second} CPUs=16
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# Both nodes have the name of this host, so elasticrun is told the one that Slurm has for them.
NAMED = 'PET_NODE_NAME=$SLURMD_NODENAME exec "$0" "$@"'
WORKER = ('echo "rank $RANK of $WORLD_SIZE, task $SLURM_PROCID, try $TORCHELASTIC_RESTART_COUNT, '
          'process $BASHPID."; ')
WAIT = "while :; do sleep 600 & wait $!; done"


class Wrong(Exception):
    """The job did what it must not."""


def demand(condition, what):
    if not condition:
        raise Wrong(what)


class Slurm:
    """The daemons, as long as the context lasts."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
        self.daemons = []

    def __enter__(self):
        missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "scancel")
                   if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
        if missing or os.getuid() != 0:
            sys.exit(f"slurm.py: this takes root, and {', '.join(missing) or 'nothing else'}: "
                     "apt-get install slurmctld slurmd slurm-client munge")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        text = CONFIGURATION.format(folder=self.folder, controller=reserved_port(),
                                    first=reserved_port(), second=reserved_port())
        (self.folder / "slurm.conf").write_text(text, encoding="utf-8")
        for name in ("state", "spool-127.0.0.1", "spool-127.0.0.2"):
            (self.folder / name).mkdir()
        self.start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                   f"--key-file={key}", f"--pid-file={self.folder}/munged.pid",
                   f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/seed")
        comes_true("munge answers", (self.folder / "munge.socket").exists, PATIENCE)
        self.start("slurmctld", "-D", "-c")
        for node in ("127.0.0.1", "127.0.0.2"):
            self.start("slurmd", "-D", "-N", node)
        comes_true("both nodes are idle", lambda: self.ask("sinfo", "-ho", "%D %t") == "2 idle",
                   PATIENCE)
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()

    def start(self, *command):
        with open(self.folder / f"{command[0]}.out", "ab") as out:
            path = shutil.which(command[0], path=os.environ["PATH"] + ":/usr/sbin:/sbin")
            self.daemons.append(subprocess.Popen([path, *command[1:]], env=self.environment,
                                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=False).stdout.strip()


class Step:
    """A step that runs. Its output is in a file."""

    def __init__(self, slurm, elasticrun, srun, work, options=(), named=True):
        self.slurm = slurm
        self.mark = f"{MARK}_{os.getpid()}_{time.monotonic_ns()}"
        self.out = slurm.folder / f"{self.mark}.out"
        program = ["sh", "-c", NAMED, elasticrun] if named else [elasticrun]
        self.job = "s" + str(time.monotonic_ns())
        command = ["srun", "--label", "--overcommit", f"--job-name={self.job}", *srun, *program,
                   *options, "--no-python", "bash", "-c", work]
        environment = {**slurm.environment, MARK: self.mark}
        with open(self.out, "wb") as out:
            self.srun = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                         stdout=out, stderr=out)

    def text(self):
        return self.out.read_text(encoding="utf-8", errors="replace")

    def lines(self, pattern):
        return re.findall(pattern, self.text(), re.MULTILINE)

    def wait_for(self, pattern, count):
        comes_true(f"{count} lines are {pattern}", lambda: len(self.lines(pattern)) >= count,
                   PATIENCE)

    def wait(self):
        return self.srun.wait(PATIENCE)

    def number(self):
        return comes_true("the step has a number", lambda: self.slurm.ask(
            "squeue", "-h", "-o", "%i", f"--name={self.job}"), PATIENCE)

    def processes(self, guards=True):
        """What belongs to the step: srun apart."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(path.name) == self.srun.pid:
                    continue
                name = (path / "comm").read_text(encoding="utf-8").strip()
                if name in ("srun", "slurmstepd") or not guards and name == "elastic-guard":
                    continue
                if wanted in (path / "environ").read_bytes().split(b"\0"):
                    found.append((int(path.name), name))
        return found

    def task(self, number):
        """The process of a task, an elasticrun."""
        wanted = f"SLURM_PROCID={number}".encode()
        for pid, name in self.processes(guards=False):
            with contextlib.suppress(OSError):
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                is_worker = any(entry.startswith(b"TORCHELASTIC_RUN_ID=") for entry in variables)
                if name == "elasticrun" and wanted in variables and not is_worker:
                    return pid
        raise Wrong(f"task {number} does not run")

    def leaves_nothing(self):
        end = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        left = self.processes()
        demand(not left, f"{left} is left after {PATIENCE} s")


# ---- cases --------------------------------------------------------------------------------------


def check_ranks(step, count):
    """Each worker's output has the label of its task, and its rank is the task's number."""
    found = step.lines(r"^ *(\d+): rank (\d+) of (\d+), task (\d+), ")
    demand(sorted(int(label) for label, *_ in found) == list(range(count)), f"labels: {found}")
    for label, rank, size, task in found:
        demand(label == rank == task and int(size) == count, f"task {label}: {rank} {size} {task}")


def one_job(start):
    step = start(["-N2", "--ntasks-per-node=4"], WORKER + "echo \"stderr of $RANK\" >&2")
    demand(step.wait() == 0, "srun failed")
    check_ranks(step, 8)
    for task in range(8):
        demand(step.lines(rf"^{task}: stderr of {task}$"), f"stderr of {task} is not its task's")
    demand(len(step.lines("workers of one job")) == 1, "not one warning")
    demand(len(step.lines("^0: .*with --standalone, each is a job by itself")) == 1, "which")


def uneven(start):
    step = start(["-N2", "-n5", "--distribution=block"], WORKER)
    demand(step.wait() == 0, "srun failed")
    check_ranks(step, 5)


def cyclic(start):
    step = start(["-N2", "--ntasks-per-node=2", "--distribution=cyclic"], WORKER)
    demand(step.wait() == 0, "srun failed")
    demand(len(step.lines("ranks differ from the scheduler's numbers")) == 1, "not one line")
    demand(step.lines(r"rank 1 of 4, task 2,"), "ranks are not contiguous on a node")


def standalone(start):
    step = start(["-N1", "-n3"], WORKER, ["--standalone"])
    demand(step.wait() == 0, "srun failed")
    demand(len(step.lines("rank 0 of 1, ")) == 3, "not three jobs")
    demand(not step.lines("WARNING"), "a warning")


def restart(start):
    with tempfile.TemporaryDirectory(prefix="elastic_slurm_") as begun:
        # Rank 5 fails once all have spoken.
        work = WORKER + (f'[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; : > {begun}/$RANK; '
                         '[ $RANK = 5 ] || exec sleep 600; '
                         f'until [ $(ls {begun} | wc -l) = 6 ]; do sleep 0.02; done; exit 3')
        step = start(["-N2", "--ntasks-per-node=3"], work, ["--max-restarts", "1"])
        demand(step.wait() == 0, "srun failed")
    demand(len(step.lines("try 0")) == 6 and len(step.lines("try 1")) == 6, "not two tries")


def failure(start):
    for kills in ("0", "1"):
        step = start(["-N2", "--ntasks-per-node=2", f"--kill-on-bad-exit={kills}"],
                     WORKER + f"[ $RANK = 3 ] && exit 7; {WAIT}")
        demand(step.wait() == 1, "srun ended with another code")
        demand(step.lines("exit code 7"), "no report")
        step.leaves_nothing()


def stop(start):
    step = start(["-N2", "--ntasks-per-node=4", "--export=ALL,LOGLEVEL=INFO"],
                 WORKER + f"trap 'echo told; exit 0' TERM; echo ready; {WAIT}")
    step.wait_for(": ready$", 8)
    # A stop during the start kills the workers.
    step.wait_for("round 0: ", 2)
    step.slurm.ask("scancel", step.number())
    step.wait()
    demand(len(step.lines(r": told$")) == 8, "not every worker was told once")
    step.leaves_nothing()


def ignored_signal(start):
    step = start(["-N2", "--ntasks-per-node=2"], WORKER + f"trap 'exit 0' TERM; echo ready; {WAIT}",
                 ["--preempt-signal", "USR1"])
    step.wait_for(": ready$", 4)
    # To every process of the step.
    step.slurm.ask("scancel", "--signal=USR1", step.number())
    demand(step.wait() == 128 + signal.SIGTERM, "the job was not preempted")
    step.leaves_nothing()


def killed_agent(start):
    killed(start, 0)


def killed_slot(start):
    killed(start, 2)


def killed(start, task):
    step = start(["-N1", "-n4"], WORKER + f"setsid sleep 600 & {WAIT}")
    step.wait_for(r"process \d+\.$", 4)
    os.kill(step.task(task), signal.SIGKILL)
    step.leaves_nothing()
    demand(step.wait() != 0, "srun ended well")


def killed_srun(start):
    step = start(["-N1", "-n4"], WORKER + f"setsid sleep 600 & {WAIT}")
    step.wait_for(r"process \d+\.$", 4)
    step.srun.kill()
    step.srun.wait()
    step.leaves_nothing()


def two_steps(start):
    steps = [start(["-N1", "-n3"], WORKER + "sleep 1") for _ in range(2)]
    for step in steps:
        demand(step.wait() == 0, "srun failed")
        demand(len(step.lines("rank . of 3, ")) == 3, "not one job for each step")


CASES = [one_job, uneven, cyclic, standalone, restart, failure, stop, ignored_signal, killed_agent,
         killed_slot, killed_srun, two_steps]


# ---- figures ------------------------------------------------------------------------------------


def times(text, word):
    return [float(at) for at in re.findall(rf"{word} (\d+\.\d+)$", text, re.MULTILINE)]


def run_timed(slurm, *command):
    """Result: when it began, and what it wrote."""
    begin = time.time()
    done = subprocess.run(command, env=slurm.environment, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    demand(done.returncode == 0, done.stderr)
    return begin, done.stdout


def figures(slurm, elasticrun):
    """Times of 4 workers on a node: their start against that of srun alone, in pairs, and their
    restart with slots and without, from the failure of one until all run again."""
    begins = 'printf "began %s\\n" "$EPOCHREALTIME"'
    fails = ('[ $TORCHELASTIC_RESTART_COUNT = 0 ] || { ' + begins + '; exit 0; }; '
             '[ $RANK = 1 ] || exec sleep 600; sleep 0.5; '
             'printf "failed %s\\n" "$EPOCHREALTIME"; exit 3')
    step = ["srun", "--overcommit", "-N1", "-n4"]
    job = [elasticrun, "--max-restarts", "1", "--no-python", "bash", "-c"]
    more, with_slots, without = [], [], []
    for _ in range(21):
        begin, text = run_timed(slurm, *step, "bash", "-c", begins)
        plain = max(times(text, "began")) - begin
        begin, text = run_timed(slurm, *step, *job, begins)
        more.append(max(times(text, "began")) - begin - plain)
        for found, command in ((with_slots, [*step, *job]),
                               (without, [job[0], "--standalone", "--nproc-per-node=4", *job[1:]])):
            _, text = run_timed(slurm, *command, fails)
            found.append(max(times(text, "began")) - max(times(text, "failed")))
    for name, found in (("start of 4 workers, more than srun alone", more),
                        ("restart of 4 workers, with slots", with_slots),
                        ("restart of 4 workers, without", without)):
        print(f"{name}: {1000 * statistics.median(found):.1f} ms (median of {len(found)}, "
              f"{1000 * min(found):.1f} to {1000 * max(found):.1f})")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("elasticrun")
    arguments.add_argument("--only", default="*")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--figures", action="store_true")
    options = arguments.parse_args()
    chosen = [case for case in CASES if fnmatch.fnmatch(case.__name__, options.only)]
    if options.list:
        print("\n".join(case.__name__ for case in chosen))
        return 0
    elasticrun = os.path.abspath(options.elasticrun)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="elastic_slurm_") as folder, Slurm(folder) as slurm:
        if options.figures:
            figures(slurm, elasticrun)
            return 0
        for case in chosen:
            steps = []

            def start(*given, begun=steps):
                begun.append(Step(slurm, elasticrun, *given))
                return begun[-1]

            begin = time.monotonic()
            try:
                case(start)
                print(f"{case.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
            except (Wrong, subprocess.TimeoutExpired, SystemExit) as wrong:
                failed += 1
                print(f"{case.__name__}: WRONG: {wrong}")
                for step in steps:
                    print(step.text())
            finally:
                for step in steps:
                    step.srun.kill()
                    step.srun.wait()
                    slurm.ask("scancel", "--signal=KILL", f"--name={step.job}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
