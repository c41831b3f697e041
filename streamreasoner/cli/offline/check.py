"""`streamreasoner check`: diagnostics on standard error, a summary on standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.counts import counted
from streamreasoner.errors import ConfigError, ProgramError, StartError

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Rule
    from streamreasoner.program.checked import CheckedProgram


def check(
    rules: Annotated[
        str | None, typer.Argument(help="A rule file, or the name of a packaged ruleset.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Check this configuration (TOML) with its program, mappings and certificates, and"
            " its state if there is one: all that a start refuses without asking Kafka."
        ),
    ] = None,
) -> None:
    """Check a rule program or a configuration: print every error, or a one-line summary.

    Nothing is started. `doctor` checks brokers, topics and this machine, too.
    """
    try:
        match rules, config:
            case str(), None:
                checked = _of_rules(rules)
            case None, Path():
                checked = _of_config(config)
            case _:
                raise ConfigError(
                    "Name a rule file (streamreasoner check rules.dl), or a configuration "
                    "(streamreasoner check --config pipeline.toml)."
                )
    except (ProgramError, StartError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    _summarize(checked)
    if config is not None:
        print(f"{config}: a pipeline can start with it, as far as can be told without Kafka")


def _of_rules(rules: str) -> CheckedProgram:
    from streamreasoner.program import load_program

    return load_program(rules)


def _of_config(path: Path) -> CheckedProgram:
    from streamreasoner.system.extras import require

    require("pipeline", "`streamreasoner check --config`")

    from streamreasoner.config import load
    from streamreasoner.upkeep.offline import check_offline

    return check_offline(load(path))


def _summarize(checked: CheckedProgram) -> None:
    from streamreasoner.lang.ast import RULE_SET
    from streamreasoner.lang.diagnostic import render

    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    written = [rule for program in checked.programs for rule in program.rules if rule.body]
    rules_with_body = [rule for rule in written if not _is_of_data(rule)]
    facts = [fact for fact in checked.facts if fact.predicate in checked.arities]
    facts = [fact for fact in facts if not fact.predicate.startswith(RULE_SET)]
    counts = (
        *_if_any(len(checked.programs) - 1, "import"),
        *_if_any(len(facts) + len(written) - len(rules_with_body), "fact"),
        counted(len(rules_with_body), "rule"),
        counted(len(checked.strata), "stratum", "strata"),
        counted(len(checked.visible), "predicate"),
        counted(len(checked.warnings), "warning"),
    )
    print(f"{checked.program.source}: {', '.join(counts)}")


def _is_of_data(rule: Rule) -> bool:
    """Whether a rule states a triple of DATA of a rule set."""
    from streamreasoner.lang.ast import DATA_UNIT, RULE_SET

    return any(
        atom.predicate.startswith(RULE_SET) and atom.predicate.endswith(DATA_UNIT)
        for atom in rule.atoms
    )


def _if_any(number: int, noun: str) -> tuple[str, ...]:
    return (counted(number, noun),) if number else ()
