"""The charts of a notebook as files."""

import base64
import io

import nbformat
from PIL import Image, ImageChops, ImageDraw

from runners.present import charts
from runners.present.figures import write_figures
from tests.present.frames import make_sample

V4 = nbformat.v4


def executed(path, *pngs):
    outputs = [V4.new_output("display_data", data={"image/png": base64.b64encode(png).decode()}) for png in pngs]
    words = V4.new_output("display_data", data={"text/plain": "no chart"})
    nbformat.write(V4.new_notebook(cells=[V4.new_code_cell("draw()", outputs=[words, *outputs])]), path)
    return path


def test_each_chart_of_a_notebook_becomes_a_file_and_those_of_an_earlier_one_go(tmp_path):
    chart = charts.throughput(make_sample().cells).png()
    folder = tmp_path / "figures"
    write_figures(executed(tmp_path / "first.ipynb", chart, chart, chart), folder)
    paths = write_figures(executed(tmp_path / "second.ipynb", chart, chart), folder)
    assert [path.name for path in paths] == ["figure-01.png", "figure-02.png"]
    assert sorted(folder.iterdir()) == paths
    assert Image.open(io.BytesIO(paths[1].read_bytes())).size[0] > 500


def test_a_chart_with_a_palette_looks_the_same_and_is_smaller(tmp_path):
    image = Image.new("RGB", (200, 100), "white")
    ImageDraw.Draw(image).line((0, 0, 200, 100), fill="#4477aa", width=5)
    raw = io.BytesIO()
    image.save(raw, "PNG", compress_level=1)
    path = executed(tmp_path / "run.ipynb", raw.getvalue())
    [figure] = write_figures(path, tmp_path / "figures")
    assert ImageChops.difference(Image.open(figure).convert("RGB"), image).getbbox() is None
    assert figure.stat().st_size < len(raw.getvalue())
    before = path.read_bytes()
    write_figures(path, tmp_path / "figures")
    assert path.read_bytes() == before
