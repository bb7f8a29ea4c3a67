"""The stream: which frames, in which order, in which batches, made how far ahead."""

from __future__ import annotations

import io
import threading
import time
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms._presets import ImageClassification

from tests.eval.memory_source import memory_source
from tests.eval.tiny_dataset import write_dataset
from tests.reference import pictures
from vidc.errors import InputError
from vidc.eval.models import Preprocessing
from vidc.eval.pixels import ToDevice, fitted
from vidc.eval.stream import BATCHES_AHEAD, Stream, scored_frames, shuffled
from vidc.images import Encoding
from vidc.reading import load

MEMBERS = ((0,), (1,), (2,), ())
AS_STORED = Preprocessing(resize=None, crop=16)


def stream_of(source, batch=4, limit=None, **options):
    scored = scored_frames(source.labels(), MEMBERS, "any", limit)
    return Stream(source, scored, batch, AS_STORED, **options)


@settings(max_examples=30, deadline=None)
@given(
    videos=st.integers(1, 4),
    frames=st.integers(1, 6),
    batch=st.integers(1, 9),
    skipped=st.integers(0, 3),
)
def test_batches_are_the_frames_in_order_from_any_batch_on(videos, frames, batch, skipped):
    source = memory_source(videos, frames)
    stream = stream_of(source, batch)
    first = min(skipped, len(stream))
    batches = list(stream.batches(first))
    wanted = [frame.image for frame in source.all][first * batch :]
    got = [image for each in batches for image in each.images.numpy()]
    assert len(got) == len(wanted)
    assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
    assert [each.number for each in batches] == list(range(first, len(stream)))
    assert all(each.stop - each.start == batch for each in batches[:-1])


def test_batches_cross_from_one_video_to_the_next_and_the_last_is_short():
    stream = stream_of(memory_source(videos=3, frames=7), batch=16)
    sizes = [(batch.start, batch.stop) for batch in stream.batches()]
    assert sizes == [(0, 16), (16, 21)]


