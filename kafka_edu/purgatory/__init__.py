"""Delayed operations (spec D1; book §6.3): delayed_operation, delayed_operation_purgatory,
expired_operation_reaper, in this order.
"""
