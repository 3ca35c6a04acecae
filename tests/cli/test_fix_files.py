"""The files that a plan needs: written whole, with links beside them, and taken back."""

import json
from pathlib import Path

import pytest

from sgdoctor.cli.fix_files import remove_files, write_files
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan, WrittenFile
from sgdoctor.launch.model import Launch, Origin
from sgdoctor.patches.model import PatchKind, PatchSite
from sgdoctor.patches.plan import patch_plans
from sgdoctor.patches.sitecustomize import fill_layer_types, generated, register_again
from sgdoctor.texts import Text

WHY = Text("it is needed", "需要")


def plan(*files: WrittenFile) -> Plan:
    launch = Launch(Origin.COMMAND, ())
    return Plan((), launch, launch, files=files)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "sub/more.json"):
        (folder / name).write_text(name)
    return folder


def seen(folder: Path) -> dict[str, str]:
    return {one.name: str(one.readlink()) if one.is_symlink() else "" for one in sorted(folder.iterdir())}


def copy_of(model: Path, tmp_path: Path, content: bytes = b"{}") -> Plan:
    return plan(WrittenFile(str(tmp_path / "state" / "m" / "config.json"), content, WHY, str(model)))


def test_links_stand_beside_the_copy_and_go_with_it(model: Path, tmp_path: Path) -> None:
    written = write_files(copy_of(model, tmp_path), tmp_path)
    folder = tmp_path / "state" / "m"
    there = seen(folder)
    read = (folder / "sub" / "more.json").read_text()
    again = write_files(copy_of(model, tmp_path), tmp_path)
    remove_files(written)

    assert {"config.json": "", "model.safetensors": f"{model}/model.safetensors", "sub": f"{model}/sub"} == there
    assert ("sub/more.json", []) == (read, again)
    assert not (tmp_path / "state").exists()
    assert ["config.json", "model.safetensors", "sub"] == sorted(one.name for one in model.iterdir())
    assert "config.json" == (model / "config.json").read_text()


def test_links_follow_what_the_model_has_and_never_write_through(model: Path, tmp_path: Path) -> None:
    write_files(copy_of(model, tmp_path), tmp_path)
    (model / "model.safetensors").unlink()
    (model / "new.safetensors").write_text("new")
    made = write_files(copy_of(model, tmp_path), tmp_path)

    assert ["new.safetensors"] == [one.name for one in made]
    assert ["config.json", "new.safetensors", "sub"] == list(seen(tmp_path / "state" / "m"))


def test_what_the_user_put_there_is_not_overwritten(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        write_files(copy_of(model, tmp_path), tmp_path)

    assert {"config.json": ""} == seen(folder)
    assert "mine" == (folder / "config.json").read_text()


def test_a_model_that_is_gone_is_told_and_nothing_is_left(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-model: No such file"):
        write_files(copy_of(tmp_path / "no-model", tmp_path), tmp_path)

    assert not (tmp_path / "state").exists()


def test_a_start_up_file_gives_way_to_one_that_does_more_unless_somebody_edited_it(tmp_path: Path) -> None:
    path = tmp_path / "startup" / "sitecustomize.py"
    one = generated([fill_layer_types(["qwen3_next"])]).encode()
    both = generated([fill_layer_types(["qwen3_next"]), register_again("qwen3_asr")]).encode()
    first = write_files(plan(WrittenFile(str(path), one, WHY)), tmp_path)
    second = write_files(plan(WrittenFile(str(path), both, WHY)), tmp_path)
    content = path.read_bytes()
    path.write_bytes(both + b"# mine\n")
    with pytest.raises(UserError, match="exists already"):
        write_files(plan(WrittenFile(str(path), one, WHY)), tmp_path)
    # Beside a compose file another container may run with it, which loses nothing.
    (tmp_path / "sitecustomize.py").write_bytes(both)
    with pytest.raises(UserError, match="exists already"):
        write_files(plan(WrittenFile("sitecustomize.py", one, WHY)), tmp_path)
    (tmp_path / "sitecustomize.py").write_bytes(one)
    third = write_files(plan(WrittenFile("sitecustomize.py", both, WHY)), tmp_path)

    assert ([path.parent, path], [], []) == (first, second, third)
    assert both == content == (tmp_path / "sitecustomize.py").read_bytes()
    assert path.read_bytes().endswith(b"# mine\n")


def corrected(layers: int, path: str = "/models/qwen/config.json") -> Plan:
    config = {"model_type": "qwen3_5_text", "layer_types": ["linear_attention"], "num_hidden_layers": layers}
    site = PatchSite("patches", config=json.dumps(config).encode(), config_path=path)
    files = patch_plans(PatchKind.LAYER_TYPES, site)[0].files
    return plan(*(WrittenFile(f"patches/{file.name}", file.content, WHY) for file in files))


def test_a_corrected_copy_follows_its_model_unless_somebody_edited_it(tmp_path: Path) -> None:
    copy, about = (tmp_path / "patches" / name for name in ("config.json", "config.about.json"))
    write_files(corrected(4), tmp_path)
    write_files(corrected(8), tmp_path)
    followed = copy.read_bytes()
    with pytest.raises(UserError, match=r"of another model, /models/qwen/config.json; nothing was written"):
        write_files(corrected(4, "/models/other/config.json"), tmp_path)
    copy.write_bytes(followed + b"\n")
    tells = about.read_bytes()
    with pytest.raises(UserError, match=r"patches/config.json: somebody edited this corrected copy; nothing was"):
        write_files(corrected(4), tmp_path)

    assert 8 == len(json.loads(followed)["layer_types"])
    assert (followed + b"\n", tells) == (copy.read_bytes(), about.read_bytes())


def test_where_one_name_is_taken_nothing_is_replaced(tmp_path: Path) -> None:
    copy, about, startup = (tmp_path / "patches" / name for name in ("config.json", "config.about.json", "x/site.py"))
    write_files(corrected(4), tmp_path)
    before = (copy.read_bytes(), about.read_bytes())
    startup.parent.mkdir()
    startup.write_bytes(b"# mine\n")
    with pytest.raises(UserError, match=r"site\.py: exists already"):
        write_files(plan(*corrected(8).files, WrittenFile("patches/x/site.py", b"# ours\n", WHY)), tmp_path)
    taken = (copy.read_bytes(), about.read_bytes(), startup.read_bytes())
    gone = WrittenFile("patches/y/config.json", b"{}", WHY, str(tmp_path / "no-model"))
    with pytest.raises(UserError, match="no-model"):
        write_files(plan(*corrected(8).files, gone), tmp_path)

    assert (*before, b"# mine\n") == taken
    assert before == (copy.read_bytes(), about.read_bytes())
    assert not (tmp_path / "patches" / "y").exists()
