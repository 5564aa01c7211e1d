#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Installs the wheel of elasticrun into an environment of its own and uses it as a user does.

  wheel.py FOLDER   the folder that has the wheel: tests/run.sh --clang builds it, or
                    pip wheel . --no-deps --wheel-dir FOLDER
  wheel.py WHEEL    the wheel

If the Python that runs this can import torch, a job is trained, too. Exits with 77 if there is no
wheel, or no pip in this Python, unless ELASTIC_NOTHING_MISSING is 1.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
VERSION = re.search(r'version_text = "([^"]+)"',
                    (ROOT / "include/elastic/base/version.hpp").read_text(encoding="utf-8"))[1]
# Before 2.34 parts of glibc were libraries of their own.
LIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
        "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
PROCESSORS = {"x86_64": 62, "aarch64": 183}  # as an ELF file has them


def attempt(*command, **changes):
    """How a command ends. Its environment is that of no environment of Python."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PYTHON", "PET_", "VIRTUAL_ENV", "TORCHELASTIC"))}
    environment.update({"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **changes})
    return subprocess.run([str(word) for word in command], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def run(*command, **changes):
    """What a command writes to stdout."""
    result = attempt(*command, **changes)
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def pip(environment, *words):
    return run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir",
               "--python", environment / "bin/python", *words)


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")
            if "__pycache__" not in path.parts}


def check_wheel(wheel):
    """Its tag, its size, and what is in it."""
    assert re.fullmatch(rf"elasticrun-{re.escape(VERSION)}-py3-none-manylinux_2_\d+_\w+\.whl",
                        wheel.name), wheel.name
    assert wheel.stat().st_size < 10_000_000, wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        data, info = f"elasticrun-{VERSION}.data", f"elasticrun-{VERSION}.dist-info"
        program = archive.getinfo(f"{data}/scripts/elasticrun")
        assert program.external_attr >> 16 & 0o111, "the program cannot be executed"
    top = {name.split("/")[0] for name in names}
    assert top == {"elasticrun", "elastic_worker.py", data, info}, top
    licenses = [ROOT / "LICENSE", *(ROOT / "python/licenses").iterdir()]
    for path in licenses:
        assert f"{info}/licenses/{path.relative_to(ROOT).as_posix()}" in names, path
    assert {"elasticrun/py.typed", "elasticrun/worker.py", "elasticrun/survive.py",
            "elasticrun/torch_state.py", "elasticrun/sharded_state.py",
            "elasticrun/group_sockets.py", "elasticrun/kept_groups.py"} <= set(names), names


def check_program(environment):
    """It needs no library but libc's, and runs the Python beside it, activated or not."""
    program = environment / "bin/elasticrun"
    dynamic = run("readelf", "-d", program)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert needed and needed <= LIBC, needed
    assert run(program, "--version").startswith(f"elasticrun {VERSION}")
    assert run(environment / "bin/python", "-m", "elasticrun", "--version") \
        .startswith(f"elasticrun {VERSION}")

    script = environment / "which.py"
    script.write_text("import os, sys\nprint(sys.prefix, os.environ.get('PYTHON_EXEC'))\n",
                      encoding="utf-8")
    assert run(program, script).split() == [str(environment), "None"]
    assert run(environment / "bin/python", "-m", "elasticrun", script).split() \
        == [str(environment), str(environment / "bin/python")]
    # A link elsewhere, as pipx makes it, is for the Python of whoever calls it.
    link = environment / "elasticrun"
    link.symlink_to(program)
    assert run(link, script).split()[0] == run("/usr/bin/python3", "-c",
                                               "import sys; print(sys.prefix)").strip()
    link.unlink()
    script.unlink()


def check_package(environment):
    says = run(environment / "bin/python", "-c",
               "import os, elasticrun, elastic_worker\n"
               "from elasticrun import survive, worker\n"
               "assert survive.run(lambda: 7)() == 7\n"
               "assert elastic_worker.connect is worker.connect\n"
               "assert not worker.connect().connected\n"
               "assert len(elasticrun.run(os.getpid, nproc_per_node=2)) == 2\n"
               "print(elasticrun.__version__, elasticrun.find_elasticrun())")
    assert says.split() == [VERSION, str(environment / "bin/elasticrun")], says


def check_wrong_machine(environment):
    """A program for another processor or C library, as a copied environment may have it."""
    program = environment / "bin/elasticrun"
    image = program.read_bytes()
    here = os.uname().machine
    other = next(name for name in PROCESSORS if name != here)
    loader = re.search(rb"/lib(64)?/ld-linux-[a-z0-9_-]+\.so\.\d", image)[0]
    foreign = image[:18] + PROCESSORS[other].to_bytes(2, "little") + image[20:]
    homeless = image.replace(loader, loader.replace(b"linux", b"there"))
    for changed, why in (
            (foreign, f"it is for {other} and this machine is {here}"),
            (homeless, "it needs glibc, which is not here; the musllinux wheel does not"),
            (b"\x7fELF", "Exec format error")):
        program.write_bytes(changed)
        result = attempt(environment / "bin/python", "-m", "elasticrun", "--version")
        assert result.returncode == 1, result
        assert result.stderr == f"elasticrun: error: cannot run {program}: {why}\n", result.stderr
    program.write_bytes(image)


def train(environment):
    """A real job, by the PyTorch of the Python that runs this."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("no torch here: nothing is trained")
        return
    site = next((environment / "lib").glob("python3*/site-packages")) / "torch.pth"
    site.write_text(str(pathlib.Path(torch.__file__).parents[1]), encoding="utf-8")
    out = run(environment / "bin/elasticrun", "--standalone", "--nproc-per-node", "2",
              "--tee", "3", ROOT / "examples/python/train_ddp.py",
              "--checkpoint", environment / "checkpoint", GLOO_SOCKET_IFNAME="lo")
    assert len(re.findall(r"finished: checksum", out)) == 2, out
    site.unlink()


def main():
    place = pathlib.Path(sys.argv[1])
    wheels = [place] if place.is_file() else sorted(place.glob("elasticrun-*.whl"))
    has_pip = importlib.util.find_spec("pip") is not None
    if not wheels or not has_pip:
        print(f"no wheel in {sys.argv[1]}: tests/run.sh --clang builds one" if has_pip
              else f"no pip in {sys.executable}")
        sys.exit(1 if os.environ.get("ELASTIC_NOTHING_MISSING") == "1" else SKIPPED)
    check_wheel(wheels[-1])
    with tempfile.TemporaryDirectory(prefix="elasticrun_wheel_") as folder:
        environment = pathlib.Path(folder) / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", environment)
        before = files_of(environment)
        pip(environment, "install", "--no-index", wheels[-1])
        check_package(environment)
        check_program(environment)
        check_wrong_machine(environment)
        train(environment)
        for path in environment.glob("checkpoint*"):
            path.unlink()
        pip(environment, "uninstall", "--yes", "elasticrun")
        left = files_of(environment) - before
        assert not left, left


if __name__ == "__main__":
    main()
