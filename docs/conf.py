"""Configuration of the documentation: `make docs`."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mercer"
author = "the mercer developers"
copyright = "the mercer developers"
release = installed_version("mercer")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_formulas",
]
exclude_patterns = ["_build", "snippets"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = False

# -- prose ---------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

# -- API reference -------------------------------------------------------------
autosummary_generate = True
autosummary_filename_map = {"mercer.Gram": "mercer.Gram-class"}  # not mercer.gram in other case
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- gallery -------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": "gallery_order.BasicsFirst",
    "doc_module": ("mercer",),
    "reference_url": {"mercer": None},
    "backreferences_dir": "generated/backreferences",
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

# -- pages ---------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
# The guide, the theory and the reference have lists of pages worth a column.
html_sidebars = {
    page: []
    for page in ("about", "add_kernel", "benchmarks", "concepts", "design", "glossary", "gallery/*")
}
html_theme_options = {
    "logo": {"text": "mercer"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
