"""Redaction of secrets in the texts of exceptions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave import ToolError
from toolweave.executor._failure import ErrorDetail, redact_secrets, tool_error

SECRETS = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$*+/%", min_size=8
)
SCHEMES = st.sampled_from(["postgresql", "https", "redis+tls", "amqp"])
NAMES = st.sampled_from(
    ["password", "token", "api_key", "KEY", "client_secret", "AWS_SECRET_ACCESS_KEY", "db.Password"]
)
AROUND = st.sampled_from(["", " ", "could not connect to ", '"', "(", "see `", ", ", "é "])

DETAILS: st.SearchStrategy[ErrorDetail] = st.sampled_from(["message", "full"])


@st.composite
def lines_with(draw: st.DrawFn, secret: str) -> str:
    where = draw(st.sampled_from(["url", "user", "query", "pair", "quoted", "json"]))
    name, scheme = draw(NAMES), draw(SCHEMES)
    line = {
        "url": f"{scheme}://app:{secret}@db.example.org:5432/shop",
        "user": f"{scheme}://{secret.replace('/', '')}@db.example.org",
        "query": f"{scheme}://example.org/v1?{name}={secret}&limit=3",
        "pair": f"{name}={secret}",
        "quoted": f"{name} = '{secret} {secret}'",
        "json": f'{{"{name}": "{secret}"}}',
    }[where]
    return f"{draw(AROUND)}{line}{draw(st.sampled_from(['', ' refused', ', timed out', '>']))}"


@settings(max_examples=effort(100))
@given(st.data(), SECRETS, DETAILS)
def test_failures_do_not_contain_secrets(
    data: st.DataObject, secret: str, detail: ErrorDetail
) -> None:
    line = data.draw(lines_with(secret))
    text = tool_error(RuntimeError(line), detail=detail).text
    assert secret not in text
    assert secret.replace("/", "") not in text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cannot reach postgresql://app:hunter2@db/x", "cannot reach postgresql://[hidden]@db/x"),
        ("GET https://a.b/c?token=abc&n=1 failed", "GET https://a.b/c?token=[hidden]&n=1 failed"),
        ("no such key: city", "no such key: city"),
        ("mail ada@example.org", "mail ada@example.org"),
        ("https://example.org/@ada is gone", "https://example.org/@ada is gone"),
        ("x=1, limit=3", "x=1, limit=3"),
    ],
)
def test_only_secrets_are_redacted(line: str, text: str) -> None:
    assert tool_error(ValueError(line)).text == f"Error executing tool: {text}"


@pytest.mark.growth
@pytest.mark.parametrize(
    "unit", ["a", "://", "a=", "key=", "key= ", "'=", '"', "key='", " ", "= ", "://a:b@"]
)
def test_redaction_takes_linear_time(unit: str) -> None:
    def took(count: int) -> float:
        began = time.process_time()
        redact_secrets(unit * count)
        return time.process_time() - began

    # With a quadratic search, the second would take a thousand times as long.
    short = max(min(took(500) for _ in range(3)), 1e-4)
    assert min(took(16_000) for _ in range(2)) < 250 * short


def test_values_from_the_arguments_are_not_redacted() -> None:
    failure = tool_error(KeyError("x", "key=city"), arguments={"name": "city"})
    assert "key=city" in failure.text


def test_the_text_of_a_tool_error_is_not_redacted() -> None:
    assert tool_error(ToolError("use token=public")).text == "use token=public"
