"""A broker with every kind of login alongside its plaintext listener, and what its clients need.

Access is denied unless an ACL grants it, except to clients of the plaintext listener.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from free_ports import free_port
from pipelines import eventually
from token_endpoint import TokenEndpoint, openssl, token_endpoint

from streamreasoner.io.kafka.access.rights import Resource
from streamreasoner.io.kafka.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER = "reasoner"
PASSWORD = 'correct horse; battery \\ "staple"'  # noqa: S105 - of a broker that lives for one test
KEY_PASSWORD = "a key's staple"  # noqa: S105 - as above

_LOGIN = "org.apache.kafka.common.security"
_PROPERTIES = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},\
SASL_SSL://127.0.0.1:{login_port},MTLS://127.0.0.1:{mtls_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://localhost:{login_port},\
MTLS://localhost:{mtls_port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,MTLS:SSL
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.sasl_ssl.plain.sasl.jaas.config={login}.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=\
{login}.oauthbearer.OAuthBearerLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class=\
{login}.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer.jwks.endpoint.url={keys}
listener.name.mtls.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={client}
ssl.principal.mapping.rules=RULE:^CN=(.*)$/$1/
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=false
"""


@dataclass(frozen=True)
class SecureBroker:
    """A started broker.

    Attributes:
        plaintext: Address of the listener without TLS; its clients may do everything.
        port: Port of the listener with TLS and a login, on localhost.
        mtls_port: Port of the listener that asks for a client certificate, on localhost.
        authority: The certificate that its clients must trust, PEM.
        stranger: An unrelated certificate, PEM.
        certificate: That of a client whose name is the user's, PEM.
        key: Its private key, PEM, encrypted with `KEY_PASSWORD`.
        plain_key: The same, not encrypted.
        tokens: Where clients of OAUTHBEARER get their tokens.
    """

    plaintext: str
    port: int
    mtls_port: int
    authority: Path
    stranger: Path
    certificate: Path
    key: Path
    plain_key: Path
    tokens: TokenEndpoint

    @property
    def secure(self):
        """Address of the listener with TLS and a login."""
        return f"localhost:{self.port}"

    @property
    def mtls(self):
        """Address of the listener that asks for a client certificate."""
        return f"localhost:{self.mtls_port}"

    @property
    def admin(self):
        """A client that may do everything."""
        return AdminClient({"bootstrap.servers": self.plaintext})


_KINDS = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}


def grant(broker, rights, permission=AclPermissionType.ALLOW):
    """Grant rights to the user, or deny them; returns when the broker knows it."""
    admin = broker.admin  # a client that is dropped does not answer
    acls = [AclBinding(*_acl(right), permission) for right in rights]
    for answer in admin.create_acls(acls).values():
        answer.result()
    for right in rights:
        eventually(lambda right=right: _exists(admin, right, permission), expected=True, every=0.01)


def revoke(broker, rights):
    """Revoke rights of the user; returns when the broker knows it."""
    admin = broker.admin
    for right in rights:
        found = AclBindingFilter(*_acl(right), AclPermissionType.ALLOW)
        admin.delete_acls([found])[found].result()
        eventually(
            lambda right=right: _exists(admin, right, AclPermissionType.ALLOW),
            expected=False,
            every=0.01,
        )


def _exists(admin, right, permission):
    return bool(admin.describe_acls(AclBindingFilter(*_acl(right), permission)).result())


def _acl(right):
    """Resource, principal, host and operation of a right."""
    pattern = ResourcePatternType.PREFIXED if right.prefixed else ResourcePatternType.LITERAL
    operation = re.sub("(?<!^)(?=[A-Z])", "_", right.operation).upper()
    place = _KINDS[right.resource], right.name, pattern
    return *place, f"User:{USER}", "*", AclOperation[operation]


@contextmanager
def secure_broker(directory: Path) -> Iterator[SecureBroker]:
    """Start a broker whose certificate is for `localhost` only, with one user."""
    keys = {name: certificate(directory, name, cn) for name, cn in NAMES.items()}
    both = directory / "broker-both.pem"
    both.write_text("".join(file.read_text() for file in keys["broker"]))
    with ExitStack() as stack:
        tokens = stack.enter_context(token_endpoint(directory, USER, PASSWORD))
        login_port, mtls_port = free_port(), free_port()
        properties = _PROPERTIES.format(
            login=_LOGIN,
            login_port=login_port,
            mtls_port=mtls_port,
            user=USER,
            # Once for the JAAS configuration, once for the file of properties.
            password=PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\"),
            keys=tokens.keys.as_uri(),
            keystore=both,
            client=keys["client"][1],
        )
        with _java_option(
            f"-D{_LOGIN.removesuffix('.common.security')}"
            f".sasl.oauthbearer.allowed.urls={tokens.keys.as_uri()}"
        ):
            broker = stack.enter_context(Broker(directory / "broker", properties))
        started = SecureBroker(
            broker.bootstrap_servers,
            login_port,
            mtls_port,
            authority=keys["broker"][1],
            stranger=keys["stranger"][1],
            certificate=keys["client"][1],
            key=encrypted(keys["client"][0]),
            plain_key=keys["client"][0],
            tokens=tokens,
        )
        admin = started.admin  # a client that is dropped does not answer
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            credential = ScramCredentialInfo(kind, 4096)
            user = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
            admin.alter_user_scram_credentials([user])[USER].result()
        yield started


NAMES = {"broker": "localhost", "stranger": "localhost", "client": USER}


def certificate(directory: Path, name: str, host: str) -> tuple[Path, Path]:
    """A new private key and its self-signed certificate, PEM."""
    key, file = directory / f"{name}-key.pem", directory / f"{name}.pem"
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
    new += ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-days", "2"]
    openssl(*new, "-keyout", key, "-out", file)
    return key, file


def encrypted(key: Path) -> Path:
    """The same private key, encrypted with `KEY_PASSWORD`."""
    file = key.with_stem(f"{key.stem}-encrypted")
    how = ["pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{KEY_PASSWORD}"]
    openssl(*how, "-in", key, "-out", file)
    return file


@contextmanager
def _java_option(option: str) -> Iterator[None]:
    """Start Java with an option, which a broker's properties cannot contain."""
    before = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = f"{before or ''} {option}"
    try:
        yield
    finally:
        del os.environ["JDK_JAVA_OPTIONS"]
        if before is not None:
            os.environ["JDK_JAVA_OPTIONS"] = before
