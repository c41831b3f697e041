"""Install a wheel in new environments and use it. Invariant: an extra is enough for its commands.

Run it with `python3 scripts/try_wheel.py dist/streamreasoner-*.whl`, from the root of the
repository. It needs the network and Java, and takes some minutes: kernels are compiled anew.

1. Next to other versions of numpy, pandas and PySpark than the locked ones, which stay as they are,
   the Python example of the README and the commands on files run without the extras.
2. With the extra `pipeline`, a pipeline runs on a broker of its own: facts in, derived facts out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
OTHERS: Final = ("numpy==2.0.2", "pandas==2.2.3", "pyspark==3.5.7")
"""Versions that differ from the locked ones, and of which an extra would refuse the last."""
PORT: Final = 19_092
RULES: Final = """
@input parent/2 .
ancestor(?x, ?y) :- parent(?x, ?y) .
ancestor(?x, ?z) :- ancestor(?x, ?y), parent(?y, ?z) .
@output ancestor .
"""
FACTS: Final = "<urn:ann>,<urn:bob>\n<urn:bob>,<urn:cid>\n"
CONFIG: Final = f"""
[kafka]
bootstrap_servers = "127.0.0.1:{PORT}"
input_topics = ["family"]
output_topic = "derived"
[rules]
program = "rules.dl"
[state]
directory = "state"
"""
UNUSED: Final = ("confluent_kafka", "kafka", "prometheus_client", "pyspark", "starlette")


class Environment:
    """A new virtual environment, and a folder to work in.

    Args:
        folder: Where both are made.
    """

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", with_pip=True)
        self.folder = folder
        self._bin = folder / "venv/bin"
        # Neither packages nor kernels of the project's own environment are found.
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        } | {"NUMBA_CACHE_DIR": str(folder / "kernels")}
        for name, text in (
            *(("rules.dl", RULES), ("parent.csv", FACTS), ("pipeline.toml", CONFIG)),
            ("example.py", example((ROOT / "README.md").read_text("utf-8"))),
        ):
            (folder / name).write_text(text, encoding="utf-8")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command of the environment."""
        return subprocess.Popen(
            [self._bin / words[0], *words[1:]],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, code: int = 0) -> str:
        """What a command prints; it must exit as expected."""
        print("$", *words, flush=True)
        with self.start(*words) as process:
            output, errors = process.communicate()
        if process.returncode != code:
            sys.exit(f"{words[0]} exited with {process.returncode}:\n{output}{errors}")
        return output if code == 0 else errors

    def install(self, *what: str) -> None:
        """Install distributions."""
        self.run("python", "-m", "pip", "install", "--quiet", *what)

    def versions(self) -> dict[str, str]:
        """What is installed."""
        listed = json.loads(self.run("python", "-m", "pip", "list", "--format", "json"))
        return {each["name"]: each["version"] for each in listed}


def example(readme: str) -> str:
    """The Python example of the README, and a check of what it imports."""
    [text] = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    return f"{text}\nimport sys\nassert not [each for each in {UNUSED} if each in sys.modules]\n"


def try_base(folder: Path, wheel: str) -> None:
    """The package without extras, next to other versions of what others need."""
    environment = Environment(folder)
    environment.install(*OTHERS)
    before = environment.versions()
    environment.install(wheel)
    after = environment.versions()
    changed = {name for name in before if before[name] != after.get(name)}
    if changed:
        sys.exit(f"The wheel changed {', '.join(sorted(changed))}.")
    environment.run("python", "-m", "pip", "check")
    environment.run("python", "example.py")
    found = environment.run("streamreasoner", "materialize", "rules.dl", "parent.csv", "--print")
    if "ancestor(<urn:ann>, <urn:cid>)" not in found:
        sys.exit(f"materialize does not print what follows:\n{found}")
    told = environment.run("streamreasoner", "run", "--config", "pipeline.toml", code=1)
    if "pip install 'streamreasoner[pipeline]'" not in told:
        sys.exit(f"run does not say what to install:\n{told}")


def try_pipeline(folder: Path, wheel: str) -> None:
    """The package with the extra `pipeline`."""
    environment = Environment(folder)
    environment.install(f"{wheel}[pipeline]")
    config = ("--config", "pipeline.toml")
    with environment.start(
        "streamreasoner", "broker", "--directory", "kafka", "--port", str(PORT)
    ) as broker:
        try:
            assert broker.stdout is not None  # noqa: S101 - it is a pipe
            print(broker.stdout.readline(), end="", flush=True)
            environment.run("streamreasoner", "topics", "create", *config)
            environment.run("streamreasoner", "produce", "parent.csv", *config)
            with environment.start("streamreasoner", "run", *config) as pipeline:
                try:
                    words = ("consume", "--from-beginning", "--count", "3", *config)
                    found = environment.run("streamreasoner", *words)
                finally:
                    pipeline.terminate()
                    _, errors = pipeline.communicate()
        finally:
            broker.terminate()
    if pipeline.returncode != 0 or found.count("ancestor") != len(FACTS.splitlines()) + 1:
        sys.exit(f"The pipeline exited with {pipeline.returncode}:\n{found}{errors}")


def main() -> int:
    """Try the wheel that the command line names."""
    wheel = str(Path(sys.argv[1]).resolve())
    for attempt in (try_base, try_pipeline):
        with tempfile.TemporaryDirectory() as folder:
            attempt(Path(folder), wheel)
    print(f"{Path(wheel).name}: works in new environments, without extras and with `pipeline`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
