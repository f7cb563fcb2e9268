#!/usr/bin/env python3
"""What pages and comments name is there: files and folders of this tree, functions and other names of
its code, and each word of docs/words.md in the files that it names. Decisions are left out: they
tell what was there when they were made.

A name may be the end of a path (place.c), with * for anything; a word in capitals stands for any
name (NAME_fuzz.c); unit_NAME and NAME_test are a unit's test. Prints TAP.
Usage: named.py SOURCE_ROOT
"""
import pathlib
import re
import sys

FOLDERS = "src|tests|tools|bench|docs|share|units|shells|examples"
BEFORE = r"(?<![\w./$<{*~-])(?:\.\./)*"
FILE = re.compile(BEFORE + r"((?:[\w*-]+/)*[\w*-]+\.(?:c|h|py|bats|bash|story|cases))(?![\w/*-]|\.\w)")
PATH = re.compile(BEFORE + rf"((?:{FOLDERS})/[\w*./-]*[\w*])(?![\w*/])")
NAME = re.compile(r"(?<![\w./<$%@*-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w*-]|\.\w|/)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')

MADE = "a page that `remuda docs` makes of the tables"
# What is named and is not of this tree.
OTHERS = {
    "docs/options.md": MADE, "docs/settings.md": MADE, "docs/protocol.md": MADE,
    "src/cli/cluster/remark.c": "a worked change of HACKING.md",
    "share/remuda": "where it is installed", "share/remuda/grafana": "where it is installed",
    "days_from_civil": "an algorithm's name", "civil_from_days": "an algorithm's name",
    "job_info": "a member of Slurm's JSON", "alice_3": "an example",
}  # fmt: skip


def tree(root):
    """Its files, without hidden ones and what is built."""
    for top in sorted(root.iterdir()):
        if top.is_file():
            yield top
        elif not top.name.startswith((".", "build")):
            yield from (p for p in sorted(top.rglob("*")) if p.is_file() and p.suffix != ".pyc")


def outside_fences(text):
    """A page without what is shown as typed or printed; its lines keep their numbers."""
    shown, out = False, []
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        out.append("" if shown or fence else line)
        shown ^= fence
    return "\n".join(out)


def split(path, text):
    """(comments, code); lines keep their numbers in both."""
    if path.suffix not in (".c", ".h"):
        lines = [(line, "") if re.match(r"\s*#(?!!)", line) else ("", line) for line in text.splitlines()]
        return tuple("\n".join(part) for part in zip(*lines)) if lines else ("", "")
    blank = lambda piece: "\n" * piece.count("\n")
    said, code, at = [], [], 0
    for m in COMMENT.finditer(TEXT.sub(lambda t: '"' + "_" * (len(t.group()) - 2) + '"', text)):
        said += [blank(text[at : m.start()]), text[m.start() : m.end()]]
        code += [text[at : m.start()], blank(text[m.start() : m.end()])]
        at = m.end()
    return "".join(said), "".join(code) + text[at:]


class Tree:
    def __init__(self, root):
        self.root, self.known = root, {}
        files = list(tree(root))
        self.names = "\n".join(p.relative_to(root).as_posix() for p in files)
        self.said, self.code = {}, {}
        for p in files:
            if p.suffix == ".md" and "decisions" not in p.parts:
                self.said[p], self.code[p] = outside_fences(p.read_text()), ""
            elif p.suffix in (".c", ".h", ".py", ".bats", ".bash") or p.parent == root / "tools":
                self.said[p], self.code[p] = split(p, p.read_text(errors="replace"))
        self.words = set(re.findall(r"\w+", "\n".join(self.code.values())))

    def has(self, name):
        """Is there a file, or a folder, whose path ends so?"""
        if name not in self.known:
            name = re.sub(r"\bunit_(\w+)", r"\1_test.c", name)
            name = re.sub(r"(?<![a-z0-9])[A-Z]+(?![a-z0-9])", "*", name)
            end = re.escape(name).replace(r"\*", "[^/\n]*")
            self.known[name] = re.search(f"(?:^|/){end}(?:/|$)", self.names, re.M) is not None
        return self.known[name]

    def gone(self, path, text):
        """Files that a page, or comments, name and that are not there. What the rest of the file makes or includes is."""
        for m in [*FILE.finditer(text), *PATH.finditer(text)]:
            if m.group(1) not in OTHERS and not self.has(m.group(1)) and m.group(1) not in self.code[path]:
                yield m

    def nameless(self, path, text):
        """The same of names of code: functions, members, tests."""
        for m in NAME.finditer(text) if path.suffix in (".c", ".h") else ():
            if m.group(1) not in self.words and m.group(1) not in OTHERS:
                if not self.has(re.sub(r"^unit_|_test$", "", m.group(1)) + "_test.c"):
                    yield m

    def lines(self, of):
        for path, text in self.said.items():
            for m in of(path, text):
                yield f"{path.relative_to(self.root)}:{text.count(chr(10), 0, m.start(1)) + 1}: {m.group(1)}"

    def dead_words(self):
        """Words that stand nowhere in the files, or folders, where docs/words.md says: each of those before what is in brackets, in any of its forms."""
        page = self.root / "docs" / "words.md"
        for number, line in enumerate(page.read_text().splitlines(), 1):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            where = re.findall(r"`([^`]+)`", cells[-1])
            if len(cells) != 3 or not where:
                continue
            ends = [re.compile(f"(?:^|/){re.escape(name).replace(chr(92) + '*', '[^/]*')}(?:/|$)") for name in where]
            texts = [p.stem + self.said[p] + self.code[p] for p in self.said if any(end.search(p.relative_to(self.root).as_posix()) for end in ends)]
            text = "\n".join(texts).lower()
            for word in re.sub(r"\(.*?\)|…\w*|\*", "", cells[0]).split(","):
                stem = word.strip().lower().split(" ")[0][:6]
                if texts and stem and stem not in text:
                    yield f"docs/words.md:{number}: {word.strip()}"


def main():
    t = Tree(pathlib.Path(sys.argv[1]))
    rules = {
        "files that pages and comments name are there": list(t.lines(t.gone)),
        "names of code in comments are there": list(t.lines(t.nameless)),
        "words of docs/words.md stand where it says": list(t.dead_words()),
    }
    print(f"1..{len(rules)}")
    for number, (rule, wrong) in enumerate(rules.items(), 1):
        for one in wrong:
            print(f"# {one}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {rule}")


main()
