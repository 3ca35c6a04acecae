"""Plans of patches: the order of preference, the files, the edits of the launch."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.launch.change import KINDS, Change
from sgdoctor.patches.copies import why_kept
from sgdoctor.patches.model import Means, PatchKind, PatchPlan, PatchSite
from sgdoctor.patches.plan import STARTUP_FOLDER, combined, joined_pythonpath, patch_plans
from sgdoctor.patches.sitecustomize import FileState, fill_layer_types, generated, register_again, verify

SHORT = ["linear_attention"] * 3 + ["full_attention"]
PATH = "/models/qwen/config.json"


def moe(**text: Any) -> bytes:
    config = {"model_type": "qwen3_5_moe_text", "layer_types": SHORT, "num_hidden_layers": 8, **text}
    return json.dumps({"model_type": "qwen3_5_moe", "text_config": config}).encode()


def means(kind: PatchKind, **site: Any) -> list[Means]:
    plans = patch_plans(kind, PatchSite(folder="/srv/patches", **site))
    for plan in plans:
        assert all(text.en and text.zh for text in (plan.why, plan.effect, plan.verify, plan.undo))
        assert all(change.kind in KINDS for change in plan.changes)
    return [plan.means for plan in plans]


def best(kind: PatchKind, **site: Any) -> PatchPlan:
    return patch_plans(kind, PatchSite(folder="/srv/patches", **site))[0]


def test_a_process_gets_a_folder_of_links_where_a_container_has_a_mount() -> None:
    named = best(PatchKind.LAYER_TYPES, config=moe(), config_path=PATH, bare=True, serves_as="qwen")
    unnamed = best(PatchKind.LAYER_TYPES, config=moe(), config_path=PATH, bare=True)
    other = best(PatchKind.LAYER_TYPES, config=moe(), config_path="/models/other/config.json", bare=True)
    about, copy = named.files
    path, name = named.changes

    assert [("flag.set", "--model-path"), ("flag.set", "--served-model-name", "qwen")] == [path[:2], name]
    assert path.value == f"/srv/patches/{copy.name}".removesuffix("/config.json")
    assert path.value.endswith("/qwen")
    assert ("/models/qwen", "") == (copy.among, about.among)
    assert [path] == list(unnamed.changes)
    # Another model is another folder, even where the corrected copies are the same.
    assert other.files[1].content == copy.content
    assert path.value not in (other.changes[0].value, None)
    assert why_kept(about.content, copy.content, about.content) is None
    for text in (named.why, named.undo):
        assert path.value in text.en
        assert path.value in text.zh


def test_a_process_gets_a_start_up_file_through_its_own_environment() -> None:
    types = patch_plans(PatchKind.MODEL_TYPE, PatchSite("/srv", model_type="qwen3_asr", bare=True, pythonpath="/app"))[
        -1
    ]
    layers = patch_plans(PatchKind.LAYER_TYPES, PatchSite("/srv", config=moe(), bare=True, pythonpath="/app"))[-1]
    files, changes = combined([types, layers])

    assert [Change("env.set", "PYTHONPATH", "/srv/startup:/app")] == list(changes)
    assert ["startup/sitecustomize.py"] == [file.name for file in files]
    assert 2 == len(verify(files[0].content).patches)


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        pytest.param({"config": moe(), "config_path": PATH}, [Means.DATA, Means.SITECUSTOMIZE], id="all known"),
        pytest.param({"config": moe()}, [Means.SITECUSTOMIZE], id="place unknown"),
        pytest.param({"model_type": "qwen3_5_moe"}, [Means.SITECUSTOMIZE], id="only the type known"),
        pytest.param({"model_type": "gemma3"}, [], id="type without a rule of its own"),
        pytest.param({}, [], id="nothing known"),
        pytest.param({"config": moe(), "config_path": PATH, "sglang": "0.5.10"}, [Means.DATA], id="older check"),
        pytest.param({"config": moe(num_hidden_layers=4), "config_path": PATH}, [], id="nothing wrong"),
        pytest.param({"config": moe(num_hidden_layers=2), "config_path": PATH}, [Means.DATA], id="too long"),
        pytest.param({"config": moe(full_attention_interval=3), "config_path": PATH}, [], id="not determined"),
        pytest.param(
            {"config": moe(model_type="olmo_hybrid", full_attention_interval=4), "config_path": PATH},
            [Means.DATA],
            id="another family",
        ),
    ],
)
def test_layers_are_put_right_by_data_first(site: dict[str, Any], expected: list[Means]) -> None:
    assert expected == means(PatchKind.LAYER_TYPES, **site)


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        pytest.param({"model_type": "qwen3_asr"}, [Means.UPGRADE, Means.SITECUSTOMIZE], id="no version known"),
        pytest.param(
            {"model_type": "qwen3_asr", "sglang": "0.5.15", "transformers": "5.17.0"},
            [Means.UPGRADE, Means.PIN, Means.SITECUSTOMIZE],
            id="versions known",
        ),
        pytest.param(
            {"model_type": "qwen3_asr", "sglang": "0.5.15", "transformers": "5.12.1"},
            [Means.UPGRADE],
            id="pin is there",
        ),
        pytest.param({"model_type": "qwen3_asr", "sglang": "0.5.22"}, [Means.PIN], id="engine with the fix"),
        pytest.param(
            {"model_type": "aimv2", "sglang": "0.5.15", "transformers": "5.13.0"},
            [Means.PIN, Means.SITECUSTOMIZE],
            id="another type",
        ),
        pytest.param({}, [], id="type unknown"),
    ],
)
def test_a_type_registered_twice_is_cured_by_versions_first(site: dict[str, Any], expected: list[Means]) -> None:
    assert expected == means(PatchKind.MODEL_TYPE, **site)


def test_the_repaired_copy_is_mounted_over_the_original() -> None:
    plan = best(PatchKind.LAYER_TYPES, config=moe(), config_path=PATH)

    assert (Change("file.mount", PATH, "/srv/patches/config.json"),) == plan.changes
    assert ["config.json", "config.about.json"] == [file.name for file in plan.files]
    copy = plan.files[0].content
    assert SHORT * 2 == json.loads(copy)["text_config"]["layer_types"]
    assert sha256(copy).hexdigest()[:12] in plan.verify.en
    assert "safe" == plan.safety


def test_a_corrected_copy_is_made_anew_unless_it_was_edited_or_is_of_another_model() -> None:
    copy, about = (file.content for file in best(PatchKind.LAYER_TYPES, config=moe(), config_path=PATH).files)
    later = best(PatchKind.LAYER_TYPES, config=moe(num_hidden_layers=12), config_path=PATH).files[1].content
    other = best(PatchKind.LAYER_TYPES, config=moe(), config_path="/models/other/config.json").files[1].content

    assert why_kept(about, copy, about) is None
    assert why_kept(about, copy, later) is None
    edited, moved, foreign, alone = (
        why_kept(about, copy + b"\n", about),
        why_kept(about, copy, other),
        why_kept(b"[]", copy, about),
        why_kept(b"", copy, about),
    )
    assert edited is not None
    assert "edited" in edited.en
    assert moved is not None
    assert f"of another model, {PATH}" in moved.en
    assert foreign is not None
    assert foreign == alone
    assert "config.about.json" in foreign.en


def test_what_only_continues_a_list_is_to_be_confirmed() -> None:
    config = {
        "model_type": "gpt_oss",
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_hidden_layers": 8,
    }

    plan = best(PatchKind.LAYER_TYPES, config=json.dumps(config).encode(), config_path=PATH)

    assert "unsafe" == plan.safety
    assert "compare it with the original model" in plan.effect.en


def test_a_snapshot_of_the_hub_cache_is_explained() -> None:
    path = "/root/.cache/huggingface/hub/models--a--b/snapshots/0123/config.json"

    plan = best(PatchKind.LAYER_TYPES, config=moe(), config_path=path)

    assert path == plan.changes[0].name
    assert "snapshot" in plan.effect.en
    assert "snapshot" in plan.effect.zh


def test_the_start_up_file_is_mounted_and_found_by_python() -> None:
    plan = best(PatchKind.LAYER_TYPES, model_type="qwen3_5", pythonpath="/app:/more")

    assert (
        Change("file.mount", "/opt/sgdoctor/startup/sitecustomize.py", "/srv/patches/sitecustomize.py"),
        Change("env.set", "PYTHONPATH", "/opt/sgdoctor/startup:/app:/more"),
    ) == plan.changes
    assert FileState.OURS is verify(plan.files[0].content).state
    assert "unsafe" == plan.safety


def test_plans_of_several_kinds_share_one_start_up_file() -> None:
    layers = best(PatchKind.LAYER_TYPES, model_type="qwen3_5")
    types = patch_plans(PatchKind.MODEL_TYPE, PatchSite(folder="/srv/patches", model_type="qwen3_asr"))[-1]

    files, changes = combined([layers, types])

    assert layers.changes == types.changes == changes
    assert ["sitecustomize.py"] == [file.name for file in files]
    assert ["layer_types of qwen3_5, qwen3_5_text", "register qwen3_asr"] == [
        label for label, _ in verify(files[0].content).patches
    ]


@pytest.mark.parametrize("bare", [False, True])
def test_a_start_up_file_keeps_what_it_did_before(bare: bool) -> None:
    before = generated([register_again("aimv2"), fill_layer_types(["qwen3_next"])]).encode()
    site = PatchSite("/srv", model_type="qwen3_asr", bare=bare, startup=(before, before))
    plan = patch_plans(PatchKind.MODEL_TYPE, site)[-1]
    layers = patch_plans(PatchKind.LAYER_TYPES, replace(site, model_type="qwen3_5"))[-1]
    (file,) = plan.files
    (both,), _ = combined([plan, layers])

    labels = ["register aimv2", "layer_types of qwen3_next", "register qwen3_asr"]
    assert labels == [label for label, _ in verify(file.content).patches]
    assert [*labels, "layer_types of qwen3_5, qwen3_5_text"] == [label for label, _ in verify(both.content).patches]
    for text in (plan.effect.en, plan.effect.zh):
        assert "register aimv2, layer_types of qwen3_next" in text
    # The same failure again adds nothing.
    again = patch_plans(PatchKind.MODEL_TYPE, replace(site, startup=(file.content,)))[-1]
    assert set(labels) == {label for label, _ in verify(again.files[0].content).patches}


@pytest.mark.parametrize("before", [b"", b"import sys\n", generated([register_again("aimv2")]).encode() + b"# mine\n"])
def test_nothing_is_taken_from_a_file_that_was_edited_or_is_foreign(before: bytes) -> None:
    plan = patch_plans(PatchKind.MODEL_TYPE, PatchSite("/srv", model_type="qwen3_asr", startup=(before,)))[-1]

    assert ["register qwen3_asr"] == [label for label, _ in verify(plan.files[0].content).patches]


_AUTO = """
class Mapping:
    def __init__(self):
        self.types = {"aimv2", "bert", "other"}

    def register(self, key, value, exist_ok=False):
        if key in self.types and not exist_ok:
            raise ValueError(key)


