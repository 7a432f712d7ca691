"""The site: chapters, exercises, docs and reference pages as HTML that needs no network.

`tree` knows which files belong to it, `links` turns the links of a page into links of the site,
`staging` writes the folder that MkDocs reads, `build` runs MkDocs, and `check` follows every link
of the finished site.
"""
