"""TENT's arithmetic without autograd: entropy, finite differences, and SGD written out."""

import math


def mean_entropy(rows):
    """The mean entropy of the softmax of rows of logits."""
    total = 0.0
    for row in rows:
        top = max(row)
        powers = [math.exp(value - top) for value in row]
        for power in powers:
            p = power / sum(powers)
            total -= p * math.log(p)
    return total / len(rows)


def slopes(function, values, step=1e-6):
    """The gradient of a function of a list of numbers, by central differences."""
    gradient = []
    for place in range(len(values)):
        up, down = list(values), list(values)
        up[place] += step
        down[place] -= step
        gradient.append((function(up) - function(down)) / (2 * step))
    return gradient


class Descent:
    """SGD with momentum, Nesterov's or not, and weight decay, one number at a time."""

    def __init__(self, lr, momentum, nesterov, weight_decay):
        self.lr, self.momentum = lr, momentum
        self.nesterov, self.weight_decay = nesterov, weight_decay
        self.velocity = None

    def step(self, values, gradient):
        gradient = [
            g + self.weight_decay * value for g, value in zip(gradient, values, strict=True)
        ]
        if self.velocity is None:
            self.velocity = list(gradient)
        else:
            self.velocity = [
                self.momentum * v + g for v, g in zip(self.velocity, gradient, strict=True)
            ]
        if self.nesterov:
            move = [g + self.momentum * v for g, v in zip(gradient, self.velocity, strict=True)]
        else:
            move = self.velocity
        return [value - self.lr * m for value, m in zip(values, move, strict=True)]
