"""Questions with recorded replies, each with its type and its tool."""

from __future__ import annotations

TOUR: list[tuple[str, str, str]] = [
    ("Find science fiction films from the 1970s", "Movie", "search"),
    ("Who directed The Dark Knight?", "Movie", "details"),
    ("Compare Chicken Alfredo vs Spaghetti Carbonara", "Recipe", "compare"),
    (
        "Plan a film night with a comedy before 1960 and a thriller from the 1990s",
        "Movie",
        "ensemble",
    ),
    (
        "What can I use instead of buttermilk in Chocolate Cake?",
        "Recipe",
        "recipe_substitutions",
    ),
    ("What wine should I drink with Lamb Tagine?", "Recipe", "accompaniment"),
    ("What is the average runtime of movies by Christopher Nolan?", "Movie", "statistics"),
]

FURTHER: list[tuple[str, str | None, str | None, str]] = [
    # There is only one tool, so the model is asked for its parameters only.
    ("Which red wine goes with Lamb Tagine?", "Recipe", "cellar", "accompaniment"),
    # No type is given, so the model determines it first.
    ("Who directed Casablanca?", None, None, "details"),
    # It shares no word with the tools, which are all in English.
    ("Welcher Wein passt zu Moussaka?", "Recipe", None, "accompaniment"),
]
"""Questions with their types and sites, if given, and their tools."""
