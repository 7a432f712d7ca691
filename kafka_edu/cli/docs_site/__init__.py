"""Build the website of this project: chapters, exercises and docs as HTML that needs no network.

`tree` knows which files belong to the site, `links` turns the links of a page into links of the
site, `staging` writes the folder that MkDocs reads, `build` runs MkDocs, and `check` follows every
link of the finished site.
"""
