"""Control messages: a batch changes the program as its messages do one by one, or rejects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_builders import APPENDED, control, messages
from fuzz.messages import check_rejections
from fuzz.programs import Rules, check_accepted
from fuzz.target import ACCEPTED
from unit.pipeline.test_control import REFUSED, in_effect

from streamreasoner.io.codec.decode import Decoded
from streamreasoner.pipeline.rule_changes import decide
from streamreasoner.state.in_effect import ProgramInEffect

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_BYTES = 3_000
_AHEAD = 60_000


class Control:
    """The topic of control messages; see `Target`."""

    batch = 20

    def __init__(self) -> None:
        rules = Rules()
        self.tokens = [
            *rules.tokens,
            *(b'"operation":', b'"add"', b'"remove"', b'"replace"', b'"rules":', b'"source":"x"'),
            *(b'{"tick":1767225600000}', b'"tick":', b"\\u0000", b"\\n", b"-62135596800001"),
        ]
        refused = [value for value, *_ in REFUSED.values() if value is not None]
        texts = [text.decode("utf-8", "replace") for text in rules.seeds[::8] if len(text) < 500]
        self.seeds = [
            *refused,
            *(control(kind, text) for kind in ("add", "replace") for text in texts),
            control("remove", "path(?x, ?y) :- edge(?x, ?y) ."),
            b'{"tick":1767225600000}',
        ]

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """See `Target`."""
        batch = messages(control=inputs)
        decision = decide(in_effect(), batch, _MOST_BYTES, _AHEAD)
        check_rejections(batch, Decoded((), decision.rejected, None))
        latest = int(APPENDED.timestamp() * 1000) + _AHEAD
        assert decision.clock is None or decision.clock <= latest
        check_accepted(decision.program.checked)
        restored = ProgramInEffect.restored([(0, decision.program.text)], decision.program.width)
        assert restored.text == decision.program.text
        rejected = {each.row: each for each in decision.rejected}
        good = [value for row, value in enumerate(inputs) if row not in rejected]
        again = decide(in_effect(), messages(control=good), _MOST_BYTES, _AHEAD)
        assert (again.rejected, again.program.text) == ((), decision.program.text)
        applied = {*decision.applied}
        return [
            rejected[row].reason.value
            if row in rejected
            else f"{ACCEPTED}{'applied' if row in applied else 'tick'}"
            for row in range(len(inputs))
        ]
