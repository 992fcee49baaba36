"""Plans before you collect any data: the error of each mechanism, its cost, and the effect of false reports."""

from deniable.removed import explain_removed
from deniable.tasks.plan.counts import plan
from deniable.tasks.plan.figures import at_epsilon, detectable, epsilon_needed, most_gain, people_needed
from deniable.tasks.plan.means import plan_mean
from deniable.tasks.plan.planned import Plan

__all__ = ["Plan", "at_epsilon", "detectable", "epsilon_needed", "most_gain", "people_needed", "plan", "plan_mean"]

explain_removed(__name__)
