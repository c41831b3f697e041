"""The laws that every backend keeps. Invariant: they make stores only through `Driver.new_store`.

So `run` tests a backend by its stores, with few examples of few iterations.
"""

from __future__ import annotations

from driver import Driver
from laws import test_epochs_are_atomic as atomic
from laws import test_facts_expire as expiry
from laws import test_goals as goals
from laws import test_incremental_equals_batch as incremental
from laws import test_order_is_irrelevant as order
from laws import test_overflow_has_no_value as overflow
from laws import test_retraction_leaves_nothing as retraction
from laws import test_rule_sets as rule_sets
from laws import test_rules_change as rules
from laws import test_schema_decides_negation as schema
from laws import test_sources_edit_sets as sets
from laws import test_sources_replace_by_key as keys
from laws import test_triple_patterns as patterns
from laws import test_triple_terms_are_kept as triple_terms

LAWS = (
    incremental.test_trace_equals_from_scratch_after_every_epoch,
    incremental.test_changes_sum_to_the_closure,
    incremental.test_statistics_equal_those_of_the_trace,
    order.test_splitting_and_order,
    retraction.test_retracting_everything_leaves_the_program_alone,
    retraction.test_an_update_and_its_negation_cancel,
    atomic.test_a_failed_epoch_leaves_no_trace,
    atomic.test_a_rehearsal_predicts_failure_and_changes_nothing,
    atomic.test_overflow_is_an_error_and_rolled_back,
    atomic.test_a_restored_reasoner_continues_identically,
    expiry.test_delivery_is_irrelevant,
    expiry.test_a_restored_reasoner_expires_the_same,
    expiry.test_nothing_is_left_of_what_expired,
    expiry.test_a_rehearsal_of_expiry_changes_nothing,
    sets.test_delivery_at_least_once_is_irrelevant,
    sets.test_a_restored_reasoner_knows_its_sources,
    keys.test_the_latest_value_of_each_key_counts,
    keys.test_a_restored_reasoner_knows_the_values,
    overflow.test_a_result_out_of_range_has_no_value,
    rules.test_trace_is_that_of_the_current_rules,
    schema.test_the_state_is_the_perfect_model_of_the_instances,
    goals.test_the_answer_of_a_goal_is_what_matches_it,
    patterns.test_patterns_match_as_the_oracle_says,
    patterns.test_patterns_in_recursions_match_as_the_oracle_says,
    triple_terms.test_their_facts_are_those_of_the_oracle,
    rule_sets.test_the_inference_graph_is_that_of_the_algorithm,
)

# Examples that exceed it are rejected after running, each iteration slower than the one before.
RECURSION_LIMIT = 24


def run(law, new_store, examples, monkeypatch):
    """Run a law on stores of a backend, with settings that end with the test.

    Settings that decorate a law stay in the function, which the tests of other backends run too.
    """
    monkeypatch.setattr(Driver, "new_store", staticmethod(new_store))
    monkeypatch.setattr(Driver, "recursion_limit", RECURSION_LIMIT)
    monkeypatch.setattr(law, "_hypothesis_internal_use_settings", examples)
    law()
