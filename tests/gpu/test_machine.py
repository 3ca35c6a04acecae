"""What kind of machine it is, by its files."""

from pathlib import Path

from sgdoctor.gpu.machine import Machine, this_machine


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_nothing_to_read(tmp_path: Path) -> None:
    assert Machine() == this_machine(tmp_path)


def test_a_desktop_with_two_cards_and_the_sound_device_of_one(tmp_path: Path) -> None:
    for address, vendor, kind in (
        ("01:00.0", "0x10de", "0x030000"),
        ("01:00.1", "0x10de", "0x040300"),
        ("02:00.0", "0x10de", "0x030200"),
        ("00:02.0", "0x8086", "0x030000"),
    ):
        put(tmp_path, f"sys/bus/pci/devices/0000:{address}/vendor", f"{vendor}\n")
        put(tmp_path, f"sys/bus/pci/devices/0000:{address}/class", f"{kind}\n")
    put(tmp_path, "proc/self/ns/x", "")
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026531836]")

    assert Machine(cards=2) == this_machine(tmp_path)


def test_wsl(tmp_path: Path) -> None:
    put(tmp_path, "proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")

    assert Machine(wsl=True) == this_machine(tmp_path)


def test_a_container_with_process_numbers_of_its_own(tmp_path: Path) -> None:
    put(tmp_path, ".dockerenv", "")
    put(tmp_path, "proc/self/ns/x", "")
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532281]")

    assert Machine(contained=True, own_pids=True) == this_machine(tmp_path)
