"""Writing pictures to files, the same way for every plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: File endings that a picture may have.
ENDINGS = (".png", ".svg", ".pdf")


def new_axes(width: float = 6.4, height: float = 4.8) -> Axes:
    """Return fresh axes on a figure of their own, without touching any global state.

    >>> new_axes().get_figure() is not None
    True
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("pictures need Matplotlib: pip install 'tightrope[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Axes = figure.add_subplot()
    return axes


def save_plot(plot: Callable[..., Axes], subject: Any, path: Path | str, **options: Any) -> Path:
    """Draw a subject with one of the plot functions into a PNG, SVG or PDF file.

    Parameters
    ----------
    plot
        A function ``plot(subject, ax=None, **options)`` that returns its axes.
    subject
        What to draw.
    path
        The file; its ending chooses the format. It is written whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import Cycle
    >>> from tightrope.report import plot_graph
    >>> folder = tempfile.mkdtemp()
    >>> save_plot(plot_graph, Cycle(5), f"{folder}/ring.svg").name
    'ring.svg'
    """
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"a picture must end in {', '.join(ENDINGS)}, got {target.name!r}")
    if not target.parent.is_dir():
        raise InputError(f"the folder {str(target.parent)!r} does not exist")
    figure = plot(subject, **options).get_figure()
    draft = target.with_name(f".{target.name}.part")
    try:
        figure.savefig(  # type: ignore[union-attr]
            draft,
            format=target.suffix[1:].lower(),
            dpi=200,
            metadata={"Date": None} if target.suffix.lower() == ".svg" else None,
        )
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target
