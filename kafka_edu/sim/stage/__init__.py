"""One simulated run that people watch and control. They can change its speed, pause it, let it go
step by step, go back in time, and change what happens next.
"""
