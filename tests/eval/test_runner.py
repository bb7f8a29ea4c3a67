"""A cell: all columns in one pass, equal to each alone and to a plain loop, and through stops."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.eval.memory_source import CLASSES, memory_source
from tests.eval.one_cell import ALL, KEY, OVERRIDES, StoppedError, folder_in, run, settings_of
from tests.eval.repeated import without_measured
from tests.eval.tiny_model import tiny_model
from tests.reference import plain_loop
from vidc.errors import InputError
from vidc.eval import checkpoint
from vidc.eval.methods import COLUMNS, Column, method_class
from vidc.eval.methods.base import Method
from vidc.eval.models import make_classifier
from vidc.eval.networks import Networks, Precision
from vidc.eval.normalization import with_normalization
from vidc.eval.protocol import load_protocol
from vidc.eval.results import CellKey, RunFolder


def alone(column, seed=0, overrides=()):
    """A fresh method on a network of its own, made without the runner."""
    protocol = load_protocol("paper", [*OVERRIDES, *overrides])
    classifier = make_classifier(tiny_model(), CLASSES, protocol.head.map)
    swapped = with_normalization(
        classifier, column.normalization, protocol.settings(column.normalization), seed
    )
    return method_class(column.method)(swapped, protocol.settings(column.method))


@pytest.mark.parametrize("head", ["sum", "max", "imagenet"])
def test_every_column_equals_a_plain_loop_over_the_frames(tmp_path, head):
    source = memory_source(videos=7, frames=7)
    overrides = (f"head.map={head}",)
    record, table = run(tmp_path / "run", settings_of(overrides=overrides), source)
    errors = set()
    for column in ALL:
        found = plain_loop.answers(
            source.all, alone(column, overrides=overrides), tiny_model().preprocessing, batch=4
        )
        labels, confidences = zip(*found, strict=True)
        assert table[f"{column.id}_prediction"].to_pylist() == list(labels)
        np.testing.assert_allclose(table[f"{column.id}_confidence"], confidences, atol=2e-5)
        error = record["columns"][column.id]["error"]
        assert error == pytest.approx(plain_loop.errors_by_hand(source.all, labels))
        errors.add(error)
    assert len(errors) > 2  # the columns do differ here, so that equality means something


def test_columns_together_equal_each_column_alone_to_the_last_bit(tmp_path):
    together, table = run(tmp_path / "all")
    for column in ALL:
        single, own = run(tmp_path / column.id, settings_of([column]))
        for kind in ("prediction", "confidence"):
            assert own[f"{column.id}_{kind}"].equals(table[f"{column.id}_{kind}"])
        assert without_measured(single["columns"]) == {
            column.id: without_measured(together["columns"][column.id])
        }


def test_eight_columns_cost_six_networks_and_lame_shares():
    protocol = load_protocol("paper", OVERRIDES)
    networks = Networks(ALL, tiny_model(), CLASSES, protocol, 0, Precision(torch.device("cpu")))
    members = {tuple(name for name, _ in unit.members) for unit in networks.units}
    assert members == {
        ("source", "lame"),
        ("tbn",),
        ("alpha_bn",),
        ("unmix_tns", "lame_unmix"),
        ("tent",),
        ("tent_unmix",),
    }


def test_a_method_with_a_step_of_its_own_does_not_share(monkeypatch):
    class Doubles(Method):
        def step(self, images):
            return self.refine(self.classifier(images))

    classes = {"source": method_class("source"), "own": Doubles}
    monkeypatch.setattr("vidc.eval.networks.method_class", classes.__getitem__)
    columns = [COLUMNS["source"], Column("own", "Own", "own", "bn")]
    protocol = load_protocol("paper", OVERRIDES)
    networks = Networks(columns, tiny_model(), CLASSES, protocol, 0, Precision(torch.device("cpu")))
    assert [unit.shared for unit in networks.units] == [True, False]


def test_a_method_that_works_in_place_does_not_disturb_the_others(tmp_path, monkeypatch):
    class Flattens(Method):
        def refine(self, outputs):
            outputs.features.zero_()
            return outputs.logits.zero_().softmax(1)

    columns = [Column("flat", "Flat", "flat", "bn"), COLUMNS["source"], COLUMNS["lame"]]
    _, wanted = run(tmp_path / "without", settings_of(columns[1:]))
    monkeypatch.setattr(
        "vidc.eval.networks.method_class", lambda n: Flattens if n == "flat" else method_class(n)
    )
    _, found = run(tmp_path / "with", settings_of(columns))
    for column in columns[1:]:
        assert found[f"{column.id}_confidence"].equals(wanted[f"{column.id}_confidence"])
    np.testing.assert_allclose(found["flat_confidence"], 1 / 3, rtol=1e-6)


class Guesses(Method):
    """Draws at its start and in every batch."""

    def setup(self):
        self.start = torch.rand(())

    def refine(self, outputs):
        noise = torch.randn_like(outputs.logits) + self.start
        return (outputs.logits + noise).softmax(1)


def test_what_a_method_draws_depends_on_no_other_column_and_on_no_interruption(
    tmp_path, monkeypatch
):
    names = ("one", "two")
    columns = [Column(name, name, name, "bn") for name in names]
    monkeypatch.setattr(
        "vidc.eval.networks.method_class", lambda n: Guesses if n in names else method_class(n)
    )
    _, together = run(tmp_path / "together", settings_of(columns))
    _, alone = run(tmp_path / "alone", settings_of(columns[1:]))
    assert alone["two_confidence"].equals(together["two_confidence"])
    assert not together["one_confidence"].equals(together["two_confidence"])

    def stop_after_the_second(done, frames, errors):
        if done > 4:
            raise StoppedError

    settings = settings_of(columns, checkpoint_every=1)
    with pytest.raises(StoppedError):
        run(tmp_path / "stopped", settings, watch=stop_after_the_second)
    _, continued = run(tmp_path / "stopped", settings)
    assert continued.equals(together)


def test_a_network_that_changes_the_images_is_refused_where_it_is_shared(tmp_path, monkeypatch):
    model = tiny_model()
    brightens = torch.nn.Sequential(Brightens(), *model.backbone)
    monkeypatch.setattr(
        "tests.eval.one_cell.tiny_model", lambda: dataclasses.replace(model, backbone=brightens)
    )
    with pytest.raises(InputError, match=r"column source changed its images in place.* at batch 0"):
        run(tmp_path / "run", settings_of([COLUMNS["source"], COLUMNS["unmix_tns"]]))


class Brightens(torch.nn.Module):
    """Works in place, as no layer should."""

    def forward(self, x):
        return x.mul_(3)


def test_a_method_that_changes_the_images_is_refused(tmp_path, monkeypatch):
    class Brightens(Method):
        def step(self, images):
            return self.refine(self.classifier(images.add_(1)))

    settings = settings_of(column_of(monkeypatch, Brightens))
    with pytest.raises(InputError, match=r"column mine changed its images.* at batch 0"):
        run(tmp_path / "run", settings)


def stop_after(frames):
    def watch(done, total, errors):
        if done >= frames:
            raise StoppedError

    return watch


@pytest.mark.parametrize("checkpoint_every", [1, 3])
def test_stopped_after_any_batch_and_continued_it_ends_the_same(tmp_path, checkpoint_every):
    settings = settings_of(checkpoint_every=checkpoint_every)
    whole, table = run(tmp_path / "whole", settings)
    for batches in (1, 4, 7, 10):
        path = tmp_path / f"stopped{batches}"
        with pytest.raises(StoppedError):
            run(path, settings, watch=stop_after(4 * batches))
        source = memory_source()
        record, continued = run(path, settings, source)
        assert without_measured(record) == without_measured(whole)
        assert continued.equals(table)
        saved = (batches - 1) // checkpoint_every * checkpoint_every
        assert source.asked[0] == 4 * saved
        assert not list((path / "cells").glob("*.safetensors"))


def test_a_checkpoint_of_another_stream_is_not_used(tmp_path):
    settings = settings_of(checkpoint_every=1)
    with pytest.raises(StoppedError):
        run(tmp_path / "run", settings, memory_source(seed=1), watch=stop_after(12))
    wanted, _ = run(tmp_path / "other", settings, memory_source(seed=2))
    found, _ = run(tmp_path / "run", settings, memory_source(seed=2))
    assert without_measured(found) == without_measured(wanted)


def test_a_damaged_checkpoint_is_told(tmp_path):
    path = folder_in(tmp_path / "run").checkpoint(KEY)
    path.write_bytes(b"\x10" * 40)
    with pytest.raises(InputError, match="is damaged: delete it"):
        checkpoint.load(path)


def stopped_checkpoint(path):
    """The checkpoint of a cell that was stopped after its third batch, and its file."""
    settings = settings_of(checkpoint_every=1)
    with pytest.raises(StoppedError):
        run(path, settings, watch=stop_after(12))
    file = RunFolder(path).checkpoint(KEY)
    return settings, file, checkpoint.load(file)


def shorten(kept, end):
    """Leave one value of each tensor of this name: torch would spread it over the whole."""
    found = {name: tensor for name, tensor in kept.tensors.items() if name.endswith(end)}
    assert found
    kept.tensors.update({name: tensor[:1] for name, tensor in found.items()})


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.tensors.pop("confidence/0"),
        lambda kept: kept.values.pop("meter"),
        lambda kept: kept.values.update(seconds=None),
        lambda kept: kept.tensors.update({"prediction/1": kept.tensors["prediction/1"][:-1]}),
        lambda kept: kept.tensors.update({"confidence/0": kept.tensors["confidence/0"] * np.nan}),
        lambda kept: kept.tensors.update(
            {name: tensor[:-4] for name, tensor in kept.tensors.items() if name[:4] in "predconf"}
        ),
        lambda kept: kept.values["meter"]["seconds"].update(source="x"),
        lambda kept: kept.values["meter"]["seconds"].update(source=10**400),
        lambda kept: kept.values["meter"]["memory"].pop("source"),
        lambda kept: kept.values.update(seconds=float("nan")),
        lambda kept: kept.tensors.update({"prediction/0": kept.tensors["prediction/0"] + 100}),
        lambda kept: kept.tensors.update({"confidence/0": kept.tensors["confidence/0"] + 1}),
        lambda kept: kept.tensors.update(
            {name: tensor.double() for name, tensor in kept.tensors.items() if name[:4] == "pred"}
        ),
        lambda kept: shorten(kept, ".weight"),
        lambda kept: shorten(kept, ".momentum_buffer"),
    ],
)
def test_a_checkpoint_that_is_whole_but_does_not_fit_is_told(tmp_path, change):
    settings, file, kept = stopped_checkpoint(tmp_path / "run")
    change(kept)
    checkpoint.save(file, kept)
    with pytest.raises(InputError, match="does not fit this evaluation: delete it, and its cell"):
        run(tmp_path / "run", settings)


@pytest.mark.parametrize(
    "notes", [{}, {"batch": "x", "values": "{}"}, {"batch": "1", "values": "3"}]
)
def test_a_checkpoint_of_something_else_is_told(tmp_path, notes):
    file = tmp_path / "cell.safetensors"
    save_file({}, file, notes | {"sum": checkpoint._sum({}, notes)})
    with pytest.raises(InputError, match="is not a checkpoint of vidc's: delete it"):
        checkpoint.load(file)


def test_a_checkpoint_is_a_safetensors_file_of_every_kind_of_number(tmp_path):
    kinds = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    kinds += (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    tensors = {str(kind): torch.tensor([[0, 1, 1]]).to(kind) for kind in kinds}
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.empty(0, 3)}
    checkpoint.save(tmp_path / "cell", checkpoint.Checkpoint(7, tensors, {"a": "ä"}))
    for found in (load_file(tmp_path / "cell"), checkpoint.load(tmp_path / "cell").tensors):
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert found[name].dtype == tensor.dtype
            assert torch.equal(found[name], tensor)
    assert checkpoint.load(tmp_path / "cell").values == {"a": "ä"}


def test_a_number_that_no_checkpoint_can_hold_is_told(tmp_path):
    tensors = {"networks/0/phase": torch.zeros(2, dtype=torch.complex64)}
    with pytest.raises(InputError, match=r"cannot hold networks/0/phase, which is torch.complex64"):
        checkpoint.save(tmp_path / "cell", checkpoint.Checkpoint(1, tensors, {}))
    assert list(tmp_path.iterdir()) == []


def test_a_long_cell_s_predictions_are_written_in_parts_that_make_the_same_table(
    tmp_path, monkeypatch
):
    _, whole = run(tmp_path / "whole")
    monkeypatch.setattr("vidc.eval.results.ROW_GROUP_FRAMES", 5)
    _, parts = run(tmp_path / "parts")
    assert parts.equals(whole)
    stored = pq.ParquetFile(tmp_path / "parts" / "cells" / f"{KEY.file}.parquet")
    rows = [stored.metadata.row_group(k).num_rows for k in range(stored.num_row_groups)]
    assert rows == [5] * (len(whole) // 5) + [len(whole) % 5]


def test_tensors_that_share_their_memory_come_back_from_a_checkpoint(tmp_path):
    whole = torch.arange(12.0)
    tensors = {"whole": whole, "part": whole[3:5], "turned": whole.view(3, 4).T}
    checkpoint.save(tmp_path / "cell", checkpoint.Checkpoint(1, tensors, {}))
    kept = checkpoint.load(tmp_path / "cell").tensors
    assert all(torch.equal(kept[name], tensor) for name, tensor in tensors.items())


def test_seeds_change_the_components_and_nothing_else(tmp_path):
    first, _ = run(tmp_path / "run")
    second, _ = run(tmp_path / "run", key=CellKey("tiny-c", "snow", 5, 1))
    confidences = [
        pq.read_table(tmp_path / "run" / "cells" / f"tiny-c.snow.seed{seed}.parquet")
        for seed in (0, 1)
    ]
    for column in ALL:
        same = confidences[0][f"{column.id}_confidence"].equals(
            confidences[1][f"{column.id}_confidence"]
        )
        assert same == (column.normalization != "unmix_tns")
    assert first["frames"] == second["frames"]


def test_the_callers_random_state_and_switches_are_left_alone(tmp_path):
    torch.manual_seed(5)
    before, benchmark = torch.get_rng_state(), torch.backends.cudnn.benchmark
    run(tmp_path / "run", settings_of(deterministic=True))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.backends.cudnn.benchmark == benchmark
    assert not torch.are_deterministic_algorithms_enabled()


def column_of(monkeypatch, method):
    monkeypatch.setattr("vidc.eval.networks.method_class", lambda name: method)
    return [Column("mine", "Mine", "mine", "bn")]


def test_nan_names_the_column_the_batch_and_the_video(tmp_path, monkeypatch):
    class TurnsNan(Method):
        batches = 0

        def refine(self, outputs):
            self.batches += 1
            scores = outputs.logits.softmax(1)
            if self.batches == 4:
                scores[2] = torch.nan
            return scores

    settings = settings_of(column_of(monkeypatch, TurnsNan))
    with pytest.raises(InputError, match=r"column mine .*NaN.* at batch 3 of .*, in video v02"):
        run(tmp_path / "run", settings)  # frame 14 of 7 frames a video


@pytest.mark.parametrize(
    ("scores", "what"),
    [
        (lambda logits: logits.softmax(1)[:, :2], r"returned \(4, 2\) where \(4, 3\) is due"),
        (lambda logits: logits.softmax(1)[0], r"returned \(3,\)"),
        (lambda logits: logits.argmax(1).tolist(), "returned list"),
        (lambda logits: logits * 100, "not probabilities"),
        (lambda logits: logits.softmax(1).masked_fill(logits > -99, torch.inf), "not probab"),
    ],
)
def test_wrong_scores_name_the_column_the_batch_and_the_video(tmp_path, monkeypatch, scores, what):
    class Wrong(Method):
        def refine(self, outputs):
            return scores(outputs.logits)

    settings = settings_of(column_of(monkeypatch, Wrong))
    with pytest.raises(InputError, match=f"column mine .*{what}.*batch 0 .*video v00"):
        run(tmp_path / "run", settings)
    assert not list((tmp_path / "run" / "cells").iterdir())


def test_gpu_out_of_memory_says_what_to_lower(tmp_path, monkeypatch):
    class Greedy(Method):
        def refine(self, outputs):
            raise torch.OutOfMemoryError("CUDA out of memory")

    settings = settings_of(column_of(monkeypatch, Greedy))
    with pytest.raises(InputError, match=r"fewer --columns .* --set stream\.batch=8"):
        run(tmp_path / "run", settings)


def test_frames_that_no_output_can_answer_are_refused(tmp_path):
    source = memory_source()
    dog = CLASSES.names.index("dog")  # which no output of the network is
    source.all = [dataclasses.replace(each, label=dog, labels=(dog,)) for each in source.all]
    with pytest.raises(InputError, match=r"tiny-c has no frame that can be scored: .* model tiny"):
        run(tmp_path / "run", source=source)
    assert not list((tmp_path / "run" / "cells").iterdir())


def test_half_precision_stays_close(tmp_path):
    columns = [COLUMNS["source"], COLUMNS["tent_unmix"], COLUMNS["lame"]]
    _, full = run(tmp_path / "full", settings_of(columns))
    _, half = run(tmp_path / "half", settings_of(columns, amp=True))
    for column in columns:
        name = f"{column.id}_confidence"
        assert not full[name].equals(half[name])
        np.testing.assert_allclose(full[name], half[name], atol=0.05)


def test_what_is_measured_is_there(tmp_path):
    record, _ = run(tmp_path / "run")
    assert record["measured"]["seconds"] > 0
    assert record["measured"]["peak_process_memory_bytes"] > 1e6
    for column in record["columns"].values():
        assert column["measured"]["seconds"] > 0
        assert column["measured"]["frames_per_second"] > 0
        assert column["measured"]["peak_memory_bytes"] is None  # only a GPU can tell


def test_progress_reports_the_error_so_far(tmp_path):
    seen = []
    _, table = run(tmp_path / "run", watch=lambda *call: seen.append(call))
    assert [done for done, _, _ in seen[:3]] == [0, 4, 8]
    done, frames, errors = seen[5]
    assert frames == 42
    labels = table["labels"].to_pylist()[:done]
    for column in ALL:
        predictions = table[f"{column.id}_prediction"].to_pylist()[:done]
        wrong = sum(p not in truth for p, truth in zip(predictions, labels, strict=True))
        assert errors[column.id] == pytest.approx(100 * wrong / done)
