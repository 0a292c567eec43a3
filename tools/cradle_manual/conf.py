"""The settings of Sphinx, which makes the manual."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "Cradle"
version = re.search(r"version: '([^']+)'", (HERE.parent.parent / "meson.build").read_text(encoding="utf-8"))[1]
project_copyright = ""

extensions = ["myst_parser", "links", "excerpts"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
highlight_language = "text"
myst_heading_anchors = 4
# A program's or a file's text stays as it was written.
smartquotes = False
c_maximum_signature_line_length = 80
c_id_attributes = []

html_theme = "furo"
html_title = f"Cradle {version}"
html_static_path = ["style", "scripts"]
html_css_files = ["manual.css"]
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
# Sphinx would fetch the pages for them; see excerpts.py.
html_show_search_summary = False
html_search_scorer = str(HERE / "scorer.js")
pygments_style = "tango"
pygments_dark_style = "github-dark"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0b5d8a", "color-brand-content": "#0b5d8a"},
    "dark_css_variables": {"color-brand-primary": "#6bb8e0", "color-brand-content": "#6bb8e0"},
}
