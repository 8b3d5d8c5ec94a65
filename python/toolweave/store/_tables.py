"""The tables of a store."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
    text,
)

from ._values import Id, SafeText

REVISION = "0001"
"""Last of the migrations, which lead to these tables."""


class Tables:
    """All tables of a store, in one schema and with one prefix.

    Times are integers in milliseconds since 1970 in UTC, as on the wire. JSON is stored as the
    given text, byte for byte.

    Args:
        schema: PostgreSQL schema of the tables; None for the first in the search path.
        prefix: Prefix of the names of tables and indexes.
    """

    def __init__(self, schema: str | None = None, prefix: str = "") -> None:
        self.metadata = metadata = MetaData(schema=schema)

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

        self.chats = Table(
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
        """One row per chat. Writers to a chat update its row first, and so wait for each other."""
        self.messages = Table(
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
        """Messages, numbered from 1 in each chat."""
        self.events = Table(
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
        """Events, numbered from 1 in each chat. Append-only."""
        self.runs = Table(
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
        """Runs, at most one of them running in each chat."""
        self.calls = Table(
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
        """Calls whose tool was entered: inserted before that, completed afterwards."""
        self.pending = Table(
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
        """Pending inputs: results, approvals and answers."""
        self.conversations = Table(
            prefixed("conversations"),
            metadata,
            id_column("key"),
            time_column("updated_utc"),
            text_column("conversation_json"),
            PrimaryKeyConstraint("key", name=prefixed("conversations_pk")),
            Index(prefixed("conversations_by_use"), "updated_utc"),
        )
        """Conversations of `StoreConversations`."""
        self.locks = Table(
            prefixed("conversation_locks"),
            metadata,
            id_column("key"),
            id_column("owner"),
            time_column("lease_utc"),
            PrimaryKeyConstraint("key", name=prefixed("conversation_locks_pk")),
        )
        """Locks of conversations, with their owners and leases."""
        version = prefixed("store_version")
        # Beside the others, and as Alembic makes it.
        self.version = Table(
            version,
            MetaData(schema=schema),
            Column("version_num", String(32), nullable=False),
            PrimaryKeyConstraint("version_num", name=f"{version}_pkc"),
        )
        """One row, with the current revision of the tables."""


@lru_cache(maxsize=64)
def tables_of(schema: str | None, prefix: str) -> Tables:
    """Return the tables with these names, the same for all stores that use them."""
    return Tables(schema, prefix)
