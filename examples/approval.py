"""Calls that require an approval.

Prints:

    asked about transfer {'to': 'Ann', 'amount': 500}
    asked about transfer {'to': 'Eve', 'amount': 9000}
    call_0 sent 20 to Bob
    call_1 sent 500 to Ann (allowed)
    call_2 Tool 'transfer' was not run, since the call was not approved: too much (denied)
    without an approver: missing_approver
"""

from __future__ import annotations

import asyncio

from toolweave import Approval, FunctionContract, ToolCall, tool
from toolweave.executor import ToolExecutor


def is_large(call: ToolCall) -> bool:
    return call.arguments["amount"] > 100


@tool(requires_approval=is_large)
async def transfer(to: str, amount: int) -> str:
    """Send money."""
    return f"sent {amount} to {to}"


async def ask_the_boss(call: ToolCall, contract: FunctionContract) -> Approval:
    """Decide in place of a person.

    The approver gets a copy of the call, so it cannot change it. A timeout, an exception, or any
    value other than an approval denies the call.
    """
    print(f"asked about {contract.name} {call.arguments}")
    if call.arguments["amount"] > 1000:
        return Approval.deny("too much")
    return Approval.allow()


async def main() -> None:
    calls = [
        ToolCall("call_0", "transfer", {"to": "Bob", "amount": 20}),
        ToolCall("call_1", "transfer", {"to": "Ann", "amount": 500}),
        ToolCall("call_2", "transfer", {"to": "Eve", "amount": 9000}),
    ]
    executor = ToolExecutor([transfer], approver=ask_the_boss, approval_timeout=60)
    aggregate = await executor.execute(calls)
    # The decisions are part of the message, and so of the history.
    decided = aggregate.metadata["approvals"]
    for result in aggregate.tool_results:
        record = decided.get(result.tool_call_id)
        print(result.tool_call_id, result.result + (f" ({record['outcome']})" if record else ""))

    aggregate = await ToolExecutor([transfer]).execute(calls[1:2])
    print("without an approver:", aggregate.metadata["approvals"]["call_1"]["outcome"])


if __name__ == "__main__":
    asyncio.run(main())
