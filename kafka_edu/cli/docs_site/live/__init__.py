"""Build the page that runs the brokers in a browser (`docs build --live`).

`npm_packages` fetches Pyodide and xterm.js, `python_files` chooses the modules of Python that the
page needs and compiles them, and `build` puts the folder together. The page itself is the folder
`page` of the checkout.
"""
