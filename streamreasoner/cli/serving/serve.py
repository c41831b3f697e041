"""`streamreasoner serve`: questions about a stored state by HTTP, beside a pipeline or without."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP


def serve(
    state: Annotated[
        Path, typer.Option(help="The directory of the state (state.directory of a pipeline).")
    ],
    *,
    at: Annotated[
        str | None,
        typer.Option(help=f"Stay at the end of {MOMENT_HELP}; default: follow the state."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = 9464,
    user: Annotated[
        str | None, typer.Option(help="Who may ask, by HTTP's basic login; default: everybody.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="The file with the password of this user.")
    ] = None,
    certificate_file: Annotated[
        Path | None, typer.Option(help="The server's certificate and its chain, PEM.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="The private key of the certificate, PEM.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option(help="Let other machines ask without a password.")
    ] = False,
    max_memory: Annotated[
        int, typer.Option(min=0, help="Bytes for facts and answers; 0: half of the memory.")
    ] = 0,
    question_timeout: Annotated[
        float, typer.Option(min=0.1, max=3_600, help="Seconds that an answer may take.")
    ] = 30.0,
) -> None:
    """Answer questions about a stored state by HTTP, until SIGTERM or SIGINT.

    A pipeline may be writing to the state. It is only read.
    """
    from streamreasoner.system.extras import require

    require("server", "`streamreasoner serve`")

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.cli.operation.moments import epoch_of
    from streamreasoner.config import LogConfig
    from streamreasoner.config_files import SECRET_FILE
    from streamreasoner.config_server import ServerConfig, contradictions
    from streamreasoner.errors import ConfigError
    from streamreasoner.server.listening import address, listen
    from streamreasoner.server.web.serve import Served, Server
    from streamreasoner.state.past.epochs import Past
    from streamreasoner.system.stopping import on_signals

    configure_logging(LogConfig(level="info", format="text"))
    password = None
    if password_file is not None:
        try:
            password = SECRET_FILE.read(str(password_file), Path.cwd())
        except ValueError as error:
            raise ConfigError(f"--password-file: {error}.") from None
    server = ServerConfig(
        host=host,
        port=port,
        facts=True,
        user=user,
        password=None,
        password_file=password,
        certificate_file=certificate_file,
        key_file=key_file,
        anonymous=anonymous,
        max_memory=max_memory,
        question_timeout=question_timeout,
    )
    for problem in contradictions(server):
        raise ConfigError(f"{problem}.")
    tables = state / "tables"
    past = Past(tables)
    served = Served(tables, None if at is None else epoch_of(past, at))
    with on_signals() as stop, listen(server) as place:
        print(f"Answering questions at {address(server, place)}.", file=sys.stderr)
        Server(server, served, stop).run([place])
