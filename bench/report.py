"""Puts measured text into docs/performance.md, between the marks of its section."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


def write_section(name, text, page=PAGE):
    """Replaces what stands between `<!-- name` and `<!-- end of name -->`; the opening mark stays as it is."""
    before, opening, rest = page.read_text().partition(f"<!-- {name}")
    mark, closing, after = rest.partition(f"<!-- end of {name} -->")
    if not opening or not closing:
        raise SystemExit(f"{page}: no section {name}")
    head = mark.splitlines()[0]
    page.write_text(f"{before}{opening}{head}\n{text.strip()}\n{closing}{after}")


def table(header, rows):
    """A markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
