"""The normalization layers in float64 and plain loops, one number at a time."""

import math

import numpy as np


def image_moments(plane):
    """The mean and biased variance of the values of one image's one channel."""
    values = [float(value) for value in np.asarray(plane).ravel()]
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def affine_of(value, mean, var, eps, weight, bias):
    return (value - mean) / math.sqrt(var + eps) * weight + bias


def normalised(x, mean_of, var_of, eps, weight, bias):
    """Every value of the batch, with the mean and variance that belong to its image and channel."""
    out = np.zeros(np.shape(x))
    for b, c, h, w in np.ndindex(*np.shape(x)):
        out[b, c, h, w] = affine_of(
            float(x[b][c][h][w]), mean_of[b][c], var_of[b][c], eps, weight[c], bias[c]
        )
    return out


def cosine(first, second):
    dot = sum(a * b for a, b in zip(first, second, strict=True))
    lengths = [max(math.sqrt(sum(a * a for a in each)), 1e-12) for each in (first, second)]
    return dot / (lengths[0] * lengths[1])


def softmax(values):
    top = max(values)
    powers = [math.exp(value - top) for value in values]
    return [power / sum(powers) for power in powers]


def unmix_assignment(image_means, means, tau):
    return [softmax([cosine(image, mean) / tau for mean in means]) for image in image_means]


def unmix_forward(x, means, variances, weight, bias, tau, eps):
    """The layer's output, with the components as they are before the batch."""
    x = np.asarray(x, dtype=np.float64)
    batch, channels = x.shape[:2]
    components = len(means)
    moments = [[image_moments(x[b, c]) for c in range(channels)] for b in range(batch)]
    image_means = [[moment[0] for moment in row] for row in moments]
    p = unmix_assignment(image_means, means, tau)
    mean_of = np.zeros((batch, channels))
    var_of = np.zeros((batch, channels))
    for b in range(batch):
        for c in range(channels):
            image_mean, image_var = moments[b][c]
            mixed_means = [
                (1 - p[b][k]) * means[k][c] + p[b][k] * image_mean for k in range(components)
            ]
            mixed_vars = [
                (1 - p[b][k]) * variances[k][c] + p[b][k] * image_var for k in range(components)
            ]
            mean = sum(mixed_means) / components
            spread = sum((each - mean) ** 2 for each in mixed_means) / components
            mean_of[b, c] = mean
            var_of[b, c] = sum(mixed_vars) / components + spread
    return normalised(x, mean_of, var_of, eps, weight, bias)


def unmix_update(x, means, variances, tau, momentum0, base_batch):
    """The components after the batch."""
    x = np.asarray(x, dtype=np.float64)
    batch, channels = x.shape[:2]
    rate = 1 - (1 - momentum0) ** (batch / base_batch)
    moments = [[image_moments(x[b, c]) for c in range(channels)] for b in range(batch)]
    p = unmix_assignment([[moment[0] for moment in row] for row in moments], means, tau)
    new_means = np.array(means, dtype=np.float64)
    new_vars = np.array(variances, dtype=np.float64)
    for k in range(len(means)):
        for c in range(channels):
            for b in range(batch):
                new_means[k, c] += rate / batch * p[b][k] * (moments[b][c][0] - means[k][c])
                new_vars[k, c] += rate / batch * p[b][k] * (moments[b][c][1] - variances[k][c])
    return new_means, new_vars


def batch_moments(x):
    """For each channel: the mean, the biased and the unbiased variance over the whole batch."""
    x = np.asarray(x, dtype=np.float64)
    moments = []
    for c in range(x.shape[1]):
        mean, var = image_moments(x[:, c])
        count = x[:, c].size
        moments.append((mean, var, var * count / (count - 1) if count > 1 else var))
    return moments


def tbn_forward(x, weight, bias, eps):
    moments = batch_moments(x)
    mean_of = [[mean for mean, _, _ in moments]] * len(x)
    var_of = [[var for _, var, _ in moments]] * len(x)
    return normalised(x, mean_of, var_of, eps, weight, bias)


def alpha_bn_forward(x, source_mean, source_var, weight, bias, eps, alpha, unbiased):
    moments = batch_moments(x)
    mean_of, var_of = [], []
    for c, (mean, biased_var, unbiased_var) in enumerate(moments):
        var = unbiased_var if unbiased else biased_var
        mean_of.append((1 - alpha) * source_mean[c] + alpha * mean)
        var_of.append((1 - alpha) * source_var[c] + alpha * var)
    return normalised(x, [mean_of] * len(x), [var_of] * len(x), eps, weight, bias)
