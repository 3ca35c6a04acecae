"""Where panes stand: they fill the room without a gap and do not cover one another."""

from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.config import PANES
from sgdoctor.tui.arrangement import Shape, arrange, shape_of


@given(
    st.tuples(st.integers(1, 260), st.integers(1, 80)),
    st.sets(st.sampled_from(PANES), min_size=1),
    st.sampled_from(PANES),
    st.booleans(),
    st.integers(3, 30),
)
def test_panes_tile_the_room(size: tuple[int, int], shown: set[str], active: str, trouble: bool, rows: int) -> None:
    width, height = size
    shape = shape_of(width, height + 4)

    boxes = arrange(shape, width, height, shown=shown, active=active, trouble=trouble, rows=lambda _: rows)

    cells = set()
    count = 0
    for box in boxes.values():
        cells |= {(x, y) for x in range(box.x, box.x + box.width) for y in range(box.y, box.y + box.height)}
        count += box.width * box.height
    assert width * height == count == len(cells)
    assert set(boxes) <= shown
    assert shape in (Shape.TINY, Shape.SINGLE) or set(boxes) == shown


def test_shapes() -> None:
    sizes = [(20, 5), (80, 24), (120, 36), (120, 40), (200, 50), (200, 20)]

    assert [shape_of(*size) for size in sizes] == [
        Shape.TINY,
        Shape.SINGLE,
        Shape.WHOLE,
        Shape.WHOLE,
        Shape.WIDE,
        Shape.SINGLE,
    ]


def test_trouble_gives_the_diagnosis_the_room() -> None:
    calm, trouble = (
        arrange(Shape.WHOLE, 120, 32, shown=PANES, active="log", trouble=trouble, rows=lambda _: 9)
        for trouble in (False, True)
    )

    assert (
        trouble["diagnosis"].height * trouble["diagnosis"].width
        > 2 * calm["diagnosis"].height * calm["diagnosis"].width
    )
    assert trouble["log"].width == 120


def test_one_pane_at_a_time_is_the_active_one() -> None:
    assert list(arrange(Shape.SINGLE, 80, 20, shown=PANES, active="gpu", trouble=True, rows=lambda _: 9)) == ["gpu"]