CONFIG_MAPPING = Mapping()
"""
_REGISTER = """
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

for name in ("aimv2", "bert", "other"):
    try:
        CONFIG_MAPPING.register(name, None)
        print(name)
    except ValueError:
        print("not", name)
"""


def test_two_patches_of_one_kind_work_in_one_file(tmp_path: Path) -> None:
    auto = tmp_path / "transformers" / "models" / "auto"
    auto.mkdir(parents=True)
    (tmp_path / "transformers" / "__init__.py").write_text('__version__ = "5.17.0"\n')
    (auto / "configuration_auto.py").write_text(_AUTO)
    (tmp_path / "sitecustomize.py").write_text(generated([register_again("aimv2"), register_again("bert")]))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", _REGISTER], env=environment, capture_output=True, text=True, check=True)

    assert ["aimv2", "bert", "not other"] == ran.stdout.splitlines()
    assert ["register aimv2 applied", "register bert applied"] == [
        line.removeprefix("sgdoctor patch: ").partition(" (")[0] for line in ran.stderr.splitlines()
    ]


def test_a_repaired_copy_and_a_start_up_file_stand_beside_each_other() -> None:
    layers = best(PatchKind.LAYER_TYPES, config=moe(), config_path=PATH)
    types = patch_plans(PatchKind.MODEL_TYPE, PatchSite(folder="/srv/patches", model_type="qwen3_asr"))[-1]

    files, changes = combined([layers, types])

    assert (*layers.changes, *types.changes) == changes
    assert (*layers.files, *types.files) == files


@pytest.mark.parametrize(
    ("present", "joined"),
    [
        (None, STARTUP_FOLDER),
        ("", STARTUP_FOLDER),
        ("/app", f"{STARTUP_FOLDER}:/app"),
        (f"/app:{STARTUP_FOLDER}", f"{STARTUP_FOLDER}:/app"),
        (f"{STARTUP_FOLDER}:/app", f"{STARTUP_FOLDER}:/app"),
    ],
)
def test_pythonpath_keeps_what_it_had(present: str | None, joined: str) -> None:
    assert joined == joined_pythonpath(present)


def test_a_generated_file_is_known_again() -> None:
    text = generated([register_again("qwen3_asr"), fill_layer_types(["qwen3_5_text"])])

    ours = verify(text.encode())

    assert FileState.OURS is ours.state
    assert ours.current
    assert (
        ("register qwen3_asr", "transformers>=5.13,<6; sglang>=0.5.11,<0.5.20"),
        ("layer_types of qwen3_5_text", "transformers>=5.4,<6"),
    ) == ours.patches


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import sys\n", "import sys\nimport os\n"),
        ("# patch: register", "# patch: regist"),
        ("\n", "\r\n"),
        ("# sha256: ", "# sha256 "),
        ("written by sgdoctor ", "written by sgdoctor 9"),
    ],
)
def test_an_edited_file_is_told_from_a_generated_one(old: str, new: str) -> None:
    text = generated([register_again("qwen3_asr")])

    assert FileState.EDITED is verify(text.replace(old, new, 1).encode()).state


@pytest.mark.parametrize("content", [b"", b"import sys\n", b"\xff\xfe", b"# sitecustomize.py, written by me\n"])
def test_a_foreign_file_is_told_as_such(content: bytes) -> None:
    verified = verify(content)

    assert FileState.FOREIGN is verified.state
    assert not verified.current


@pytest.mark.parametrize("name", ["", "a b", "x'); import os; ('", "a\nb", "é", "x" * 61, "-x"])
def test_only_names_of_model_types_get_into_code(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a model type"):
        register_again(name)
    with pytest.raises(ValueError, match="not the name of a model type"):
        fill_layer_types([name])
