"""A build on a Ray cluster of two worker nodes, one of which is lost in the middle."""

import threading
import time

import pytest

from tests.builders import builds, trees
from vidc.builders.building import build
from vidc.engines import Engine

pytestmark = pytest.mark.slow

VIDEOS = {f"video_{number:02d}": 10 for number in range(12)}


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield cluster
    cluster.shutdown()


def test_a_lost_node_changes_nothing(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)
    root = trees.write_imagenet_vid(tmp_path, VIDEOS)
    here, there = tmp_path / "here", tmp_path / "there"
    build(builds.request(root, here, size=96))
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    over, lost = threading.Event(), threading.Event()
    losing = threading.Thread(
        target=_lose_in_the_middle, args=(cluster, nodes[1], there, over, lost), daemon=True
    )
    losing.start()
    engine = Engine("ray", ray_address=cluster.address)
    try:
        manifest = build(builds.request(root, there, size=96, engine=engine))
    finally:
        over.set()
        losing.join()
    assert lost.is_set()
    assert manifest is not None
    assert builds.contents(there) == builds.contents(here)


def _lose_in_the_middle(cluster, node, out, over, lost):
    """Remove a node when some shards are finished and both nodes are at work on another."""
    work = out / ".vidc"
    while not over.is_set():
        done = len(_names(work / "done"))
        if 2 <= done < len(VIDEOS) and len(_names(work / "tasks")) == 2:
            cluster.remove_node(node, allow_graceful=False)
            lost.set()
            return
        time.sleep(0.001)


def _names(folder):
    return [path.name for path in folder.glob("[!.]*")]
