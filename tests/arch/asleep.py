#!/usr/bin/env python3
"""Lines of tests in bash that look like assertions and cannot fail where they stand.

A test ends at the first command that fails, but for `! command`, which never does that, and for `one && other` whose first part is false. As an assertion the
former is written `! command || false`, the latter as two lines. What a function of the test's own ends in is its value, and is left alone; so are conditions, a
list that ends in `|| …`, and `one && other` where the other goes elsewhere (return, skip and their like) or only sets something.

Prints TAP. Usage: asleep.py SOURCE_ROOT
"""
import pathlib
import re
import sys

META = " \t\n;&|()<>"
GOES = {"return", "break", "continue", "exit", "skip", "false"}
ASSIGNS = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
CALLED_BY_BATS = {"@test", "setup", "teardown", "setup_file", "teardown_file", "setup_suite", "teardown_suite"}
COMMAND_FOLLOWS = {"\n", ";", "&", "&&", "||", "|", "!", "(", ")", "{", "if", "elif", "then", "else", "while", "until", "do"}
ENDS = {"then", "else", "elif", "fi", "do", "done", "esac", "}", ")", ";;", ";&", ";;&", ""}


class Lexer:
    """Tokens of bash: words as they are written, operators, and "\\n"; "" at the end."""

    def __init__(self, text):
        self.text, self.at, self.bodies, self.tokens = text, 0, [], []
        while self.at < len(text):
            self.token()
        self.tokens.append(("", len(text)))

    def token(self):
        text, at = self.text, self.at
        c = text[at]
        if c in " \t":
            self.at += 1
        elif text.startswith("\\\n", at):
            self.at += 2
        elif c == "#":
            self.at = self.line_end(at)
        elif c == "\n":
            self.at += 1
            self.tokens.append(("\n", at))
            for mark, tabs in self.bodies:
                self.skip_body(mark, tabs)
            self.bodies = []
        elif text.startswith(("<(", ">("), at):
            self.word()
        elif m := re.compile(r"<<<|<<-?|[<>]&?\||&>>?|>>|<>|[<>]&|[<>]").match(text, at):
            self.redirect(m)
        elif m := re.compile(r";;&|;;|;&|;|&&|\|\||\|&|\||&|\(|\)").match(text, at):
            self.operator(m)
        else:
            self.word()

    def line_end(self, at):
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def redirect(self, m):
        """A word, with where to."""
        self.at = re.compile(r"[ \t]*").match(self.text, m.end()).end()
        begin = self.at
        self.word()
        target = self.tokens.pop()[0] if self.at > begin else ""
        self.tokens.append((m[0] + target, m.start()))
        if m[0] in ("<<", "<<-"):
            self.bodies.append((re.sub(r"['\"\\]", "", target), m[0] == "<<-"))

    def operator(self, m):
        if self.text.startswith("((", m.start()):
            self.at = self.text.index("))", m.start()) + 2
            self.tokens.append((self.text[m.start():self.at], m.start()))
        else:
            self.at = m.end()
            self.tokens.append((m[0], m.start()))

    def skip_body(self, mark, tabs):
        while self.at < len(self.text):
            end = self.line_end(self.at)
            line = self.text[self.at:end]
            self.at = end + 1
            if (line.lstrip("\t") if tabs else line) == mark:
                return

    def word(self):
        begin = self.at
        while self.at < len(self.text):
            c = self.text[self.at]
            if c == "(" and self.text[self.at - 1] in "=<>@?*+!$" and self.at > begin:
                self.skip_nested(")")
            elif c in "<>" and self.text.startswith("(", self.at + 1) and self.at == begin:
                self.at += 1
            elif c in META:
                break
            else:
                self.step()
        word = self.text[begin:self.at]
        if word == "[[" and self.tokens and self.tokens[-1][0] in COMMAND_FOLLOWS:
            while not re.compile(r"\s\]\](?=[\s;&|)]|$)").match(self.text, self.at):
                self.step()
            self.at += 3
            word = self.text[begin:self.at]
        if word.isdigit() and self.text[self.at:self.at + 1] in tuple("<>"):
            return  # the descriptor of a redirection
        self.tokens.append((word, begin))

    def step(self):
        """Past one character, or what is quoted or expanded there."""
        text = self.text
        if text[self.at] == "\\":
            self.at += 2
        elif text.startswith("$'", self.at):
            self.at = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.S).match(text, self.at).end()
        elif text[self.at] == "'":
            self.at = text.index("'", self.at + 1) + 1
        elif text[self.at] == '"':
            self.at += 1
            while text[self.at] != '"':
                self.step_in_quotes()
            self.at += 1
        else:
            self.step_in_quotes()

    def step_in_quotes(self):
        text = self.text
        if text[self.at] == "\\":
            self.at += 2
        elif text.startswith("$(", self.at):
            self.at += 1
            self.skip_nested(")")
        elif text.startswith("${", self.at):
            self.at += 1
            self.skip_nested("}")
        elif text[self.at] == "`":
            self.at = text.index("`", self.at + 1) + 1
        else:
            self.at += 1

    def skip_nested(self, close):
        opened = self.text[self.at]
        self.at += 1
        while self.text[self.at] != close:
            if self.text[self.at] == opened:
                self.skip_nested(close)
            elif self.text[self.at] == "#" and close == ")" and self.text[self.at - 1] in " \n":
                self.at = self.line_end(self.at)
            else:
                self.step()
        self.at += 1


