"""Planning before any data is collected: what each mechanism tells, what it costs, and what liars can do."""

from deniable.removed import explain_removed
from deniable.tasks.plan.counts import plan
from deniable.tasks.plan.figures import at_epsilon, detectable, epsilon_needed, most_gain, people_needed
from deniable.tasks.plan.means import plan_mean
from deniable.tasks.plan.planned import Plan

__all__ = ["Plan", "at_epsilon", "detectable", "epsilon_needed", "most_gain", "people_needed", "plan", "plan_mean"]

explain_removed(__name__)
