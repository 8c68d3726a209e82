"""The index that search.js looks into: a script, since a page opened from a file cannot fetch."""

import json
import re

from convert import HEADINGS, text_of

# What comes first among equals; search.js shows the words.
KINDS = ("function", "macro", "type", "constant", "header", "page", "option", "section", "source")


def words_of(element):
    """The text of an element. Cells of a table that have no word are left out."""
    if element.tag in ("td", "th") and not re.search(r"[^\W\d_]{2}", text_of(element)):
        return ""
    own = (element.text or "") + "".join(words_of(child) + (child.tail or "") for child in element)
    return own + " " if element.tag in ("td", "th", "li", "dt", "dd", "p", "pre", "tr") else own


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


class _Page:
    def __init__(self, page, number, entries):
        self.page, self.number, self.entries = page, number, entries

    def add(self, kind, name, anchor, text=""):
        self.entries.append([KINDS.index(kind), name, self.number, anchor, text])

    def read(self):
        page = self.page
        if page.kind == "source":
            code = page.body.find("pre")
            if code is None:
                self.add("page", page.title, "", squeezed(words_of(page.body)))
            else:
                self.add("source", page.title, "", squeezed(text_of(code)[:600]))
            return
        heading, text = None, []
        for element in page.body:
            if element.tag in HEADINGS:
                self.section(heading, text)
                heading, text = element, []
            else:
                text.append(words_of(element))
                self.options(element)
        self.section(heading, text)

    def section(self, heading, text):
        if heading is None:
            return
        text = squeezed(" ".join(text))
        page = self.page
        if heading.tag == "h1":
            kind = "header" if page.kind == "api" and page.source != "docs/api.md" else "page"
            self.add(kind, page.title, "", text)
            return
        names = [name for name, owner in page.owners.items() if owner == heading.get("id")]
        for name in names:
            self.add(page.kinds[name], name, page.names[name], text)
        if not names:
            self.add("section", squeezed(text_of(heading)), heading.get("id"), text)

    def options(self, element):
        """The options that a manual page describes."""
        if self.page.kind != "man" or element.tag != "dl":
            return
        terms = list(element)
        for term, meaning in zip(terms, terms[1:]):
            name = squeezed(text_of(term))
            if term.tag == "dt" and name.startswith("-") and term.get("id"):
                self.add("option", name, term.get("id"), squeezed(words_of(meaning)))


def index(pages):
    entries = []
    for number, page in enumerate(pages):
        _Page(page, number, entries).read()
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
                       for entry in entries)
    listed = json.dumps([[page.file, page.title] for page in pages], ensure_ascii=False)
    return (f"const searchIndex = {{\nkinds: {json.dumps(KINDS)},\npages: {listed},\n"
            f"entries: [\n{lines}\n]}};\n")
