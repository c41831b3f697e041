"""`streamreasoner reset`: a pipeline that starts from nothing again."""

from __future__ import annotations

from streamreasoner.cli.confirm import Yes  # noqa: TC001 - typer reads it
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile

# Spark's Java process may hold the lock for a moment after the pipeline has ended.
_WAIT_SECONDS = 1.0


def reset(config: ConfigFile = CONFIG_FILE, *, yes: Yes = False) -> None:
    """Delete the state of a stopped pipeline and what it has published, after a question.

    The next start reads the input from its beginning. Input, control and dead-letter topics stay
    as they are. Readers of the output topic must begin again, too.
    """
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner reset`")

    from streamreasoner.cli.confirm import confirm
    from streamreasoner.config import load
    from streamreasoner.config.kafka import PUBLISHED, read_topics, topics_of
    from streamreasoner.io.kafka import deletion
    from streamreasoner.io.kafka.owners.presence import check_ended
    from streamreasoner.state.objects.held import held
    from streamreasoner.upkeep.start_over import delete_state

    loaded = load(config)
    kafka, app_id = loaded.kafka, loaded.pipeline.app_id
    published = topics_of(kafka, *PUBLISHED)
    check_ended(kafka, app_id, "it is not reset")
    with held(loaded.state, _WAIT_SECONDS, is_ended=True) as upload:
        topics = deletion.existing(kafka, (*published, kafka.progress_topic))
        lines = [
            f"the state in {loaded.state.directory}",
            *(f"all messages of the topic {name}" for name in topics if name in published),
            f"the records of {app_id} on the topic {kafka.progress_topic}",
        ]
        listed = "\n".join(f"  {line}" for line in lines)
        confirm(f"This deletes\n{listed}\nReset the pipeline {app_id}?", yes=yes)
        found = delete_state(loaded)
        upload.erase()
        print(f"{loaded.state.directory}: {'deleted' if found else 'was empty'}")
        for name in deletion.empty(kafka, [each for each in topics if each in published]):
            print(f"{name}: emptied")
        if kafka.progress_topic in topics:
            deletion.forget(kafka, app_id)
            print(f"{kafka.progress_topic}: without the records of {app_id}")
    print(
        "The next start evaluates the program of the configuration, and reads from the "
        f"{kafka.starting_offsets} offsets (kafka.starting_offsets) of "
        f"{', '.join(read_topics(kafka, loaded.rules.control_topic))}."
    )
