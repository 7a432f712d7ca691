"""The timing wheel (spec T1, T2; book §6.2): timer_task, timer_task_list, timing_wheel,
delay_queue, system_timer, in this order.
"""
