"""Write the generated parts of docs/reference; `make reference` runs it."""

from __future__ import annotations

from pathlib import Path

from reference.written import written

if __name__ == "__main__":
    for path, text in written(Path.cwd()).items():
        if path.read_text("utf-8") != text if path.exists() else True:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(Path.cwd())}")
