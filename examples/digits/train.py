"""A two-layer network on the UCI handwritten digits, in numpy: loss per epoch, a checkpoint after each, the accuracy at the end.

Started again it resumes from the checkpoint. SIGUSR1 (sbatch --signal=B:USR1@60) ends it after the current epoch.
"""
import argparse
import os
import signal

import numpy as np

LETTERS = "0123456789abcdefg"  # one letter a pixel: 0 (white) to 16 (black)


def load(path):
    with open(path) as lines:
        rows = [line.split() for line in lines]
    x = np.array([[LETTERS.index(c) for c in pixels] for pixels, _ in rows], dtype=np.float64) / 16
    y = np.array([int(digit) for _, digit in rows])
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    cut = len(x) * 4 // 5
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def new_model(hidden):
    rng = np.random.default_rng(1)
    return {
        "w1": rng.normal(0, 0.1, (64, hidden)), "b1": np.zeros(hidden),
        "w2": rng.normal(0, 0.1, (hidden, 10)), "b2": np.zeros(10),
    }


def forward(model, x):
    h = np.maximum(x @ model["w1"] + model["b1"], 0)
    z = h @ model["w2"] + model["b2"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return h, e / e.sum(axis=1, keepdims=True)


def train_epoch(model, x, y, rate, batch, seed):
    order = np.random.default_rng(seed).permutation(len(x))
    loss = 0.0
    for at in range(0, len(x), batch):
        part = order[at:at + batch]
        h, p = forward(model, x[part])
        loss -= np.log(p[np.arange(len(part)), y[part]] + 1e-12).sum()
        d = p
        d[np.arange(len(part)), y[part]] -= 1
        d /= len(part)
        dh = (d @ model["w2"].T) * (h > 0)
        model["w2"] -= rate * h.T @ d
        model["b2"] -= rate * d.sum(axis=0)
        model["w1"] -= rate * x[part].T @ dh
        model["b1"] -= rate * dh.sum(axis=0)
    return loss / len(x)


def accuracy(model, x, y):
    return (forward(model, x)[1].argmax(axis=1) == y).mean()


def save(path, epoch, model):
    temporary = path + ".new.npz"  # a job may be killed at any moment: the old checkpoint stays whole
    np.savez(temporary, epoch=epoch, **model)
    os.replace(temporary, path)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", required=True)
    options.add_argument("--checkpoint", required=True)
    options.add_argument("--epochs", type=int, default=10, help="further epochs to train")
    options.add_argument("--hidden", type=int, default=64)
    options.add_argument("--rate", type=float, default=0.2)
    options.add_argument("--batch", type=int, default=32)
    options = options.parse_args()

    stop = []
    signal.signal(signal.SIGUSR1, lambda *_: stop.append(True))
    (x, y), (test_x, test_y) = load(options.data)
    first = 1
    model = new_model(options.hidden)
    if os.path.exists(options.checkpoint):
        saved = dict(np.load(options.checkpoint))
        first = int(saved.pop("epoch")) + 1
        model = saved
        print(f"resumed from {options.checkpoint}, epoch {first - 1}")
    print(f"{len(x)} digits to learn, {len(test_x)} to test")
    for epoch in range(first, first + options.epochs):
        loss = train_epoch(model, x, y, options.rate, options.batch, epoch)
        save(options.checkpoint, epoch, model)
        print(f"epoch {epoch:3d}  loss {loss:.4f}  test accuracy {accuracy(model, test_x, test_y):.4f}")
        if stop:
            print("asked to stop; submit again to go on")
            return
    print(f"final accuracy {accuracy(model, test_x, test_y):.4f}")


if __name__ == "__main__":
    main()
