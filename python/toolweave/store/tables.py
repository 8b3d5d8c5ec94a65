"""The tables of a store."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from .columns import Id, SafeText


@dataclass(frozen=True)
class Tables:
    """All tables, under one schema and with one prefix.

    Times are whole milliseconds since 1970 in UTC, as on the wire. JSON is text, byte for byte
    what was given.
    """

    metadata: MetaData
    chats: Table
    """One row a chat. Who writes to a chat updates its row first, and so waits for others."""
    messages: Table
    """The messages, numbered from 1 a chat."""
    events: Table
    """What happened, numbered from 1 a chat. Rows are only ever added."""
    runs: Table
    """The runs, at most one of them running a chat."""
    calls: Table
    """The calls whose tool was entered: written before that, completed after it."""
    pending: Table
    """Results, approvals and answers that somebody is waited for."""
    conversations: Table
    """The conversations of `StoreConversations`."""
    locks: Table
    """Who holds which conversation, and until when."""
    version: str
    """The name of the table in which the migrations say how far they are."""


def make_tables(schema: str | None = None, prefix: str = "") -> Tables:
    """Describes the tables.

    Args:
        schema: The schema of PostgreSQL that they are in; None for the first of the search path.
        prefix: What their names, and those of their indexes, begin with.
    """
    metadata = MetaData(schema=schema)

    def name(of: str) -> str:
        return f"{prefix}{of}"

    def of_chat(table: str) -> ForeignKeyConstraint:
        target = name("chats") if schema is None else f"{schema}.{name('chats')}"
        return ForeignKeyConstraint(
            ["chat_id"], [f"{target}.id"], name=name(f"{table}_chat_fk"), ondelete="CASCADE"
        )

    def identifier(column: str, *, nullable: bool = False) -> Column[str]:
        return Column(column, Id, nullable=nullable)

    def time(column: str, *, nullable: bool = False) -> Column[int]:
        return Column(column, BigInteger, nullable=nullable)

    def written(column: str, *, nullable: bool = False) -> Column[str]:
        return Column(column, SafeText, nullable=nullable)

    chats = Table(
        name("chats"),
        metadata,
        identifier("id"),
        identifier("user_id", nullable=True),
        time("created_utc"),
        time("updated_utc"),
        Column("last_event", BigInteger, nullable=False),
        Column("last_message", BigInteger, nullable=False),
        Column("revision", BigInteger, nullable=False),
        written("metadata_json"),
        PrimaryKeyConstraint("id", name=name("chats_pk")),
        Index(name("chats_of_user"), "user_id", "created_utc"),
        Index(name("chats_by_age"), "created_utc"),
        Index(name("chats_by_use"), "updated_utc"),
    )
    messages = Table(
        name("messages"),
        metadata,
        identifier("id"),
        identifier("chat_id"),
        written("role"),
        written("kind"),
        time("timestamp_utc"),
        Column("sequence_number", BigInteger, nullable=False),
        written("message_json"),
        identifier("run_id", nullable=True),
        identifier("generation_id", nullable=True),
        PrimaryKeyConstraint("chat_id", "id", name=name("messages_pk")),
        UniqueConstraint("chat_id", "sequence_number", name=name("messages_order")),
        of_chat("messages"),
    )
    events = Table(
        name("events"),
        metadata,
        identifier("chat_id"),
        Column("sequence_number", BigInteger, nullable=False),
        written("kind"),
        time("timestamp_utc"),
        identifier("run_id", nullable=True),
        written("event_json"),
        PrimaryKeyConstraint("chat_id", "sequence_number", name=name("events_pk")),
        of_chat("events"),
    )
    runs = Table(
        name("runs"),
        metadata,
        identifier("id"),
        identifier("chat_id"),
        identifier("user_id", nullable=True),
        identifier("owner"),
        written("status"),
        Column("stop_requested", Boolean, nullable=False),
        written("stop_reason", nullable=True),
        written("error", nullable=True),
        time("lease_utc"),
        time("started_utc"),
        time("finished_utc", nullable=True),
        Column("first_event", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name=name("runs_pk")),
        of_chat("runs"),
        Index(name("runs_of_chat"), "chat_id"),
        Index(
            name("runs_one_running"),
            "chat_id",
            unique=True,
            sqlite_where=text("status = 'running'"),
            postgresql_where=text("status = 'running'"),
        ),
    )
    calls = Table(
        name("tool_calls"),
        metadata,
        identifier("id"),
        identifier("chat_id"),
        identifier("run_id", nullable=True),
        identifier("generation_id", nullable=True),
        written("call_id"),
        written("name"),
        written("arguments_json"),
        written("status"),
        Column("attempt", Integer, nullable=False),
        time("started_utc"),
        time("finished_utc", nullable=True),
        written("result_json", nullable=True),
        PrimaryKeyConstraint("id", name=name("tool_calls_pk")),
        of_chat("tool_calls"),
        Index(name("tool_calls_of_run"), "chat_id", "run_id"),
    )
    pending = Table(
        name("pending_results"),
        metadata,
        identifier("chat_id"),
        identifier("key"),
        written("kind"),
        written("status"),
        identifier("run_id", nullable=True),
        written("call_id"),
        written("call_json"),
        written("question", nullable=True),
        written("schema_json", nullable=True),
        written("note", nullable=True),
        written("result_json", nullable=True),
        time("created_utc"),
        time("resolved_utc", nullable=True),
        PrimaryKeyConstraint("chat_id", "key", name=name("pending_results_pk")),
        of_chat("pending_results"),
    )
    conversations = Table(
        name("conversations"),
        metadata,
        identifier("key"),
        time("updated_utc"),
        written("conversation_json"),
        PrimaryKeyConstraint("key", name=name("conversations_pk")),
        Index(name("conversations_by_use"), "updated_utc"),
    )
    locks = Table(
        name("conversation_locks"),
        metadata,
        identifier("key"),
        identifier("owner"),
        time("lease_utc"),
        PrimaryKeyConstraint("key", name=name("conversation_locks_pk")),
    )
    return Tables(
        metadata,
        chats,
        messages,
        events,
        runs,
        calls,
        pending,
        conversations,
        locks,
        name("store_version"),
    )
