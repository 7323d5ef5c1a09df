"""The site: `make docs` builds it into build/docs, without a network and with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pdpmean

sys.path.insert(0, str(Path(__file__).parent))  # for mathml.py

project = "pdpmean"
author = "The pdpmean maintainers"
version = release = pdpmean.__version__
html_title = f"pdpmean {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "mathml"]
html_theme = "furo"
html_copy_source = html_show_copyright = False
html_static_path, html_css_files = ["_static"], ["site.css"]
pygments_style, pygments_dark_style = "default", "github-dark"

myst_enable_extensions = ["amsmath", "dollarmath"]
html_math_renderer = "mathml"
myst_heading_anchors = 3  # the tables of contents of a page link to its headings

# Backticks in docstrings name code: a link where the site has such a thing, plain code where not.
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    # Other libraries' types, for there is no network to ask them, and the types of single steps.
    ("py:class", r"(numpy|np|os|collections|fractions|matplotlib)\..*|pdpmean\.\w+\.\w+(\.\w+)?"),
    (
        "py:class",
        "Fraction|Mapping|Callable|ArrayLike|Floats|NDArray.*|Model|WeightSums|Shares|ErrorLaw|ShapeName|Figure|GroupedEstimate|GivenPlanOptions",
    ),
]

python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Floats": "Floats"}  # by name, and not what they stand for
napoleon_google_docstring = False
napoleon_use_rtype = False


def setup(app: Any) -> None:
    """What autodoc and napoleon do not do by themselves."""
    app.connect("autodoc-process-signature", by_name)
    written: dict[str, list[str]] = {}
    app.connect("autodoc-process-docstring", lambda *event: as_written(written, *event[1:]), priority=400)
    app.connect("autodoc-process-docstring", lambda *event: as_written(written, *event[1:]), priority=600)


def by_name(*event: Any) -> tuple[str | None, str | None]:
    """The signature with aliases as they are written, inside a union too."""
    signature, returned = event[-2:]
    return signature and signature.replace("TypeAliasForwardRef('ArrayLike')", "ArrayLike"), returned


def as_written(written: dict[str, list[str]], what: str, name: str, _: Any, __: Any, lines: list[str]) -> None:
    """Put back what napoleon makes of an attribute: it takes the words before a colon for a type."""
    if what in ("attribute", "property"):
        lines[:] = written.pop(name, None) or written.setdefault(name, list(lines))
