"""The brokers and the dashboard in a web page, without a server and without an installation.

The page runs Python by Pyodide, in a worker. There the simulator and the dashboard are one process
with one thread. This package joins them: it knows both, and neither knows the other.

The page has no threads, no processes and no sockets, and none of the native packages. The folder
`instead` has Python modules under the names of two of these packages. The folder `web` has the page
itself, and `npm` lists the packages of other projects that the page contains (docs/live-page.md).
"""
