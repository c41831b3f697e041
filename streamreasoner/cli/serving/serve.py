"""`streamreasoner serve`: questions about a state or about files, answered by HTTP."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP
from streamreasoner.cli.options import BaseIri, GraphsOption, HeaderLine, ReadAs, readable, reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.config.secrets import Secret
    from streamreasoner.config.server import ServerConfig
    from streamreasoner.io.files.documents import Reading
    from streamreasoner.rdf.graph_mode import GraphMode

_POLL_SECONDS = 1.0

_State: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The directory of a state, in place of rules and files: that of Reasoner.open, or"
        " state.directory of a pipeline.",
        callback=readable,
    ),
]
_At: TypeAlias = Annotated[
    str | None, typer.Option(help=f"Stay at the end of {MOMENT_HELP}; default: follow the state.")
]
_User: TypeAlias = Annotated[
    str | None, typer.Option(help="Who may ask, by HTTP's basic login; default: everybody.")
]
_PasswordFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="The file with the password of this user.")
]
_CertificateFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="The server's certificate and its chain, PEM.")
]
_KeyFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="The private key of the certificate, PEM.")
]
_Anonymous: TypeAlias = Annotated[
    bool, typer.Option(help="Let other machines ask without a password.")
]
_MaxMemory: TypeAlias = Annotated[
    int, typer.Option(min=0, help="Bytes for facts and answers; 0: half of the memory.")
]
_QuestionTimeout: TypeAlias = Annotated[
    float, typer.Option(min=0.1, max=3_600, help="Seconds that an answer may take.")
]


def serve(
    rules: Annotated[
        str | None,
        typer.Argument(help="A rule file, or the name of a packaged ruleset."),
    ] = None,
    facts: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of facts, folders and archives, which are followed."),
    ] = None,
    *,
    state: _State = None,
    graphs: GraphsOption = None,
    read_as: ReadAs = None,
    header: HeaderLine = False,
    base: BaseIri = None,
    at: _At = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = 9464,
    user: _User = None,
    password_file: _PasswordFile = None,
    certificate_file: _CertificateFile = None,
    key_file: _KeyFile = None,
    anonymous: _Anonymous = False,
    max_memory: _MaxMemory = 0,
    question_timeout: _QuestionTimeout = 30.0,
) -> None:
    """Answer questions by HTTP, with a page and SPARQL, until SIGTERM or SIGINT.

    Of rules and files, what is asked is kept up to date when they change. Of a state, a pipeline or
    a reasoner may be writing to it; it is only read.
    """
    from streamreasoner.system.extras import require

    require("server", "`streamreasoner serve`")

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.cli.operation.moments import epoch_of
    from streamreasoner.config.process import LogConfig
    from streamreasoner.config.server import ServerConfig
    from streamreasoner.errors import DataError
    from streamreasoner.history.epochs import Past
    from streamreasoner.server.listening import address, listen
    from streamreasoner.server.web.serve import Served, Server
    from streamreasoner.system.stopping import on_signals

    configure_logging(LogConfig(level="info", format="text"))
    server = _checked(
        ServerConfig(
            host=host,
            port=port,
            facts=True,
            user=user,
            password=None,
            password_file=_password(password_file),
            certificate_file=certificate_file,
            key_file=key_file,
            anonymous=anonymous,
            max_memory=max_memory,
            question_timeout=question_timeout,
        )
    )
    if (rules is None) == (state is None):
        raise DataError(
            "Name what to serve: rules and files of facts, or the directory of a state with "
            "--state; not both."
        )
    if rules is not None and at is not None:
        raise DataError("--at is an end of the past of a state: use it with --state.")
    how = reading(read_as, header=header, base=base)
    with ExitStack() as stack:
        stop = stack.enter_context(on_signals())
        if state is None:
            state = stack.enter_context(_followed(str(rules), facts or [], how, graphs))
        tables = state / "tables"
        past = Past(tables)  # refused, if there is no state, before the address is taken
        served = Served(tables, None if at is None else epoch_of(past, at))
        place = stack.enter_context(listen(server))
        print(f"Answering questions at {address(server, place)}.", file=sys.stderr)
        Server(server, served, stop).run([place])


def _password(file: Path | None) -> Secret | None:
    from streamreasoner.config.secrets import SECRET_FILE
    from streamreasoner.errors import ConfigError

    if file is None:
        return None
    try:
        secret: Secret = SECRET_FILE.read(str(file), Path.cwd())
    except ValueError as error:
        raise ConfigError(f"--password-file: {error}.") from None
    return secret


def _checked(server: ServerConfig) -> ServerConfig:
    from streamreasoner.config.server import contradictions
    from streamreasoner.errors import ConfigError

    for problem in contradictions(server):
        raise ConfigError(f"{problem}.")
    return server


@contextmanager
def _followed(
    rules: str, facts: list[Path], how: Reading, graphs: GraphMode | None
) -> Iterator[Path]:
    """The directory of a state that follows rules and files, which goes when it is not served."""
    import tempfile
    import threading

    from streamreasoner.api.durable.opening import open_session
    from streamreasoner.api.following import FollowedFiles
    from streamreasoner.cli.files import tell_imported, tell_skipped
    from streamreasoner.program.load import load_program

    program = load_program(rules, graphs)
    tell_skipped(facts, how)
    with (
        tempfile.TemporaryDirectory(prefix="streamreasoner-serve-") as directory,
        closing(open_session(Path(directory), program)) as session,
    ):
        followed = FollowedFiles(session, rules, program, facts, how, graphs)
        tell_imported(session)
        ended = threading.Event()

        def follow() -> None:
            while not ended.wait(_POLL_SECONDS):
                followed.refresh()

        thread = threading.Thread(target=follow, name="follow-files")
        thread.start()
        try:
            yield Path(directory)
        finally:
            ended.set()
            thread.join()
