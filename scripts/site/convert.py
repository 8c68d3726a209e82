"""Makes pages of Markdown, of manual pages and of the API's headers.

The output of cmark-gfm and of mandoc is well-formed XML, so a page's body is an element tree: flat,
with all headings at its top. Headings get the anchors that GitHub gives them, for the links in the
documents are made for GitHub, too.
"""

import os
import re
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

HEADINGS = ("h1", "h2", "h3", "h4")
UNBROKEN = 24  # characters of code that stay in one line


@dataclass
class Page:
    file: str    # in the site
    source: str  # in the tree
    title: str
    body: ET.Element
    kind: str = "guide"  # guide, api, man, source
    names: dict = field(default_factory=dict)  # public name -> its anchor on this page
    owners: dict = field(default_factory=dict)  # public name -> the anchor of its heading
    kinds: dict = field(default_factory=dict)  # public name -> function, macro, type, constant

    def headings(self):
        return [e for e in self.body if e.tag in HEADINGS[1:] or e.get("class") == "group"]


def text_of(element):
    return "".join(element.itertext())


def run(command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                          **more).stdout


def version(root):
    with open(os.path.join(root, "include/leat/base.h"), encoding="utf-8") as f:
        return ".".join(re.findall(r"#define LEAT_VERSION_\w+ (\d+)", f.read()))


def slug(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchor(body):
    """Gives each heading its own id."""
    used = set()
    for heading in body:
        if heading.tag in HEADINGS:
            base = name = slug(text_of(heading))
            number = 0
            while name in used:
                number += 1
                name = f"{base}-{number}"
            used.add(name)
            heading.set("id", name)


def tidy_tables(body):
    """A header without words goes. A table scrolls in its own box."""
    for table in body.iter("table"):
        for cell in table.iter():
            if cell.tag in ("td", "th") and cell.get("align"):
                cell.set("class", cell.attrib.pop("align"))
        head = table.find("thead")
        if head is not None and not text_of(head).strip():
            table.remove(head)
    for parent in list(body.iter()):
        for i, child in enumerate(parent):
            if child.tag == "table":
                box = ET.Element("div", {"class": "scrolls", "tabindex": "0", "role": "region",
                                         "aria-label": "table"})
                box.tail, child.tail = child.tail, None
                parent[i] = box
                box.append(child)


def from_markdown(text):
    html = run(["cmark-gfm", "-e", "table", "-e", "strikethrough"], input=text)
    body = ET.fromstring(f"<main>{html}</main>")
    anchor(body)
    tidy_tables(body)
    for pre in body.iter("pre"):
        pre.set("tabindex", "0")  # so that the keyboard can scroll it
    for code in body.iter("code"):
        if len(text_of(code)) <= UNBROKEN:
            code.set("class", "word")
    return body


def title_of(body):
    return text_of(body.find("h1"))


def markdown(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        body = from_markdown(f.read())
    name = os.path.basename(path)[:-len(".md")].lower()
    return Page("index.html" if name == "readme" else f"{name}.html", path, title_of(body), body)


# ---- manual pages ----

def manual_page(root, path):
    html = run(["mandoc", "-Thtml", "-Ofragment", os.path.join(root, path)])
    name, section = os.path.basename(path).rsplit(".", 1)
    title = f"{name}({section})"
    body = ET.Element("main")
    heading = ET.SubElement(body, "h1", {"id": slug(title)})
    heading.text = title
    text = ET.fromstring(f"<div>{html}</div>").find("div[@class='manual-text']")
    flatten(text, body)
    for element in list(body.iter()):
        unwrap_permalinks(element)
        if element.tag in HEADINGS and element is not heading:
            element.tag = f"h{int(element.tag[1]) + 1}"
        if element.tag == "pre":
            element.set("tabindex", "0")
    return Page(f"{name}.{section}.html", path, title, body, kind="man")


def flatten(element, body):
    for child in element:
        if child.tag == "section":
            flatten(child, body)
        else:
            body.append(child)


def unwrap_permalinks(element):
    for link in [e for e in element if e.get("class") == "permalink"]:
        i = list(element).index(link)
        element.remove(link)
        before = element[i - 1] if i else None
        if before is None:
            element.text = (element.text or "") + (link.text or "")
        else:
            before.tail = (before.tail or "") + (link.text or "")
        for child in reversed(link):
            element.insert(i, child)
        last = link[-1] if len(link) else None
        if last is not None:
            last.tail = (last.tail or "") + (link.tail or "")
        elif before is not None:
            before.tail += link.tail or ""
        else:
            element.text += link.tail or ""


# ---- the API ----

def kind_of(name, code):
    """What the declaration of a name in C makes of it."""
    if name.isupper():
        return "macro" if re.search(rf"\b{name}\(", code) else "constant"
    if re.search(rf"^(typedef\b.*\b{name}\b|(struct|enum) {name}\b|\}} {name};)", code, re.M):
        return "type"
    return "function" if re.search(rf"\b{name}\(", code) else "constant"


def api(root):
    """The page with the list of the headers, and one for each header."""
    whole = from_markdown(run([os.path.join(root, "scripts", "manual"), "md"]))
    first = Page("api.html", "docs/api.md", title_of(whole), ET.Element("main"), kind="api")
    pages = [first]
    for element in whole:
        if element.tag == "h2":
            title = text_of(element)
            name = re.fullmatch(r"leat/(\w+)\.h", title)[1]
            pages.append(Page(f"api-{name}.html", f"include/{title}", title, ET.Element("main"),
                              kind="api"))
            element.tag = "h1"
        elif element.tag == "h3":
            element.tag = "h2"
        pages[-1].body.append(element)
    for page in pages[1:]:
        mark_groups(page.body)
        find_names(page)
    return pages


def mark_groups(body):
    """A paragraph that is a bold line is a heading over the declarations that follow."""
    for p in body.iter("p"):
        if len(p) == 1 and p[0].tag == "strong" and not (p.text or "").strip() \
                and not (p[0].tail or "").strip():
            p.set("class", "group")
            p.set("id", "group-" + slug(text_of(p)))


def find_names(page):
    """Each name in a heading gets an anchor that is the name itself."""
    children = list(page.body)
    slugs = {element.get("id") for element in children}  # they ignore case
    for heading, code in zip(children, children[1:]):
        if heading.tag != "h2" or code.tag != "pre":
            continue
        declared = re.sub(r"/\*.*?\*/", "", text_of(code), flags=re.S)
        shown = [name for name in re.findall(r"\w+", text_of(heading))
                 if name not in page.names and re.match(r"(leat|LEAT)_|errno$", name)]
        inside = re.findall(r"^typedef struct \w+ (\w+);", declared, re.M)
        if re.search(r"^(typedef )?enum\b", declared, re.M):
            inside += re.findall(r"\bLEAT_\w+\b", declared)
        for name in dict.fromkeys(shown + [n for n in inside if n not in page.names]):
            own = name in shown and name not in slugs
            page.names[name] = name if own else heading.get("id")
            page.owners[name] = heading.get("id")
            page.kinds[name] = kind_of(name, declared)
        put_anchors(heading, shown, slugs)


def put_anchors(heading, names, slugs):
    title = text_of(heading)
    heading.text, last = "", None
    for piece in re.split(r"(\w+)", title):
        if piece in names:
            last = ET.SubElement(heading, "code")
            last.text = piece
            if piece not in slugs:
                last.set("id", piece)
        elif last is None:
            heading.text += piece
        else:
            last.tail = (last.tail or "") + piece
