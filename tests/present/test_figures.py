"""The charts of a notebook as files."""

import base64
import io

import nbformat
from PIL import Image

from runners.present.html import write_figures
from runners.present.throughput import charts
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
