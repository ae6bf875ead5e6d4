"""Draw the pictures of docs/gallery.md: run its programs, keep what they draw.

python scripts/draw_gallery.py
"""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gallery.md"
PROGRAM = re.compile(r"^```python run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[.*\]\((assets/gallery/.*)\)")


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    mpl.rcParams["svg.hashsalt"] = "tightrope"
    for name in PICTURE.findall(text):
        (PAGE.parent / name).parent.mkdir(exist_ok=True)
    for code in PROGRAM.findall(text):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
            for drawn in Path().glob("*.svg"):
                kept = next(
                    name for name in PICTURE.findall(text) if name.endswith(f"/{drawn}")
                )
                shutil.copyfile(drawn, PAGE.parent / kept)
                print(kept)


if __name__ == "__main__":
    main()
