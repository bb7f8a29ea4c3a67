"""From decoded pixels to what the network wants: fitted on the host, normalised on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vidc.errors import InputError
from vidc.eval.models import Preprocessing
from vidc.frames import Pixels


def fitted(pixels: Pixels, preprocessing: Preprocessing) -> Pixels:
    """The frame at the model's size: as it is where it has that already, else resized and cropped.

    Pillow's resize on 8-bit pixels, which is what torchvision's transform for the weights does.
    """
    from PIL import Image
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as F

    crop = preprocessing.crop
    if pixels.shape[:2] == (crop, crop):
        return pixels
    image = Image.fromarray(pixels)
    if preprocessing.resize is not None:
        mode = InterpolationMode(preprocessing.interpolation)
        image = F.resize(image, [preprocessing.resize], mode)
    return np.asarray(F.center_crop(image, [crop, crop]))


class ToDevice:
    """Takes batches to the device without waiting, and normalises them there."""

    def __init__(self, preprocessing: Preprocessing, device: torch.device) -> None:
        self._device = device
        self._crop = preprocessing.crop
        mean = torch.tensor(preprocessing.mean, dtype=torch.float64)
        std = torch.tensor(preprocessing.std, dtype=torch.float64)
        # Once for all batches: a tensor made from a list on the device would make the host wait.
        self._scale = (1 / (255 * std)).float()[:, None, None].to(device)
        self._shift = (-mean / std).float()[:, None, None].to(device)

    def __call__(self, images: Tensor | Sequence[bytes]) -> Tensor:
        """Normalised images, B x 3 x H x W, channels last in memory."""
        if isinstance(images, Tensor):
            images = images.to(self._device, non_blocking=True).permute(0, 3, 1, 2)
        else:
            images = self._decoded(images)
        return torch.addcmul(self._shift, images.float(), self._scale)

    def _decoded(self, files: Sequence[bytes]) -> Tensor:
        """JPEG files decoded by the GPU, whose pixels differ a little from the CPU's."""
        from torchvision.io import ImageReadMode, decode_jpeg

        if not all(file.startswith(b"\xff\xd8") for file in files):
            raise InputError("--gpu-decode is for datasets stored as JPEG: leave it out here.")
        encoded = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]
        decoded = decode_jpeg(encoded, mode=ImageReadMode.RGB, device=self._device)
        if any(image.shape != (3, self._crop, self._crop) for image in decoded):
            raise InputError(
                f"--gpu-decode needs frames stored at the model's {self._crop} x {self._crop} "
                "pixels: leave it out for this dataset."
            )
        return torch.stack(decoded).contiguous(memory_format=torch.channels_last)
