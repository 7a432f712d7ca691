"""Purgatories hold delayed operations: requests that wait for a condition (spec D1; book §6.3).

Read the modules in this order: delayed_operation, delayed_operation_purgatory,
expired_operation_reaper.
"""
