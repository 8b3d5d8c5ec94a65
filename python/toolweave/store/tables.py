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

    def prefixed(of: str) -> str:
        return f"{prefix}{of}"

    def of_chat(table: str) -> ForeignKeyConstraint:
        target = prefixed("chats") if schema is None else f"{schema}.{prefixed('chats')}"
        return ForeignKeyConstraint(
            ["chat_id"], [f"{target}.id"], name=prefixed(f"{table}_chat_fk"), ondelete="CASCADE"
        )

    def id_column(column: str, *, nullable: bool = False) -> Column[str]:
        return Column(column, Id, nullable=nullable)

    def time_column(column: str, *, nullable: bool = False) -> Column[int]:
        return Column(column, BigInteger, nullable=nullable)

    def text_column(column: str, *, nullable: bool = False) -> Column[str]:
        return Column(column, SafeText, nullable=nullable)

    chats = Table(
        prefixed("chats"),
        metadata,
        id_column("id"),
        id_column("user_id", nullable=True),
        time_column("created_utc"),
        time_column("updated_utc"),
        Column("last_event", BigInteger, nullable=False),
        Column("last_message", BigInteger, nullable=False),
        Column("revision", BigInteger, nullable=False),
        text_column("metadata_json"),
        PrimaryKeyConstraint("id", name=prefixed("chats_pk")),
        Index(prefixed("chats_of_user"), "user_id", "created_utc"),
        Index(prefixed("chats_by_age"), "created_utc"),
        Index(prefixed("chats_by_use"), "updated_utc"),
    )
    messages = Table(
        prefixed("messages"),
        metadata,
        id_column("id"),
        id_column("chat_id"),
        text_column("role"),
        text_column("kind"),
        time_column("timestamp_utc"),
        Column("sequence_number", BigInteger, nullable=False),
        text_column("message_json"),
        id_column("run_id", nullable=True),
        id_column("generation_id", nullable=True),
        PrimaryKeyConstraint("chat_id", "id", name=prefixed("messages_pk")),
        UniqueConstraint("chat_id", "sequence_number", name=prefixed("messages_order")),
        of_chat("messages"),
    )
    events = Table(
        prefixed("events"),
        metadata,
        id_column("chat_id"),
        Column("sequence_number", BigInteger, nullable=False),
        text_column("kind"),
        time_column("timestamp_utc"),
        id_column("run_id", nullable=True),
        text_column("event_json"),
        PrimaryKeyConstraint("chat_id", "sequence_number", name=prefixed("events_pk")),
        of_chat("events"),
    )
    runs = Table(
        prefixed("runs"),
        metadata,
        id_column("id"),
        id_column("chat_id"),
        id_column("user_id", nullable=True),
        id_column("owner"),
        text_column("status"),
        Column("stop_requested", Boolean, nullable=False),
        text_column("stop_reason", nullable=True),
        text_column("error", nullable=True),
        time_column("lease_utc"),
        time_column("started_utc"),
        time_column("finished_utc", nullable=True),
        Column("first_event", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name=prefixed("runs_pk")),
        of_chat("runs"),
        Index(prefixed("runs_of_chat"), "chat_id"),
        Index(
            prefixed("runs_one_running"),
            "chat_id",
            unique=True,
            sqlite_where=text("status = 'running'"),
            postgresql_where=text("status = 'running'"),
        ),
    )
    calls = Table(
        prefixed("tool_calls"),
        metadata,
        id_column("id"),
        id_column("chat_id"),
        id_column("run_id", nullable=True),
        id_column("generation_id", nullable=True),
        text_column("call_id"),
        text_column("name"),
        text_column("arguments_json"),
        text_column("status"),
        Column("attempt", Integer, nullable=False),
        time_column("started_utc"),
        time_column("finished_utc", nullable=True),
        text_column("result_json", nullable=True),
        PrimaryKeyConstraint("id", name=prefixed("tool_calls_pk")),
        of_chat("tool_calls"),
        Index(prefixed("tool_calls_of_run"), "chat_id", "run_id"),
    )
    pending = Table(
        prefixed("pending_results"),
        metadata,
        id_column("chat_id"),
        id_column("key"),
        text_column("kind"),
        text_column("status"),
        id_column("run_id", nullable=True),
        text_column("call_id"),
        text_column("call_json"),
        text_column("question", nullable=True),
        text_column("schema_json", nullable=True),
        text_column("note", nullable=True),
        text_column("result_json", nullable=True),
        time_column("created_utc"),
        time_column("resolved_utc", nullable=True),
        PrimaryKeyConstraint("chat_id", "key", name=prefixed("pending_results_pk")),
        of_chat("pending_results"),
    )
    conversations = Table(
        prefixed("conversations"),
        metadata,
        id_column("key"),
        time_column("updated_utc"),
        text_column("conversation_json"),
        PrimaryKeyConstraint("key", name=prefixed("conversations_pk")),
        Index(prefixed("conversations_by_use"), "updated_utc"),
    )
    locks = Table(
        prefixed("conversation_locks"),
        metadata,
        id_column("key"),
        id_column("owner"),
        time_column("lease_utc"),
        PrimaryKeyConstraint("key", name=prefixed("conversation_locks_pk")),
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
        prefixed("store_version"),
    )
