"""A module for each change of the tables. What was released is not changed any more."""
