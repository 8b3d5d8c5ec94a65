"""Questions whose replies are recorded, each with its type and the tool that it is for."""

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
    # There is one tool, and a model is asked for its parameters only.
    ("Which red wine goes with Lamb Tagine?", "Recipe", "cellar", "accompaniment"),
    # Nobody says what it is about: the model says that first.
    ("Who directed Casablanca?", None, None, "details"),
    # No word of it is one of the tools', which are all in English.
    ("Welcher Wein passt zu Moussaka?", "Recipe", None, "accompaniment"),
]
"""Questions with their types, if they are said, their sites, if any, and their tools."""
