"""Where links lead. In the documents they lead to files of the tree; in the site, to pages.

A link to a file of the tree that is no page makes one of it: a source shown as text, a folder as a
list of its files. Names of the API and of examples that stand in code become links, too.
A link that leads nowhere stays as it is. check() reads what was written, and finds it.
"""

import os
import posixpath
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

from convert import Page, slug, text_of

NAME = re.compile(r"\b((?:leat|LEAT)_\w+)\b")
PICTURES = (".svg", ".png")


def is_outside(href):
    return re.match(r"[a-z][a-z0-9+.-]*:|//", href) is not None


class Tree:
    """The files of the tree that pages lead to."""

    def __init__(self, root):
        self.root = root
        self.made = {}    # path -> page of a source or of a folder
        self.waiting = []
        self.copies = {}  # picture -> its name in the site

    def target(self, path):
        """The name in the site, or None if the tree has no such file."""
        full = os.path.join(self.root, path)
        if path.startswith("..") or not os.path.exists(full):
            return None
        if path.endswith(PICTURES):
            self.copies[path] = posixpath.basename(path)
            return self.copies[path]
        if path not in self.made:
            page = self.folder(path) if os.path.isdir(full) else self.source(path)
            self.made[path] = page
            self.waiting.append(page)
        return self.made[path].file

    def source(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            text = f.read()
        body = ET.Element("main")
        ET.SubElement(body, "h1", {"id": slug(path)}).text = path
        pre = ET.SubElement(body, "pre", {"class": "source", "tabindex": "0"})
        ET.SubElement(pre, "code").text = text
        return Page(f"source/{path}.html", path, path, body, kind="source")

    def folder(self, path):
        if path in self.made:
            return self.made[path]
        body = ET.Element("main")
        ET.SubElement(body, "h1", {"id": slug(path)}).text = path
        rows = ET.SubElement(body, "dl", {"class": "files"})
        for name in sorted(os.listdir(os.path.join(self.root, path))):
            full = os.path.join(self.root, path, name)
            if name.endswith((".c", ".h")):
                term = ET.SubElement(rows, "dt")
                ET.SubElement(term, "a", {"href": f"/{path}/{name}"}).text = name
                ET.SubElement(rows, "dd").text = purpose(full)
        page = Page(f"source/{path}/index.html", path, path.capitalize(), body, kind="source")
        self.made[path] = page
        return page


def purpose(file):
    """The first sentence of the comment at a file's top, without the file's name."""
    with open(file, encoding="utf-8") as f:
        comment = re.match(r"/\*(.*?)\*/", f.read(), re.S)
    text = re.sub(r"\n \*", "\n", comment[1] if comment else "")
    text = re.split(r"\n\s*\n", text)[0]
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"^[\w/.]+(?: \[\w+\])?: ", "", text)
    return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0].rstrip(":,")


def resolve(tree, pages, names):
    """Turns the links of all pages. Returns the pages, and those that the links made."""
    by_source = {page.source: page for page in pages}
    api = next(page for page in pages if page.source == "docs/api.md")
    anchors = {e.get("id"): page for page in pages if page.kind == "api"
               for e in page.body.iter() if e.get("id")}
    done = []
    waiting = list(pages)
    while waiting:
        page = waiting.pop(0)
        _Resolver(tree, page, by_source, api, anchors, names).walk(page.body, False)
        done.append(page)
        waiting += tree.waiting
        for made in tree.waiting:
            by_source.setdefault(made.source, made)
        tree.waiting = []
    return done