class Parser:
    """found: (offset, "!" or "&&", text) of each list of commands that cannot fail. `held` is whether somebody looks at the value of the last one of a block,
    `free` whether what fails there ends nothing, as in a condition."""

    def __init__(self, text):
        self.text, self.tokens, self.at, self.found = text, Lexer(text).tokens, 0, []
        self.block({""}, False, False)

    def peek(self):
        return self.tokens[self.at][0]

    def take(self, wanted=None):
        token, offset = self.tokens[self.at]
        if wanted is not None and token != wanted:
            raise ValueError(f"line {self.text.count(chr(10), 0, offset) + 1}: {token!r} stands where {wanted!r} is expected")
        self.at += 1
        return token

    def gaps(self, more=()):
        while self.peek() in ("\n", *more):
            self.at += 1

    def block(self, ends, held, free):
        self.gaps()
        while self.peek() not in ends:
            if self.peek() in ENDS:
                self.take("a command")
            self.list(ends, held, free)

    def list(self, ends, held, free):
        """Pipelines with && and || between them, to the end of the line."""
        begin, joint, negated = self.tokens[self.at][1], "", False
        while True:
            found, negated = self.found[:], self.peek() == "!"
            words = self.pipeline(held, free)
            if self.peek() not in ("&&", "||"):
                break
            self.found = found  # within all but the last, nothing ends the test
            joint = self.take()
            self.gaps()
        text = self.text[begin:self.tokens[self.at][1]].strip()
        background = self.peek() == "&"
        self.gaps((";", "&"))
        if free or background or (held and self.peek() in ends):
            return
        if joint == "&&" and not goes(words):
            self.found.append((begin, "&&", text))
        elif joint != "&&" and negated:
            self.found.append((begin, "!", text))

    def pipeline(self, held, free):
        """Answers the words of its last command."""
        while self.peek() in ("!", "time"):
            free = self.take() == "!" or free
        words = self.command(held, free)
        while self.peek() in ("|", "|&"):
            self.take()
            self.gaps()
            words = self.command(held, free)
        return words

    def command(self, held, free):
        token = self.peek()
        if token == "if":
            self.branches(held, free)
        elif token in ("while", "until"):
            self.take()
            self.block({"do"}, False, True)
            self.body("do", "done", False, free)
        elif token in ("for", "select"):
            while self.take() not in (";", "\n"):
                pass
            self.gaps()
            self.body("do", "done", False, free)
        elif token == "case":
            self.case(held, free)
        elif token in ("{", "("):
            self.body(token, "}" if token == "{" else ")", held or token == "(", free)
        else:
            return self.simple()
        self.words()
        return [token]

    def body(self, opens, closes, held, free):
        self.take(opens)
        self.block({closes}, held, free)
        self.take(closes)

    def branches(self, held, free):
        branch = self.take("if")
        while branch in ("if", "elif"):
            self.block({"then"}, False, True)
            self.take("then")
            self.block({"elif", "else", "fi"}, held, free)
            branch = self.take()
        if branch == "else":
            self.block({"fi"}, held, free)
            self.take("fi")

    def case(self, held, free):
        self.take("case")
        self.take()
        self.gaps()
        self.take("in")
        self.gaps()
        while self.peek() != "esac":
            while self.take() != ")":
                pass
            self.block({";;", ";&", ";;&", "esac"}, held, free)
            if self.peek() != "esac":
                self.take()
            self.gaps()
        self.take("esac")

    def words(self):
        words = []
        while self.peek() not in ("\n", ";", "&", "&&", "||", "|", "|&", ")", "(", ";;", ";&", ";;&", ""):
            words.append(self.take())
        return words

    def simple(self):
        if self.peek() == "@test":
            self.at += 2
            self.function("@test")
            return ["@test"]
        name = self.peek()
        words = self.words()
        if self.peek() == "(":
            self.take()
            self.take(")")
            self.gaps()
            self.function(name)
        elif not words:
            self.take("a command")
        return words

    def function(self, name):
        opens = self.peek()
        self.body(opens, "}" if opens == "{" else ")", name not in CALLED_BY_BATS, False)
        self.words()


