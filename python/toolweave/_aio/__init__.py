"""Building blocks for asyncio that several areas share: runs, queues of events, deadlines."""