@settings(max_examples=30, deadline=None)
@given(videos=st.integers(1, 5), frames=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_shuffling_keeps_exactly_the_same_frames(videos, frames, seed):
    source = memory_source(videos, frames)
    scored = scored_frames(source.labels(), MEMBERS, "any")
    mixed = shuffled(scored, seed)
    assert sorted(mixed.positions) == list(scored.positions)
    again = shuffled(scored, seed)
    assert np.array_equal(again.positions, mixed.positions)
    for place, position in enumerate(mixed.positions):
        frame = source.all[position]
        assert mixed.labels.videos[place] == frame.video
        assert mixed.labels.frames[place] == frame.frame
        assert mixed.labels.labels[place] == frame.labels


def test_seeds_shuffle_differently_and_uniformly_enough():
    source = memory_source(videos=2, frames=2)
    scored = scored_frames(source.labels(), MEMBERS, "any")
    orders = Counter(tuple(shuffled(scored, seed).positions) for seed in range(2400))
    # 24 orders of four frames, 100 times each: five standard deviations are about 49.
    assert len(orders) == 24
    assert all(51 < count < 149 for count in orders.values())


def test_a_shuffled_stream_gives_the_frames_of_its_labels():
    source = memory_source()
    scored = shuffled(scored_frames(source.labels(), MEMBERS, "any"), 3)
    images = [
        image
        for batch in Stream(source, scored, 4, AS_STORED).batches()
        for image in batch.images.numpy()
    ]
    for position, image in zip(scored.positions, images, strict=True):
        assert np.array_equal(source.all[position].image, image)


def test_the_limit_keeps_the_first_frames():
    source = memory_source()
    assert list(scored_frames(source.labels(), MEMBERS, "any", 5).positions) == [0, 1, 2, 3, 4]
    assert len(stream_of(source, batch=4, limit=5)) == 2


def test_a_source_out_of_order_is_refused_and_both_frames_are_named():
    source = memory_source(videos=1, frames=5)
    stream = stream_of(source)
    source.all[1], source.all[2] = source.all[2], source.all[1]
    with pytest.raises(InputError, match=r"frame 2 of video v00 .* where frame 1 of video v00"):
        list(stream.batches())


def test_a_source_that_ends_early_is_refused():
    source = memory_source(videos=1, frames=5)
    stream = stream_of(source)
    source.frames = lambda positions, decode=True: iter(source.all[:3])
    with pytest.raises(InputError, match="ended before its last frame"):
        list(stream.batches())


def test_only_a_few_batches_are_made_ahead():
    source = memory_source(videos=40, frames=4)
    batches = stream_of(source, batch=2).batches()
    next(batches)
    # Batches of two frames: the one in the consumer's hands, and four that are made ahead of it.
    made = 2 * (1 + BATCHES_AHEAD)
    assert made == 10
    while len(source.asked) < made:
        time.sleep(0.01)
    time.sleep(0.2)  # in which a stream without a limit would go on
    assert len(source.asked) == made
    batches.close()


def test_a_consumer_that_stops_leaves_no_thread_behind():
    before = set(threading.enumerate())
    batches = stream_of(memory_source(videos=40), batch=2).batches()
    next(batches)
    batches.close()
    assert set(threading.enumerate()) <= before


def test_an_error_in_the_source_reaches_the_consumer():
    source = memory_source()

    def broken(positions, decode=True):
        yield source.all[0]
        raise InputError("frame 1 is damaged")

    source.frames = broken
    with pytest.raises(InputError, match="frame 1 is damaged"):
        list(stream_of(source).batches())


def test_a_frame_of_another_size_is_prepared_as_the_weights_transform_does():
    pixels = np.random.default_rng(1).integers(0, 256, (60, 90, 3)).astype(np.uint8)
    preprocessing = Preprocessing(resize=40, crop=32)
    wanted = ImageClassification(crop_size=32, resize_size=40)(Image.fromarray(pixels))
    batch = torch.tensor(fitted(pixels, preprocessing))[None]
    got = ToDevice(preprocessing, torch.device("cpu"))(batch)
    torch.testing.assert_close(got[0], wanted, rtol=0, atol=2e-6)


def test_a_frame_of_the_models_size_is_used_as_it_is():
    pixels = np.random.default_rng(1).integers(0, 256, (32, 32, 3)).astype(np.uint8)
    assert np.array_equal(fitted(pixels, Preprocessing(resize=40, crop=32)), pixels)


def test_a_stream_of_larger_frames_is_fitted_in_order():
    source = memory_source(videos=2, frames=5, size=20)
    scored = scored_frames(source.labels(), MEMBERS, "any")
    batches = Stream(source, scored, 4, Preprocessing(resize=18, crop=16), threads=2).batches()
    images = [image for batch in batches for image in batch.images.numpy()]
    wanted = [fitted(frame.image, Preprocessing(resize=18, crop=16)) for frame in source.all]
    assert all(np.array_equal(a, b) for a, b in zip(images, wanted, strict=True))


def test_images_on_the_device_are_channels_last():
    images = ToDevice(AS_STORED, torch.device("cpu"))(torch.zeros(2, 16, 16, 3, dtype=torch.uint8))
    assert images.shape == (2, 3, 16, 16)
    assert images.is_contiguous(memory_format=torch.channels_last)


def jpeg(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95)
    return file.getvalue()


def test_jpeg_files_decoded_on_the_device_are_the_decoded_frames():
    """On this device as on a GPU, but for the decoder, whose pixels may differ by a few levels."""
    files = [jpeg(pictures.made(seed, 32, 32)) for seed in (1, 2)]
    to_device = ToDevice(Preprocessing(crop=32), torch.device("cpu"))
    decoded = np.stack([np.asarray(Image.open(io.BytesIO(file))) for file in files])
    got, expected = to_device(files), to_device(torch.from_numpy(decoded))
    assert got.is_contiguous(memory_format=torch.channels_last)
    level = float(to_device._scale.max())
    assert (got - expected).abs().max() <= 3 * level


def test_a_stream_of_files_hands_over_what_is_stored_and_the_device_decodes_it(tmp_path):
    dataset = write_dataset(tmp_path, encoding=Encoding("jpeg", 95, "444"))
    reader = load(dataset, "snow")
    scored = shuffled(scored_frames(reader.labels(), reader.info.classes.imagenet, "any"), 1)
    preprocessing = Preprocessing(resize=None, crop=32)
    shards = sorted((dataset / "data" / "snow").iterdir())
    stored = [
        image["bytes"] for shard in shards for image in pq.read_table(shard)["image"].to_pylist()
    ]
    of_files, of_pixels = (
        list(Stream(reader, scored, 4, preprocessing, files=files).batches(1))
        for files in (True, False)
    )
    assert [(each.number, each.start, each.stop) for each in of_files] == [
        (each.number, each.start, each.stop) for each in of_pixels
    ]
    handed_over = [file for batch in of_files for file in batch.images]
    assert handed_over == [stored[position] for position in scored.positions[4:]]
    to_device = ToDevice(preprocessing, torch.device("cpu"))
    level = float(to_device._scale.max())
    for files, pixels in zip(of_files, of_pixels, strict=True):
        assert (to_device(files.images) - to_device(pixels.images)).abs().max() <= 3 * level


def test_files_that_cannot_be_decoded_on_the_device_are_refused():
    to_device = ToDevice(Preprocessing(crop=32), torch.device("cpu"))
    with pytest.raises(InputError, match="--gpu-decode is for datasets stored as JPEG"):
        to_device([b"\x89PNG"])
    with pytest.raises(InputError, match="--gpu-decode needs frames stored at the model's 32 x 32"):
        to_device([jpeg(pictures.made(1, 40, 32))])
