"""How the gallery runs the examples: with which options, and where their pictures are."""

import shutil
import sys
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

OUT = Path(__file__).parents[2] / "examples" / "runs"  # examples are run in their own folder

#: Examples in the order of the gallery, with options that keep their time below a minute.
OPTIONS = {
    "digits": [],
    "gpt": ["--steps", "100", "--lenient"],
    "physics": [],
    "meta_learning": [],
    "neural_ode": [],
    "private": [],
    "fitting": [],
    "sampling": [],
    "cuda_kernel": ["--steps", "60", "--lenient"],
}

_exit = sys.exit


def options(gallery_conf, script_vars):
    """The options of an example."""
    name = Path(script_vars["src_file"]).stem
    device = ["--device", "cuda", "--emulate"] if name == "cuda_kernel" else ["--device", "cpu"]
    return [*device, "--out", OUT.name, *OPTIONS.get(name, [])]


def order(name):
    """Examples as they are listed, others at the end."""
    stem = Path(name).stem
    return (list(OPTIONS).index(stem) if stem in OPTIONS else len(OPTIONS), stem)


def reset(gallery_conf, name):
    """Let the end of an example not be the end of the build, unless it failed."""

    def leave(status=0):
        if status:
            raise RuntimeError(f"{name} returned {status}")

    sys.exit = leave


def pictures(block, block_vars, gallery_conf):
    """Take the picture that an example has drawn."""
    made = []
    for path in sorted(OUT.glob("*.png")):
        target = next(block_vars["image_path_iterator"])
        shutil.move(path, target)
        made.append(target)
    return figure_rst(made, gallery_conf["src_dir"])


def setup(app):
    """Give the interpreter its own way out back when the build ends, and remove what examples left."""

    def restore(app, error):
        sys.exit = _exit
        shutil.rmtree(OUT, ignore_errors=True)

    app.connect("build-finished", restore)
    return {"parallel_read_safe": True}
