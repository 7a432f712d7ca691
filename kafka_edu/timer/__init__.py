"""A timer runs tasks at their deadlines, with timing wheels (spec T1, T2; book §6.2).

Read the modules in this order: timer_task, timer_task_list, timing_wheel, delay_queue,
system_timer.
"""
