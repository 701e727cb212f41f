"""The site: ``make docs`` builds it from these pages, the examples and the docstrings, without a network."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples"), str(HERE / "extensions")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

import lucidgrad as lg  # noqa: E402
from tools import reference  # noqa: E402

warnings.filterwarnings("ignore", message="the matplotlib.*", category=UserWarning)

project = "lucidgrad"
author = "the lucidgrad developers"
copyright = author
version = release = lg.__version__
language = "en_GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "computed_gradients",
    "running_examples",
    "site_links",
]

# -- sources -----------------------------------------------------------------------------------------
exclude_patterns = ["build", "inventories", "extensions", "gallery_texts", "reference/*.txt", "sg_execution_times.rst"]
suppress_warnings = [
    "myst.xref_missing",  # links to files of the repository, which `site_links` sees to
    "config.cache",
]
myst_enable_extensions = ["colon_fence", "attrs_block", "deflist", "attrs_inline"]
myst_heading_anchors = 4
default_role = "py:obj"

# -- reference ---------------------------------------------------------------------------------------
reference.write(HERE / "reference")
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # what parameters take is said in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
maximum_signature_line_length = 100
toc_object_entries = False
# Inventories are files of the repository, so that no network is needed; `tools/inventory.py` says where they are from.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", str(HERE / "inventories/python.inv")),
    "numpy": ("https://numpy.org/doc/stable", str(HERE / "inventories/numpy.inv")),
    "scipy": ("https://docs.scipy.org/doc/scipy", str(HERE / "inventories/scipy.inv")),
}
intersphinx_disabled_reftypes = ["std:*"]

# -- examples ----------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/examples/(?!running)",
    "ignore_pattern": r"running\.py",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "abort_on_example_error": True,
    "image_scrapers": ("running_examples.pictures",),
    "reset_modules": ("running_examples.reset",),
    "reset_argv": "running_examples.options",
    "within_subsection_order": "running_examples.order",
}

# -- pages -------------------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"lucidgrad {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("table.js", {"defer": "defer"}), ("names.js", {"defer": "defer"})]
html_favicon = "images/favicon.svg"
html_copy_source = False
html_use_index = False  # the reference has every name, and search finds it
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#8c2f39", "color-brand-content": "#8c2f39"},
    "dark_css_variables": {"color-brand-primary": "#f08a94", "color-brand-content": "#f08a94"},
}
