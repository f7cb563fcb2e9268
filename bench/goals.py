"""Goals of the rows of make bench. A machine of this kind is up to twice as slow on some days: times and rates are held to a goal that is a multiple of a yardstick, the CPU time of a
fixed piece of work (yardstick.c), measured just before each group of rows. Ratios, sizes and counts are held to what they say.

What the programs of this folder print, `name | figure unit | goal  # note` a line, is read here, too."""
import subprocess

QUIET_MS = 65.0  # the yardstick on the quiet 2-core machine for which the goals below were set: there a goal is what is written


class Yardstick:
    def __init__(self, build):
        self.program = build / "bench" / "remuda-yardstick"
        self.taken = []

    def measure(self):
        """Looks again how fast the machine is."""
        out = subprocess.run([str(self.program)], capture_output=True, text=True, check=True).stdout
        self.taken.append(sum(float(word) for word in out.split()))

    @property
    def speed(self):
        """How many times as long as on the quiet machine the work takes."""
        return self.taken[-1] / QUIET_MS

    def said(self):
        low, high = min(self.taken), max(self.taken)
        return f"yardstick: {low:.1f} ms to {high:.1f} ms, {low / QUIET_MS:.2f} to {high / QUIET_MS:.2f} of the quiet machine's {QUIET_MS:.1f} ms; goals of times and rates are multiples of it"


class Goal:
    """at_most or at_least so much; `scaled`: of the quiet machine; `of`: what is compared, if it is not the row's figure."""

    def __init__(self, sign, limit, unit="", scaled=True, of=None):
        self.sign, self.limit, self.unit, self.scaled, self.of = sign, limit, unit, scaled, of

    def bound(self, yardstick):
        if not self.scaled:
            return self.limit
        return self.limit * yardstick.speed if self.sign == "<=" else self.limit / yardstick.speed

    def met(self, figure, yardstick):
        value = figure if self.of is None else self.of
        bound = self.bound(yardstick)
        return value <= bound if self.sign == "<=" else value >= bound

    def said(self, yardstick):
        plain = f"{self.sign} {self.limit:g}{self.unit if self.unit == '/s' else ' ' + self.unit if self.unit else ''}"
        if not self.scaled:
            return plain
        return f"{plain} x {yardstick.speed if self.sign == '<=' else 1 / yardstick.speed:.2f} = {self.bound(yardstick):.4g}"


def at_most(limit, unit="", **more):
    return Goal("<=", limit, unit, **more)


def at_least(limit, unit="", **more):
    return Goal(">=", limit, unit, **more)


def ratio_at_most(limit, ratio):
    return Goal("<=", limit, "x", scaled=False, of=ratio)


def ratio_at_least(limit, ratio):
    return Goal(">=", limit, "x", scaled=False, of=ratio)


def last_digit(text):
    """What one in the last digit of a printed number is worth: 0.01 of "2.50 x". Two figures that differ by less may be equal."""
    return 10.0 ** -len(text.split()[0].partition(".")[2])


def printed(text):
    """(name, figure, last_digit of it, unit, goal) of each row that a program printed; lines that begin with # only tell."""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, figure, goal = (part.strip() for part in line.split("#")[0].split("|"))
        number, _, unit = figure.partition(" ")
        yield name, float(number), last_digit(number), unit.strip(), goal_of(goal, unit.strip())


def goal_of(text, unit):
    """"<= 100 …" is a time or a size; a number alone is how many have to be there; "" = none."""
    if not text:
        return None
    if text.startswith("<="):
        return at_most(float(text[2:].split()[0]), unit)
    return at_least(float(text), scaled=False)
