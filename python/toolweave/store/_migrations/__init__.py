"""The history of the tables, for Alembic.

`versions` has a module for each change, with `upgrade(op, schema, prefix)`. They are run by
`toolweave.store._upgrading`, without Alembic's environment: that one is global, and stores that are
opened side by side would get into each other's way.
"""
