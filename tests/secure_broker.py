"""A broker with TLS and SCRAM beside its plaintext listener, and the settings of its clients."""

from __future__ import annotations

import socket
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from streamreasoner.io.kafka.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER = "reasoner"
PASSWORD = 'correct horse; battery "staple"'  # noqa: S105 - of a broker that lives for one test

_PROPERTIES = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},\
SASL_SSL://127.0.0.1:{secure_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://localhost:{secure_port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\\
org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PKCS12
ssl.keystore.location={keystore}
ssl.keystore.password=changeit
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
"""


@dataclass(frozen=True)
class SecureBroker:
    """A started broker.

    Attributes:
        plaintext: Address of the listener without TLS; its clients may do everything.
        port: Port of the listener with TLS and SCRAM, on localhost.
        authority: The certificate that its clients must trust, PEM.
        stranger: An unrelated certificate, PEM.
    """

    plaintext: str
    port: int
    authority: Path
    stranger: Path

    @property
    def secure(self):
        """Address of the listener with TLS and SCRAM."""
        return f"localhost:{self.port}"


@contextmanager
def secure_broker(directory: Path) -> Iterator[SecureBroker]:
    """Start a broker whose certificate is for `localhost` only, with one user."""
    keystore, authority = _certificate(directory, "broker", "localhost")
    _, stranger = _certificate(directory, "stranger", "localhost")
    with ExitStack() as stack:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        properties = _PROPERTIES.format(secure_port=port, keystore=keystore)
        broker = stack.enter_context(Broker(directory / "broker", properties))
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        user = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.alter_user_scram_credentials([user])[USER].result()
        yield SecureBroker(broker.bootstrap_servers, port, authority, stranger)


def _certificate(directory: Path, name: str, host: str) -> tuple[Path, Path]:
    """A key with a self-signed certificate: a key store, and the certificate as PEM."""
    keystore, certificate = directory / f"{name}.p12", directory / f"{name}.pem"
    store = ["-keystore", keystore, "-storetype", "PKCS12", "-storepass", "changeit"]
    new = ["-genkeypair", "-alias", name, "-dname", f"CN={host}", "-ext", f"san=dns:{host}"]
    new += ["-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2"]
    for arguments in (new, ["-exportcert", "-rfc", "-alias", name, "-file", certificate]):
        subprocess.run(["keytool", *arguments, *store], check=True, capture_output=True)
    return keystore, certificate
