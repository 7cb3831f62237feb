"""Puts measured text into docs/performance.md, between the marks of its section."""
import datetime
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


def first_match(pattern, path):
    try:
        match = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        return None
    return match.group(1).strip() if match else None


def cpu():
    name, family, model = (first_match(rf"^{key}\s*:(.*)$", "/proc/cpuinfo") for key in ("model name", "cpu family", "model"))
    return f"{name}, family {family}, model {model}"


def write_section(name, text, page=PAGE):
    """Replaces what stands between `<!-- name` and `<!-- end of name -->` by the text and where and when it was measured; the opening mark
    stays as it is."""
    before, opening, rest = page.read_text().partition(f"<!-- {name}")
    mark, closing, after = rest.partition(f"<!-- end of {name} -->")
    if not opening or not closing:
        raise SystemExit(f"{page}: no section {name}")
    head = mark.splitlines()[0]
    place = f"On {cpu()}, {len(os.sched_getaffinity(0))} cores, {datetime.date.today().isoformat()}."
    page.write_text(f"{before}{opening}{head}\n{text.strip()}\n\n{place}\n{closing}{after}")


def table(header, rows):
    """A markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
