"""Makes the manual: build.py FOLDER. Without a folder it only says which public names have no comment."""

import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import headers  # noqa: E402
import stage  # noqa: E402
from sphinx.cmd.build import main as sphinx  # noqa: E402


def check():
    every = headers.read_all()
    bare = headers.uncommented(every)
    print("\n".join(bare) or f"{sum(len(header.declarations()) for header in every)} names, all with a comment")
    return 1 if bare else 0


def make(folder):
    begin = time.monotonic()
    source, html = folder / "source", folder / "html"
    # Anew: Sphinx does not see changes of its own settings, of the style or of this program.
    trees = folder / "doctrees"
    for made in (source, html, trees):
        shutil.rmtree(made, ignore_errors=True)
    stage.make(source)
    status = sphinx(["-q", "-W", "--keep-going", "-j", "auto", "-b", "html", "-c", str(HERE), "-d", str(trees), str(source), str(html)])
    if status == 0:
        print(f"The manual, made in {time.monotonic() - begin:.0f} s: {html / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(make(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else check())
