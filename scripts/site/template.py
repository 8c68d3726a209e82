"""What is the same on each page: its head, the bar at the top, the lists of pages and headings."""

import html
import posixpath
import xml.etree.ElementTree as ET

from convert import text_of

HEADINGS_FOR_A_LIST = 3  # a page with fewer has no table of contents


def link(href, text, **attributes):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<a href="{html.escape(href)}"{more}>{html.escape(text)}</a>'


def to(page, file):
    return posixpath.relpath(file, posixpath.dirname(page.file) or ".")


def navigation(page, groups):
    out = []
    for title, pages in groups:
        out.append(f"<h2>{html.escape(title)}</h2>\n<ul>")
        for other in pages:
            # The headers are many: they are listed while one looks at the API.
            header = other.kind == "api" and other.source != "docs/api.md"
            if header and page.kind != "api":
                continue
            here = {"aria_current": "page"} if other is page else {}
            name = "Home" if other.file == "index.html" else other.title
            out.append(f'<li{" class=inner" if header else ""}>'
                       f"{link(to(page, other.file), name, **here)}</li>")
        out.append("</ul>")
    return "\n".join(out)


def contents(page):
    headings = page.headings()
    if len(headings) < HEADINGS_FOR_A_LIST or page.kind == "source":
        return ""
    out = ["<ul>"]
    for heading in headings:
        level = "group" if heading.tag == "p" else heading.tag
        out.append(f'<li class="{level}">{link("#" + heading.get("id"), text_of(heading))}</li>')
    return "\n".join([*out, "</ul>"])


def neighbours(page, groups):
    """Links to the pages before and after."""
    pages = [p for _, ps in groups for p in ps]
    if page not in pages:
        return ""
    at = pages.index(page)
    before = pages[at - 1] if at else None
    after = pages[at + 1] if at + 1 < len(pages) else None
    return "\n".join(link(to(page, other.file), f"{arrow} {other.title}", rel=rel)
                     for other, arrow, rel in ((before, "←", "prev"), (after, "→", "next"))
                     if other)


def whole(page, groups, version):
    title = "leat" if page.file == "index.html" else f"{page.title} · leat"
    toc = contents(page)
    top = "\n".join(filter(None, (
        '<a class="skip" href="#content">Skip to the text</a>',
        '<header class="bar">',
        link(to(page, "index.html"), "leat", **{"class": "home"}),
        '<button type="button" class="opens-pages" popovertarget="pages">Pages</button>',
        '<button type="button" class="opens-contents" popovertarget="contents">Contents</button>'
        if toc else "",
        '<form id="search" role="search" hidden>',
        '<input type="search" placeholder="Search ( / )" aria-label="Search" role="combobox"',
        ' aria-expanded="false" aria-controls="found" aria-autocomplete="list" autocomplete="off"',
        ' autocapitalize="off" spellcheck="false">',
        '<ul id="found" role="listbox" aria-label="Results" hidden></ul>',
        "</form>", "</header>")))
    page.body.set("id", "content")
    page.body.set("tabindex", "-1")
    main = ET.tostring(page.body, encoding="unicode", method="html")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="{to(page, "style.css")}">
<script src="{to(page, "search.js")}" defer></script>
</head>
<body class="{page.kind}{" with-contents" if toc else ""}">
{top}
<nav id="pages" aria-label="Pages" popover>
{navigation(page, groups)}
</nav>
{f'<nav id="contents" aria-label="On this page" popover><h2>On this page</h2>{toc}</nav>' if toc
 else ""}
{main}
<footer>
<nav aria-label="Neighbours">{neighbours(page, groups)}</nav>
<p>leat {version}. This page is made from {html.escape(page.source)}.</p>
</footer>
</body>
</html>
"""