class _Resolver:
    def __init__(self, tree, page, by_source, api, anchors, names):
        self.tree, self.page, self.by_source = tree, page, by_source
        self.api, self.anchors, self.names = api, anchors, names
        self.own = ()  # the names that the last heading declares

    def relative(self, file):
        return posixpath.relpath(file, posixpath.dirname(self.page.file) or ".")

    def resolved(self, href):
        """(link in the site, the page it leads to); the link alone for what is no page."""
        path, fragment = urldefrag(href)
        # All headers are in one document, docs/api.md: its links hold for any of their pages.
        if self.page.kind == "api":
            base = "docs"
        else:
            base = posixpath.dirname(self.page.source)
        if path.startswith("/"):
            path = path[1:]
        elif path:
            path = posixpath.normpath(posixpath.join(base, unquote(path)))
        else:
            path = self.api.source if self.page.kind == "api" else self.page.source
        end = f"#{fragment}" if fragment else ""
        page = self.by_source.get(path)
        if page is self.api and fragment in self.anchors:
            page = self.anchors[fragment]
        if page:
            same = page is self.page and fragment
            return (end if same else self.relative(page.file) + end), page
        file = self.tree.target(path)
        return (self.relative(file) + end if file else href), None

    def link(self, element):
        for attribute in ("href", "src"):
            href = element.get(attribute)
            if href is None or is_outside(href):
                continue
            target, page = self.resolved(href)
            element.set(attribute, target)
            # A document's file name says less than its title.
            if page and len(element) == 0 and (element.text or "").endswith(".md"):
                element.text = page.title

    def named(self, word):
        """Where a word in code leads, or None."""
        name = re.fullmatch(r"(\w+)(\(.*\))?", word)
        if name and name[1] in self.names and name[1] not in self.own and "_" in name[1]:
            page, _, fragment = self.names[name[1]].partition("#")
            return ("" if page == self.page.file else self.relative(page)) + "#" + fragment
        if re.fullmatch(r"(examples|include/leat)/[\w./-]+", word):
            href = "/" + word.rstrip("/")
            target, _ = self.resolved(href)
            return target if target != href else None
        return None

    def walk(self, element, linked):
        tag = element.tag
        if element.get("id") and tag in ("h1", "h2"):
            self.own = {name for name, anchor in self.page.owners.items()
                        if anchor == element.get("id")}
        if tag in ("a", "img"):
            self.link(element)
        linked = linked or tag in ("a", "h1", "h2", "h3", "h4")
        if tag == "pre" and not linked:
            self.link_code(element[0] if len(element) else element)
            return
        for i, child in enumerate(list(element)):
            reference = not linked and child.tag == "b" and self.reference(child)
            href = reference or (not linked and child.tag == "code" and len(child) == 0
                                 and self.named(child.text or ""))
            if href:
                a = ET.Element("a", {"href": href})
                a.tail, child.tail = child.tail, None
                element[i] = a
                a.append(child)
            else:
                self.walk(child, linked)

    def reference(self, bold):
        """Where a manual page's **name**(section) leads, or None."""
        section = re.match(r"\(([1-9])\)", bold.tail or "")
        page = section and self.by_source.get(f"docs/{text_of(bold)}.{section[1]}")
        if page and page is not self.page:
            return self.relative(page.file)
        return self.named(text_of(bold)) if section and section[1] == "3" else None

    def link_code(self, code):
        """Links the API's names within a block of code."""
        if len(code):
            return
        pieces = NAME.split(code.text or "")
        code.text, last = "", None
        for piece in pieces:
            href = self.named(piece) if NAME.fullmatch(piece) else None
            if href:
                last = ET.SubElement(code, "a", {"href": href})
                last.text = piece
            elif last is None:
                code.text += piece
            else:
                last.tail = (last.tail or "") + piece


# ---- the check ----

class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.twice, self.links = set(), [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                if value in self.ids:
                    self.twice.append(value)
                self.ids.add(value)
            elif name in ("href", "src") and not is_outside(value):
                self.links.append(value)


def check(folder, pages):
    """What is wrong with the links of the pages as they were written."""
    read = {}
    for page in pages:
        read[page.file] = _Reader()
        with open(os.path.join(folder, page.file), encoding="utf-8") as f:
            read[page.file].feed(f.read())
    wrong = []
    for page in pages:
        reader = read[page.file]
        wrong += [f"{page.source}: two anchors of {page.file} are {id}" for id in reader.twice]
        for link in dict.fromkeys(reader.links):
            path, fragment = urldefrag(link)
            target = page.file
            if path:
                target = posixpath.normpath(
                    posixpath.join(posixpath.dirname(page.file), unquote(path)))
            if not os.path.isfile(os.path.join(folder, target)):
                wrong.append(f"{page.source}: a link of {page.file} leads nowhere: {link}")
            elif fragment and unquote(fragment) not in (read[target].ids if target in read else ()):
                wrong.append(f"{page.source}: a link of {page.file} leads to no heading: {link}")
    return wrong
