"""Questions whose replies are recorded, each with its type and the tool that it is for."""

from __future__ import annotations

TOUR = [
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
