"""Models by name: downloads from a hub on this machine, the cache that huggingface_hub uses, and what goes wrong."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hub"))
from fake_hub import COMMIT, FakeHub, model_files  # noqa: E402

WEIGHTS = "model.safetensors"


@pytest.fixture
def hub(tiny):
    files = model_files(tiny)
    files |= {"README.md": b"# no need", "pytorch_model.bin": b"x" * 50_000, "onnx/model.onnx": b"x", "tf_model.h5": b"x" * 9}
    hub = FakeHub(files)
    yield hub
    hub.close()


@pytest.fixture
def environment(hub, tmp_path):
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "", "HF_HUB_CACHE": ""}


@pytest.fixture
def repository(tmp_path):
    return tmp_path / "home" / "hub" / "models--org--tiny"


def pulled_files(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def test_pull_lays_out_what_is_needed(inlay, hub, environment, repository, tiny):
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 0, done.err
    folder = pathlib.Path(done.out.strip())
    assert folder == repository / "snapshots" / COMMIT
    assert pulled_files(folder) == set(model_files(tiny))
    assert (repository / "refs" / "main").read_text() == COMMIT
    for path in pulled_files(folder):
        link = folder / path
        assert link.is_symlink() and not os.path.isabs(os.readlink(link))
        assert link.resolve() == (repository / "blobs" / hub.etag(path)).resolve()
        assert link.read_bytes() == hub.files[path]
    assert "[" in done.err and "MB" in done.err


def test_a_second_pull_fetches_nothing(inlay, hub, environment):
    assert inlay("pull", "org/tiny", env=environment).code == 0
    hub.requests.clear()
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 0
    assert [entry[2] for entry in hub.requests] == ["/api/models/org/tiny/revision/main"]


def test_model_takes_names(inlay, hub, environment, tiny, repository):
    by_folder = inlay("embed", "--model", tiny, stdin="hello world\n")
    by_name = inlay("embed", "--model", "org/tiny", stdin="hello world\n", env=environment)
    assert by_name.code == 0, by_name.err
    assert by_name.out == by_folder.out
    assert inlay("tokenize", "--model", "org/tiny@v1", "hello", env=environment).code == 0
    assert (repository / "refs" / "v1").read_text() == COMMIT
    hub.close()
    assert inlay("inspect", "org/tiny", env=environment).code == 0


@pytest.mark.parametrize("revision", ["v1", "refs/pr/1", COMMIT])
def test_revisions(inlay, environment, repository, revision):
    done = inlay("pull", f"org/tiny@{revision}", env=environment)
    assert done.code == 0, done.err
    assert (repository / "refs" / revision).exists() == (revision != COMMIT)


def test_broken_connections_are_resumed(inlay, hub, environment):
    hub.faults[WEIGHTS] = ["cut", "cut", "cut"]
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 0, done.err
    ranges = [entry[3].get("Range") for entry in hub.seen("GET", WEIGHTS) if entry[0] == "store"]
    size = len(hub.files[WEIGHTS])
    assert ranges == [None, f"bytes={size // 2}-", f"bytes={size // 2 + (size - size // 2) // 2}-", ranges[3]]


def test_an_interrupted_download_goes_on_later(inlay, hub, environment, repository):
    etag = hub.etag(WEIGHTS)
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / f"{etag}.incomplete").write_bytes(hub.files[WEIGHTS][:1234])
    assert inlay("pull", "org/tiny", env=environment).code == 0
    assert hub.seen("GET", WEIGHTS)[-1][3]["Range"] == "bytes=1234-"
    assert not list((repository / "blobs").glob("*.incomplete"))


def test_servers_without_ranges_begin_anew(inlay, hub, environment):
    hub.faults[WEIGHTS] = ["cut", "no-range"]
    assert inlay("pull", "org/tiny", env=environment).code == 0


def test_a_wrong_start_is_fetched_again(inlay, hub, environment, repository):
    etag = hub.etag(WEIGHTS)
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / f"{etag}.incomplete").write_bytes(b"\0" * 1234)
    assert inlay("pull", "org/tiny", env=environment).code == 0
    assert (repository / "blobs" / etag).read_bytes() == hub.files[WEIGHTS]


def test_wrong_contents_are_refused(inlay, hub, environment, repository):
    for path, kind in (("config.json", "git hash"), (WEIGHTS, "SHA-256")):
        hub.faults = {path: ["garbage", "garbage"]}
        done = inlay("pull", "org/tiny", env=environment)
        assert done.code == 7
        assert kind in done.err and "wanted" in done.err and path in done.err
        assert not (repository / "snapshots" / COMMIT / path).exists()
        assert not (repository / "refs" / "main").exists()


def test_more_bytes_than_promised_are_refused(inlay, hub, environment):
    hub.faults[WEIGHTS] = ["long"]
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 7 and "more than the" in done.err


def test_busy_hubs_are_asked_again(inlay, hub, environment):
    hub.busy = 2
    hub.faults["config.json"] = [500, 429]
    assert inlay("pull", "org/tiny", env=environment).code == 0


def test_missing_models_and_revisions(inlay, environment):
    done = inlay("pull", "org/other", env=environment)
    assert done.code == 3 and "404" in done.err
    done = inlay("pull", "org/tiny@none", env=environment)
    assert done.code == 3 and "Invalid rev id" in done.err
    for name in ("a/b/c", "../x", "org/tiny@../x", "org/ti--ny", "-x/y", ""):
        assert inlay("pull", f"--model={name}", env=environment).code == 2, name
    done = inlay("embed", "--model", "no-such-folder", stdin="x\n", env=environment)
    assert done.code == 3 and "neither a folder nor a model on the hub" in done.err


def test_gated_models_want_a_token(inlay, hub, environment):
    hub.gated, hub.token = True, "secret"
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 2 and "set HF_TOKEN" in done.err
    done = inlay("pull", "org/tiny", env=environment | {"HF_TOKEN": "wrong"})
    assert done.code == 2 and "conditions" in done.err and "wrong" not in done.err
    done = inlay("pull", "org/tiny", env=environment | {"HF_TOKEN": "secret"})
    assert done.code == 0, done.err
    assert all("Authorization" not in entry[3] for entry in hub.requests if entry[0] == "store")


def test_the_token_stays_with_the_hub(inlay, hub, environment):
    hub.gated, hub.token, hub.store_host = True, "secret", "localhost"
    hub.faults[WEIGHTS] = ["cut"]
    done = inlay("pull", "org/tiny", env=environment | {"HF_TOKEN": "secret"})
    assert done.code == 0, done.err
    elsewhere = [entry for entry in hub.requests if entry[0] == "store"]
    assert len(elsewhere) == 2
    assert not any("secret" in str(entry) for entry in elsewhere)


def test_a_file_that_changed_meanwhile_is_fetched_as_a_whole(inlay, hub, environment, repository):
    old = hub.files[WEIGHTS]
    hub.faults[WEIGHTS] = ["cut", 404]
    assert inlay("pull", "org/tiny", env=environment).code == 3
    rest = repository / "blobs" / f"{hub.etag(WEIGHTS)}.incomplete"
    assert rest.read_bytes() == old[: len(old) // 2]
    hub.files[WEIGHTS] = new = old[:-1] + bytes([old[-1] ^ 1])
    hub.commit = "f" * 40
    hub.requests.clear()
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 0, done.err
    assert (pathlib.Path(done.out.strip()) / WEIGHTS).read_bytes() == new
    assert [entry[3].get("Range") for entry in hub.seen("GET", WEIGHTS)] == [None, None]  # the hub, then the store


def test_a_file_that_changes_behind_its_etag_is_refused(inlay, hub, environment, repository):
    """What is there belongs to the promised file, what comes now to another one."""
    good = hub.files[WEIGHTS]
    hub.etags[WEIGHTS] = etag = hub.etag(WEIGHTS)
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / f"{etag}.incomplete").write_bytes(good[:1234])
    hub.files[WEIGHTS] = bytes(len(good))
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 7 and "SHA-256" in done.err
    assert not (repository / "blobs" / etag).exists()


def test_a_full_disk_is_said_at_once(inlay, hub, environment, repository):
    (repository / "blobs").mkdir(parents=True)
    rest = repository / "blobs" / f"{hub.etag(WEIGHTS)}.incomplete"
    rest.symlink_to("/dev/full")
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 5 and "cannot write: No space left on device" in done.err
    assert len(hub.seen("GET", WEIGHTS)) <= 2  # the hub and the store, once
    assert not (repository / "refs" / "main").exists()


def test_a_file_larger_than_the_disk_is_not_begun(inlay, hub, environment):
    hub.sizes[WEIGHTS] = 10**17
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 5 and "bytes free" in done.err
    assert not hub.seen("GET", WEIGHTS)


@pytest.mark.parametrize("linked", ["", "models--org--tiny/blobs"])
def test_caches_behind_links(inlay, hub, environment, tmp_path, tiny, linked):
    """The cache, or the large files in it, on another disk."""
    (tmp_path / "disk").mkdir()
    link = tmp_path / "home" / "hub" / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "disk")
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 0, done.err
    folder = pathlib.Path(done.out.strip())
    assert all((folder / path).read_bytes() == data for path, data in model_files(tiny).items())
    hub.requests.clear()
    assert inlay("pull", "org/tiny", env=environment).code == 0
    assert len(hub.requests) == 1


def test_offline_with_a_file_missing(inlay, hub, environment, repository):
    assert inlay("pull", "org/tiny", env=environment).code == 0
    offline = environment | {"HF_HUB_OFFLINE": "1"}
    (repository / "blobs" / hub.etag(WEIGHTS)).unlink()  # its link stays
    done = inlay("embed", "--model", "org/tiny", stdin="hello\n", env=offline)
    assert done.code != 0 and WEIGHTS in done.err
    hub.requests.clear()
    assert inlay("embed", "--model", "org/tiny", stdin="hello\n", env=environment).code == 0
    assert hub.seen("GET", WEIGHTS)


@pytest.mark.parametrize("listing", [b"", b"[]", b"{}", b'{"sha": "../../x", "siblings": []}', b'{"sha": "' + b"0" * 40 + b'"}',
                                     b'{"sha": "' + b"0" * 40 + b'", "siblings": [{"name": "a"}]}'])
def test_listings_that_say_nothing(inlay, hub, environment, repository, listing):
    hub.listing = listing
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code in (3, 7) and "/api/models/org/tiny" in done.err
    assert not repository.exists()


@pytest.mark.parametrize("etag", ["", "../../x", "a/b", ".hidden"])
def test_etags_that_are_no_names_are_refused(inlay, hub, environment, repository, etag):
    hub.etags["config.json"] = etag
    done = inlay("pull", "org/tiny", env=environment)
    assert done.code == 4 and "no usable ETag" in done.err
    assert not (repository / "snapshots" / COMMIT / "config.json").exists()


def test_offline(inlay, hub, environment):
    offline = environment | {"HF_HUB_OFFLINE": "1"}
    done = inlay("pull", "org/tiny", env=offline)
    assert done.code == 3 and "HF_HUB_OFFLINE" in done.err
    assert inlay("pull", "org/tiny", env=environment).code == 0
    hub.requests.clear()
    assert inlay("embed", "--model", "org/tiny", stdin="hello\n", env=offline).code == 0
    assert not hub.requests


def test_paths_that_leave_the_folder_are_left_out(inlay, hub, environment, tmp_path):
    hub.files["../../../../config.json"] = b"{}"
    hub.files["/tmp/model.safetensors"] = b"x"
    assert inlay("pull", "org/tiny", env=environment).code == 0
    assert not (tmp_path / "config.json").exists()


def test_huggingface_hub_reads_what_was_pulled(inlay, hub, environment, monkeypatch):
    hugging_face = pytest.importorskip("huggingface_hub")
    folder = inlay("pull", "org/tiny", env=environment).out.strip()
    cache = pathlib.Path(environment["HF_HOME"]) / "hub"
    for path in ("config.json", WEIGHTS, "1_Pooling/config.json"):
        found = hugging_face.try_to_load_from_cache("org/tiny", path, cache_dir=cache)
        assert found == os.path.join(folder, path)
        assert hugging_face.hf_hub_download("org/tiny", path, cache_dir=cache, local_files_only=True) == found
    info = hugging_face.scan_cache_dir(cache)
    assert not info.warnings
    (repository,) = info.repos
    assert repository.repo_id == "org/tiny" and repository.size_on_disk == sum(len(hub.files[p]) for p in pulled_files(folder))


def test_what_huggingface_hub_fetched_is_not_fetched_again(inlay, hub, environment):
    hugging_face = pytest.importorskip("huggingface_hub")
    cache = pathlib.Path(environment["HF_HOME"]) / "hub"
    for path in ("config.json", WEIGHTS):
        hugging_face.hf_hub_download("org/tiny", path, cache_dir=cache, endpoint=hub.url, token=False)
    hub.requests.clear()
    assert inlay("pull", "org/tiny", env=environment).code == 0
    assert not hub.seen(part=WEIGHTS) and not hub.seen(part=f"{COMMIT}/config.json")
