"""Chats, messages, events, runs, calls, what is awaited, and conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from alembic.operations import Operations

revision = "0001"
down_revision = None


def upgrade(op: Operations, schema: str | None, prefix: str) -> None:
    """Create the tables."""

    def name(of: str) -> str:
        return f"{prefix}{of}"

    def identifier(column: str, *, nullable: bool = False) -> sa.Column[str]:
        return sa.Column(column, sa.String(255), nullable=nullable)

    def number(column: str, *, nullable: bool = False) -> sa.Column[int]:
        return sa.Column(column, sa.BigInteger, nullable=nullable)

    def text(column: str, *, nullable: bool = False) -> sa.Column[str]:
        return sa.Column(column, sa.Text, nullable=nullable)

    def key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
        return sa.PrimaryKeyConstraint(*columns, name=name(f"{table}_pk"))

    def of_chat(table: str) -> sa.ForeignKeyConstraint:
        target = name("chats") if schema is None else f"{schema}.{name('chats')}"
        return sa.ForeignKeyConstraint(
            ["chat_id"], [f"{target}.id"], name=name(f"{table}_chat_fk"), ondelete="CASCADE"
        )

    def index(of: str, table: str, *columns: str) -> None:
        op.create_index(name(of), name(table), list(columns), schema=schema)

    op.create_table(
        name("chats"),
        identifier("id"),
        identifier("user_id", nullable=True),
        number("created_utc"),
        number("updated_utc"),
        number("last_event"),
        number("last_message"),
        number("revision"),
        text("metadata_json"),
        key("chats", "id"),
        schema=schema,
    )
    index("chats_of_user", "chats", "user_id", "created_utc")
    index("chats_by_age", "chats", "created_utc")
    index("chats_by_use", "chats", "updated_utc")
    op.create_table(
        name("messages"),
        identifier("id"),
        identifier("chat_id"),
        text("role"),
        text("kind"),
        number("timestamp_utc"),
        number("sequence_number"),
        text("message_json"),
        identifier("run_id", nullable=True),
        identifier("generation_id", nullable=True),
        key("messages", "chat_id", "id"),
        sa.UniqueConstraint("chat_id", "sequence_number", name=name("messages_order")),
        of_chat("messages"),
        schema=schema,
    )
    op.create_table(
        name("events"),
        identifier("chat_id"),
        number("sequence_number"),
        text("kind"),
        number("timestamp_utc"),
        identifier("run_id", nullable=True),
        text("event_json"),
        key("events", "chat_id", "sequence_number"),
        of_chat("events"),
        schema=schema,
    )
    op.create_table(
        name("runs"),
        identifier("id"),
        identifier("chat_id"),
        identifier("user_id", nullable=True),
        identifier("owner"),
        text("status"),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        text("stop_reason", nullable=True),
        text("error", nullable=True),
        number("lease_utc"),
        number("started_utc"),
        number("finished_utc", nullable=True),
        number("first_event"),
        key("runs", "id"),
        of_chat("runs"),
        schema=schema,
    )
    index("runs_of_chat", "runs", "chat_id")
    running = sa.text("status = 'running'")
    op.create_index(
        name("runs_one_running"),
        name("runs"),
        ["chat_id"],
        unique=True,
        schema=schema,
        sqlite_where=running,
        postgresql_where=running,
    )
    op.create_table(
        name("tool_calls"),
        identifier("id"),
        identifier("chat_id"),
        identifier("run_id", nullable=True),
        identifier("generation_id", nullable=True),
        text("call_id"),
        text("name"),
        text("arguments_json"),
        text("status"),
        sa.Column("attempt", sa.Integer, nullable=False),
        number("started_utc"),
        number("finished_utc", nullable=True),
        text("result_json", nullable=True),
        key("tool_calls", "id"),
        of_chat("tool_calls"),
        schema=schema,
    )
    index("tool_calls_of_run", "tool_calls", "chat_id", "run_id")
    op.create_table(
        name("pending_results"),
        identifier("chat_id"),
        identifier("key"),
        text("kind"),
        text("status"),
        identifier("run_id", nullable=True),
        text("call_id"),
        text("call_json"),
        text("question", nullable=True),
        text("schema_json", nullable=True),
        text("note", nullable=True),
        text("result_json", nullable=True),
        number("created_utc"),
        number("resolved_utc", nullable=True),
        key("pending_results", "chat_id", "key"),
        of_chat("pending_results"),
        schema=schema,
    )
    op.create_table(
        name("conversations"),
        identifier("key"),
        number("updated_utc"),
        text("conversation_json"),
        key("conversations", "key"),
        schema=schema,
    )
    index("conversations_by_use", "conversations", "updated_utc")
    op.create_table(
        name("conversation_locks"),
        identifier("key"),
        identifier("owner"),
        number("lease_utc"),
        key("conversation_locks", "key"),
        schema=schema,
    )
