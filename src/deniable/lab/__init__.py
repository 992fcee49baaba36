"""Tests of mechanisms: audits, and experiments on populations whose truth is known."""
