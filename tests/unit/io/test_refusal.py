"""Why Spark did not start. Invariant: what it said, the setting, and never a value."""

from __future__ import annotations

import pytest

from streamreasoner.io.spark.refusal import last_words, refusal

NOISE = """WARNING: Using incubator modules: jdk.incubator.vector
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
2026-11-28T05:19:55.700 ERROR SparkContext: Error initializing SparkContext.
"""
STACK = "\n\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:595)\n\t... 19 more\n"
OWN = {"spark.driver.maxResultSize"}
# What Spark 4.0 to 4.2 says of each setting.
SAID = {
    ("spark.driver.memory", "banana"): "Invalid maximum heap size: -Xmxbanana",
    ("spark.master", "local[x]"): (
        "org.apache.spark.SparkException: Could not parse Master URL: 'local[x]'"
    ),
    ("spark.task.cpus", "many"): (
        "java.lang.IllegalArgumentException: spark.task.cpus should be int, but was many"
    ),
    ("spark.driver.maxResultSize", "lots"): "Failed to parse byte string: lots",
    ("spark.plugins", "com.example.Plugin"): "java.lang.ClassNotFoundException: com.example.Plugin",
}


@pytest.mark.parametrize(("setting", "said"), SAID.items())
def test_the_setting_is_named(setting, said):
    """It is found by its name or its value, among others."""
    name, value = setting
    others = {"spark.ui.enabled": "true", "spark.eventLog.dir": "/logs"}
    text = str(refusal(last_words(f"{NOISE}{said}{STACK}"), {name: value, **others}, OWN))
    assert text == (
        f"Spark does not start. It says:\n{said}\nCorrect or remove {name} in spark.options. "
        "See the log of spark-submit."
    )


def test_all_settings_are_named_that_may_be_to_blame(tmp_path):
    """If what Spark says has none of them, and without those that a pipeline adds."""
    said = "org.apache.spark.SparkIllegalArgumentException: spark.authenticate must be enabled"
    own = dict.fromkeys(OWN, "400")
    options = {"spark.network.crypto.enabled": "true", "spark.app.tag": "secret", **own}
    text = str(refusal(said, options, OWN, tmp_path))
    assert "which has spark.network.crypto.enabled, spark.app.tag. See " in text
    assert "secret" not in text
    assert "spark.options" not in str(refusal(said, own, OWN, tmp_path))


def test_each_line_is_said_once():
    """A cause is often written twice; a log of nothing else says nothing."""
    cause = "java.nio.file.NoSuchFileException: /none"
    assert last_words(f"{NOISE}{cause}{STACK}Caused by: {cause}{STACK}") == cause
    assert last_words(NOISE) == "nothing"