def goes(words):
    """Whether a command goes elsewhere, or only sets something: what stands before it was a condition."""
    return words[0] in GOES or all(ASSIGNS.match(word) for word in words)


def asleep(text):
    """(line, "!" or "&&", what stands there) of each."""
    return [(text.count("\n", 0, at) + 1, kind, line) for at, kind, line in sorted(Parser(text).found)]


# What the check says of lines: those of the first are asleep, those of the second are not.
ASLEEP = (
    "! a\nb", "! a", "! a | b\nb", "[ a ] && [ b ]\nb", "[[ a ]] && [[ b ]]", "a && b\nc", "a || b && c\nd", "a || ! b\nc", "for i in 1; do ! a; done",
    "while a; do\n[ a ] && b\ndone", "{ ! a; }\nb", "a <<E\n! b\nE\n! c", "if a; then ! b; fi", "case a in b) ! c ;; esac", "! a # || false",
    "f() {\n! a\nb\n}", "f() { [ a ] && [ b ]; c; }", "f() { for i in 1; do ! a; done; }", "x=$(a && b) && c", "a 2>&1 && b\nc", "a && ! b\nc",
)
AWAKE = (
    "! a || false\nb", "! a || return 1\nb", "! a || skip 'b && c'\nd", "[ a ] || [ b ]\nc", "[ a ] && b=1\nc", "[ a ] && return 0\nc", "a && b || c\nd", "a && b &\nc",
    "if ! a && b; then c; fi", "while ! a; do b; done", "until a && b; do c; done", "[[ a && b ]]\nc", "((a && b))\nc", "a <<'E'\n! b\na && c\nE\nd", "a '\n! b\n'\nc",
    "a \"$(b && c)\"\nd", "f() { ! a; }\nb", "f() {\nb\n[ a ] && [ b ]\n}", "f() { if a; then ! b; else [ c ] && [ d ]; fi; }", "{ a; ! b; } || c\nd", "if { ! a; b; }; then c; fi",
    "[[ $a =~ ^(b|c)$ ]]\nd", "a=(b c)\nd", "[ a ] && b=(c d)\ne", "a <(b && c)\nd", "case a in b|c) d ;; *) e && f || g ;; esac", "for i in 1; do a && break; done",
    "(! a)\nb", "(a && b)\nc", "a && false\nb", ">a\nb",
)


def main():
    root = pathlib.Path(sys.argv[1])
    print("1..3")
    wrong = [f"{line!r} is asleep" for line in ASLEEP if not asleep(f'@test "x" {{\n{line}\n}}\n')]
    wrong += [f"{line!r} is awake" for line in AWAKE if asleep(f'@test "x" {{\n{line}\n}}\n')]
    files = {}
    for path in sorted(p for suffix in ("bats", "bash") for p in root.glob(f"tests/**/*.{suffix}")):
        name = path.relative_to(root)
        try:
            files[name] = asleep(path.read_text())
        except (ValueError, IndexError, AttributeError) as e:
            wrong.append(f"{name} cannot be read: {e}")
    for one in wrong:
        print(f"# {one}")
    print(f"{'not ok' if wrong else 'ok'} 1 - {len(ASLEEP) + len(AWAKE)} lines are told apart and {len(files)} files are read")
    for number, kind, word in ((2, "!", "`! command` without `|| false`"), (3, "&&", "`one && other` that is not two lines")):
        found = [f"{name}:{line}: {text}" for name, lines in files.items() for line, what, text in lines if what == kind]
        for one in found:
            print("# " + one.replace("\n", "\n# "))
        print(f"{'not ok' if found else 'ok'} {number} - {len(found)} assertions are asleep: {word}")


if __name__ == "__main__":
    main()
