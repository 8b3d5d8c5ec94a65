"""Types of limits: read by mypy and pyright, never run."""

from __future__ import annotations

from typing_extensions import assert_type

from toolweave import RateLimit, RateLimitedError, RateLimiter


async def asking() -> None:
    limiter = RateLimiter(RateLimit(100, per=10), max_wait=5)
    assert_type(await limiter.acquire(("tenant", 7)), None)
    await limiter.acquire()
    try:
        await limiter.acquire("ann")
    except RateLimitedError as err:
        assert_type(err.retry_after, float)

    RateLimiter(100)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await limiter.acquire([])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
