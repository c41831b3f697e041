"""The demo's directory: nothing of anybody else is used."""

from __future__ import annotations

import re

import pytest

from streamreasoner.demo.configuration import configure
from streamreasoner.demo.page import choose_address
from streamreasoner.demo.plain import PlainView
from streamreasoner.demo.run import run
from streamreasoner.demo.stream import Options
from streamreasoner.errors import ConfigError, EnvironmentSetupError


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (".", ConfigError, "is not empty. Choose another one."),
        ("mine.txt", EnvironmentSetupError, "cannot be used: File exists."),
        ("mine.txt/below", EnvironmentSetupError, "cannot be used: Not a directory."),
    ],
)
def test_a_directory_in_use_is_refused_before_anything_starts(
    tmp_path, capsys, name, error, message
):
    """With one message, without output, and unchanged."""
    (tmp_path / "mine.txt").write_text("mine")
    state = tmp_path / name

    with pytest.raises(error, match=re.escape(f"The directory {state} (--state) {message}")):
        run(Options(1, 1, 0, state), PlainView())
    assert capsys.readouterr().out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_pipeline_of_a_kept_demo_can_go_on(tmp_path):
    """The refusal of its directory says how, with the port that its configuration has."""
    page = choose_address()
    configure(tmp_path / "pipeline.toml", "127.0.0.1:4711", page)

    with pytest.raises(ConfigError) as refused:
        run(Options(1, 1, 0, tmp_path), PlainView())

    assert f"broker --directory {tmp_path / 'kafka'} --port 4711`" in str(refused.value)
    assert f"run --config {tmp_path / 'pipeline.toml'}`" in str(refused.value)
