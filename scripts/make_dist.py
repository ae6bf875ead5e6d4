"""Build what is published, and try it: ``make dist``.

    python scripts/make_dist.py dist

The wheel and the source archive are built from the last commit, twice: from its files, and from
the source archive itself. The bytes must be equal. Each is then installed into a clean environment,
on the oldest and the newest supported Python of this machine, at the locked versions, and runs the
README's example there. ``SHA256SUMS`` and an SBOM (CycloneDX) of what was installed lie beside.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Prints name, version and licence of every distribution in an environment, as JSON.
INSTALLED = """
import importlib.metadata, json
print(json.dumps([
    [d.name, d.version, d.metadata.get("License-Expression") or ""]
    for d in importlib.metadata.distributions()
]))
"""


def main(folder: Path) -> None:
    """Build, compare, install and try; leave everything in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        archives = build(exported(place / "commit"), folder)
        (source,) = (file for file in archives if file.name.endswith(".tar.gz"))
        check_same(archives, build(unpacked(source, place / "again"), place / "built"))
        pythons = oldest_and_newest()
        components = []
        for number, (archive, python) in enumerate(
            (archive, python) for archive in archives for python in pythons
        ):
            say(f"{archive.name} on {version_of(python)}")
            environment = installed(archive, python, place / f"environment-{number}")
            try_example(environment, place / f"example-{number}")
            components = components_of(environment)
    bill = folder / f"{archives[0].name.partition('-py3')[0]}.cdx.json"
    bill.write_text(json.dumps(sbom(components), indent=1) + "\n", encoding="utf-8")
    lines = (f"{sha256(file)}  {file.name}\n" for file in sorted([*archives, bill]))
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")
    say(f"built: {', '.join(sorted(file.name for file in folder.iterdir()))}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def run(*command: str | Path, **more: object) -> str:
    """Run a command; return what it prints, or end with what it complains about."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True, text=True, check=False, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


# -- building -----------------------------------------------------------------------------


def exported(place: Path) -> Path:
    """Write the files of the last commit: nothing else gets into an archive."""
    place.mkdir()
    tar = place / "commit.tar"
    run("git", "archive", "-o", tar, "HEAD", cwd=ROOT)
    with tarfile.open(tar) as files:
        files.extractall(place, filter="data")
    tar.unlink()
    return place


def unpacked(source: Path, place: Path) -> Path:
    """Unpack a source archive; return its only folder."""
    with tarfile.open(source) as files:
        files.extractall(place, filter="data")
    (inside,) = place.iterdir()
    return inside


def build(tree: Path, folder: Path) -> list[Path]:
    """Build wheel and source archive; their files have the time of the last commit."""
    time = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time}
    command = (sys.executable, "-m", "hatchling", "build", "-d", folder.resolve())
    run(*command, cwd=tree, env=environment)
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def check_same(archives: Iterable[Path], others: Iterable[Path]) -> None:
    """End unless two builds have the same bytes."""
    for archive, other in zip(archives, others, strict=True):
        if (archive.name, sha256(archive)) != (other.name, sha256(other)):
            sys.exit(f"{archive.name}: a second build has other bytes")


def sha256(file: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


# -- trying -------------------------------------------------------------------------------


def oldest_and_newest() -> list[str]:
    """Return the supported Pythons of this machine with the lowest and the highest version."""
    others = run(ROOT / "scripts/other-pythons", sys.executable).split()
    found = sorted([sys.executable, *others], key=version_of)
    return list(dict.fromkeys([found[0], found[-1]]))


def version_of(python: str) -> str:
    """Return the version of an interpreter, such as 3.11.7."""
    return run(
        python, "-c", "import platform; print(platform.python_version())"
    ).strip()


def installed(archive: Path, python: str, environment: Path) -> Path:
    """Install an archive at the locked versions into a new environment."""
    pins = environment.with_suffix(".txt")
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    # Constraints take versions and markers; the hashes of the lock file are the SBOM's.
    pins.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", locked, re.M)))
    run(python, "-m", "venv", environment)
    pip = environment / "bin/pip"
    run(pip, "install", "--quiet", "--constraint", pins, archive.resolve())
    return environment


def example() -> tuple[str, set[str]]:
    """Return the command of the README's example, and the margins that it shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```console\n\$ (.*?)^```", text, re.M | re.S)
    command, _, shown = re.sub(r"(?: \\)?\n> +", " ", block).partition("\n")
    return command, set(re.findall(r"± \d+", shown))


def try_example(environment: Path, folder: Path) -> None:
    """Run the README's example as its reader would."""
    from statsmodels.datasets import fair  # type: ignore[import-untyped]

    folder.mkdir()
    fair.load_pandas().data.to_csv(folder / "fair.csv", index=False)
    shutil.copy(ROOT / "examples/data/fair.toml", folder)
    command, margins = example()
    program, *words = shlex.split(command)
    printed = run(environment / "bin" / program, *words, cwd=folder)
    missing = margins - set(re.findall(r"± \d+", printed))
    if missing:
        sys.exit(f"the README shows {', '.join(sorted(missing))}:\n{printed}")


# -- the bill of materials ----------------------------------------------------------------


def components_of(environment: Path) -> list[tuple[str, str, str]]:
    """Return name, version and licence of what an installation brought along."""
    found = json.loads(run(environment / "bin/python", "-c", INSTALLED))
    return sorted(
        (re.sub(r"[-_.]+", "-", name).lower(), version, licence)
        for name, version, licence in found
        if name not in ("pip", "setuptools")  # of the environment itself
    )


def sbom(components: Iterable[tuple[str, str, str]]) -> dict[str, object]:
    """Return a bill of materials in the format CycloneDX 1.5, without a time: it is reproducible.

    >>> sbom([("numpy", "2.0", "BSD-3-Clause")])["components"][0]["purl"]
    'pkg:pypi/numpy@2.0'
    """
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                **({"licenses": [{"expression": licence}]} if licence else {}),
            }
            for name, version, licence in components
        ],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
