"""LAME in float64 and plain loops, stopping as soon as its rule says so."""

import math

from tests.reference.normalization_loops import softmax


def unit(vector):
    length = max(math.sqrt(sum(value * value for value in vector)), 1e-12)
    return [value / length for value in vector]


def affinity(features, neighbours):
    features = [unit(each) for each in features]
    distances = [[math.dist(a, b) for b in features] for a in features]
    rank = min(neighbours, len(features))
    width = sum(sorted(row)[rank - 1] for row in distances) / len(features)
    return [[math.exp(-(d**2) / (2 * width**2)) for d in row] for row in distances]


def adjust(probabilities, features, neighbours=5, iterations=100, tolerance=1e-8, floor=1e-10):
    """The adjusted probabilities, and how many iterations were made."""
    weights = affinity(features, neighbours)
    unary = [[-math.log(p + floor) for p in row] for row in probabilities]
    y = [softmax([-value for value in row]) for row in unary]
    frames, classes = range(len(y)), range(len(y[0]))
    old = math.inf
    for iteration in range(iterations):
        pull = [[sum(weights[i][j] * y[j][c] for j in frames) for c in classes] for i in frames]
        y = [softmax([pull[i][c] - unary[i][c] for c in classes]) for i in frames]
        energy = sum(
            y[i][c] * (unary[i][c] - pull[i][c] + math.log(max(y[i][c], 1e-20)))
            for i in frames
            for c in classes
        )
        if iteration > 1 and abs(energy - old) <= tolerance * abs(old):
            return y, iteration + 1
        old = energy
    return y, iterations
