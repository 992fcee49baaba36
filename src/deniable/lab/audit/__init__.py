"""Audits that compare the shipped code with what a mechanism claims."""

from deniable.lab.audit.empirical import EmpiricalAudit, empirical_audit, epsilon_lower_bound
from deniable.lab.audit.exact import Audit, Check, exact_audit
from deniable.lab.audit.joint import joint_audit

__all__ = ["Audit", "Check", "EmpiricalAudit", "empirical_audit", "epsilon_lower_bound", "exact_audit", "joint_audit"]
