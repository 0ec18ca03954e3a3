"""Builds the project's Markdown pages as a static site: `make site`.

The pages stay where they are; Sphinx reads the repository. docs/README.md is the only list of them:
its table becomes the site's navigation.
"""

import re
import shutil
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "README.md"

project = "preemptlab"
author = "the preemptlab authors"
copyright = "the preemptlab authors, MIT"  # noqa: A001 (Sphinx names it so)

root_doc = "README"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = ["target", "**/node_modules"]
suppress_warnings = [
    # A language that Pygments does not know is shown as it is.
    "misc.highlighting_failure",
]
highlight_language = "text"

# GitHub's anchors, so that a link to a heading works in both places.
myst_heading_anchors = 6
myst_enable_extensions = []

html_theme = "furo"
html_title = "preemptlab"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"sidebar_hide_name": False}

ROW = re.compile(r"^\| (?P<what>.*) \| ?(?P<page>\[[^\]]*\]\((?P<link>[^)]*)\))? ?\|$")
LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<path>[^)#:\s]+)\)")


def chapters(index: str) -> list[tuple[str, list[str]]]:
    """Reads the table of docs/README.md: each bold row is a chapter, each row with a link a page of it."""
    found = [("start", ["docs/README"])]
    for line in index.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        if row["link"]:
            path = (INDEX.parent / row["link"]).resolve().relative_to(ROOT)
            found[-1][1].append(str(path.with_suffix("")))
        elif row["what"].startswith("**"):
            found.append((row["what"].strip("* "), []))
    return found


def navigation() -> str:
    """Returns the hidden trees of pages, which become the sidebar."""
    trees = []
    for caption, pages in chapters(INDEX.read_text()):
        listed = "\n".join(f"/{page}" for page in pages)
        trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 1\n\n{listed}\n```\n")
    return "\n\n" + "\n".join(trees)


def children(folder: str) -> str:
    """Returns the hidden tree of a folder's other pages."""
    pages = sorted(p.stem for p in (ROOT / folder).glob("*.md") if p.stem != "README")
    listed = "\n".join(pages)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listed}\n```\n"


def without_folders(text: str, page: str) -> str:
    """Returns a page whose links to folders, which only a repository's browser lists, are their words.

    A path that does not exist stays, and Sphinx then reports it.
    """

    def link(match: re.Match[str]) -> str:
        is_folder = ((ROOT / page).parent / match["path"]).is_dir()
        return match["words"] if is_folder else match[0]

    return LINK.sub(link, text)


def read(app, page: str, source: list[str]) -> None:
    """Adds the navigation to the pages that have one."""
    text = without_folders(source[0], page)
    if page == root_doc:
        text += navigation()
    elif page == "docs/studies/README":
        text += children("docs/studies")
    source[0] = text


def widen(app, tree: nodes.document) -> None:
    """Lets a cell that is alone in its row have the row: Markdown's tables know no other way to say so."""
    for row in tree.findall(nodes.row):
        first, *others = row.children
        if first.astext() and others and not any(cell.astext() for cell in others):
            first["morecols"] = len(others)
            row.children = [first]


def begin_at_readme(app, error: Exception | None) -> None:
    """Gives a web server the page that it looks for in a folder."""
    if error is None:
        shutil.copyfile(app.outdir / "README.html", app.outdir / "index.html")


def setup(app) -> dict[str, bool]:
    """Registers the reader of pages."""
    app.connect("source-read", read)
    app.connect("doctree-read", widen)
    app.connect("build-finished", begin_at_readme)
    return {"parallel_read_safe": True}
