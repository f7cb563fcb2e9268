#!/usr/bin/env python3
"""What there is once. A struct's tag is unique in src/, so that its name finds it, wherever it is
declared. Signals have names (model/grammar/signals.h). "Is the word in the comma list" is asked of
base/list.h, where it means the same for all.

Prints TAP. Usage: once.py SOURCE_ROOT
"""
import pathlib
import re
import sys

TAG = re.compile(r"^(?:static (?:const )?)?(?:struct|enum|union) (\w+) \{", re.M)
SIGNAL = re.compile(r"\bsignal (?:=|==|!=) (?:\w+ \? )?[1-9]")
BY_HAND = re.compile(
    r"while \(span_next\(&\w+, ',', &(\w+)\)\)\n\s+if \(span_is(?:_nocase)?\((?:span_trim\()?\1\)?, \w+\)\)\n\s+return true;"
)


def places(src, pattern, texts):
    """Where the pattern stands: "file:line", and what it caught first."""
    for path in texts:
        for m in pattern.finditer(texts[path]):
            line = texts[path].count("\n", 0, m.start()) + 1
            yield f"{path.relative_to(src)}:{line}", m.group(1) if m.groups() else None


def found(src):
    """For each rule the places where it does not hold."""
    texts = {p: p.read_text(errors="replace") for p in sorted(src.rglob("*.[ch]"))}
    tags = {}
    for place, tag in places(src, TAG, texts):
        tags.setdefault(tag, []).append(place)
    code = {p: t for p, t in texts.items() if p.suffix == ".c"}
    return {
        "tags are declared once": [f"{tag}: {', '.join(where)}" for tag, where in tags.items() if len(where) > 1],
        "signals have names": [place for place, _ in places(src, SIGNAL, code)],
        "words are looked for in lists by base/list.h": [place for place, _ in places(src, BY_HAND, code) if not place.startswith("base/list.c")],
    }


def main():
    rules = found(pathlib.Path(sys.argv[1]) / "src")
    print(f"1..{len(rules)}")
    for number, (rule, where) in enumerate(rules.items(), 1):
        for place in where:
            print(f"# {place}")
        print(f"{'not ok' if where else 'ok'} {number} - {rule}")


if __name__ == "__main__":
    main()
