"""Judging mechanisms: audits."""
