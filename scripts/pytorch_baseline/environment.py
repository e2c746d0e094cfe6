# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""The Python environment of the comparison: the torch that scripts/setup.sh installed, and timm."""
import os
import pathlib
import subprocess
import sys

# timm has to fit the torch of the setup, which these do; --no-deps keeps pip from bringing another.
PACKAGES = (["--no-deps", "timm==1.0.31", "torchvision==0.26.0"],
            ["numpy", "pillow", "matplotlib", "huggingface_hub", "safetensors", "pyyaml"])


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "ttt"


def setup_torch():
    """The site-packages folder of the newest torch that the setup installed."""
    found = sorted(cache_folder().glob("libtorch-*/lib/python3*/site-packages/torch"))
    if not found:
        sys.exit("error: no torch of the setup was found\nhint: run scripts/setup.sh first")
    return found[-1].parent


def is_complete(venv):
    """It was made whole, and what it leans on is still there: Python and the torch of the setup."""
    paths = list((venv / "lib").glob("python3*/site-packages/setup_torch.pth"))
    return ((venv / "complete").exists() and (venv / "bin/python").exists() and len(paths) == 1
            and pathlib.Path(paths[0].read_text(encoding="utf-8").strip(), "torch").is_dir())


def make(venv):
    torch = setup_torch()
    python = venv / "bin/python"
    print(f"making the Python environment {venv}", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        site = next((venv / "lib").glob("python3*/site-packages"))
        (site / "setup_torch.pth").write_text(f"{torch}\n", encoding="utf-8")
        for packages in PACKAGES:
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
        subprocess.run([str(python), "-c", "import timm, torch, matplotlib"], check=True)
        (venv / "complete").touch()
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"error: the Python environment {venv} can't be made: {problem}\n"
                 "hint: it needs python3-venv and a package index that pip can reach")


def enter():
    """Makes the environment when it isn't there, and goes on in it: returns only inside."""
    venv = cache_folder() / "bench-venv"
    if pathlib.Path(sys.prefix).resolve() == venv.resolve():
        return
    if not is_complete(venv):
        make(venv)
    python = venv / "bin/python"
    os.execv(python, [str(python), *sys.argv])
