"""Every error a user can cause, in one tree. Invariant: str(error) is one complete message.

StreamReasonerError
├── ConfigError          a configuration key is unknown, missing or has a wrong value
├── ProgramError         a rule program is invalid; carries its diagnostics
├── TermError            text that is not a term in N-Triples syntax
├── DataError            a file of facts cannot be read
├── EngineError          an epoch failed and was rolled back
│   ├── StateFullError   memory for facts, or the addresses of their records, are exhausted
│   ├── DictionaryFullError  memory for terms, or their ids, are exhausted
│   ├── RecursionLimitError
│   ├── NewTermsError    rules made more new terms than an epoch may
│   ├── CircularNegationError  facts of the schema make a negation depend on itself
│   └── MultiplicityOverflowError
├── QueryError           a query asks for what is not supported
├── StateError           tables, checkpoint and topics cannot be reconciled by replay
├── LimitError           a question takes more time or memory than it may
├── BatchTooLargeError   a batch does not fit memory; a start plans it anew
├── StartError           several checks of a start failed; the message has what each says
├── EnvironmentSetupError  Java, a port, a lock or a directory is not available
├── PartsLostError       a process that holds a part of the state has ended
├── BrokerError          Kafka cannot be reached, lacks a topic or refuses a transaction
│   └── BrokerUnavailableError  it may answer, or take messages, later
└── SchemaRegistryError  the schema registry cannot be reached, or refuses a request
"""

from __future__ import annotations


class StreamReasonerError(Exception):
    """Root of the tree; the command line prints its message and exits non-zero."""


class ConfigError(StreamReasonerError):
    """A configuration key is unknown, missing or has a wrong value."""


class ProgramError(StreamReasonerError):
    """A rule program is invalid; the message is the rendered diagnostics.

    Attributes:
        diagnostics: One `streamreasoner.lang.diagnostic.Diagnostic` per error; empty if there is
            no text to point at, as for a missing file.
    """

    def __init__(self, message: str, diagnostics: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class TermError(StreamReasonerError):
    """Text that is not a term in N-Triples syntax."""


class DataError(StreamReasonerError):
    """A file of facts cannot be read; the message names file and line."""


class QueryError(StreamReasonerError):
    """A query asks for what is not supported; the message says what to do instead."""


class EngineError(StreamReasonerError):
    """An epoch failed and was rolled back."""


class StateFullError(EngineError):
    """There is no room for the facts of the epoch; with more parts there may be."""


class DictionaryFullError(EngineError):
    """There is no room for the terms of the epoch, or no id left; more parts do not help."""


class RecursionLimitError(EngineError):
    """A fixpoint needed more iterations than `recursion_limit` allows."""


class NewTermsError(EngineError):
    """Rules of an epoch made more new terms than `max_new_terms` allows."""


class CircularNegationError(EngineError):
    """Facts of the schema make a negation depend on itself; the message has the cycle."""


class MultiplicityOverflowError(EngineError):
    """A multiplicity left the range of ±2^58."""

    def __init__(self) -> None:
        super().__init__("A multiplicity left the range of ±2^58. The epoch was rolled back.")


class StateError(StreamReasonerError):
    """Tables, checkpoint and topics disagree in a way replay cannot explain."""


class NoEpochError(StateError):
    """A state has no complete epoch yet, so nothing can be asked of it."""


class LimitError(StreamReasonerError):
    """A question takes more time or memory than it may; the message names the limit."""


class BatchTooLargeError(StreamReasonerError):
    """A batch does not fit memory; a start plans it anew, with fewer messages."""


class StartError(StreamReasonerError):
    """Several checks of a start failed; the message has what each of them says."""


class EnvironmentSetupError(StreamReasonerError):
    """Java, a port, a lock or a directory that the run needs is not available."""


class SparkDiedError(StreamReasonerError):
    """Spark's Java process has ended, or has no memory left; a start continues where it was."""


class PartsLostError(StreamReasonerError):
    """A process that holds a part of the state has ended; a start continues where it was."""


class BrokerError(StreamReasonerError):
    """Kafka cannot be reached, lacks a topic or refuses a transaction."""


class BrokerUnavailableError(BrokerError):
    """Kafka does not answer, or does not take messages; nothing was refused."""


class SchemaRegistryError(StreamReasonerError):
    """The schema registry cannot be reached, or refuses a request."""
