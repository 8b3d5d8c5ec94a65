"""Thread pools for blocking functions: started on demand, and never preventing exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future

import pytest

from toolweave.executor import _threads as threads
from toolweave.executor._threads import DaemonThreads


def test_a_function_runs_in_a_thread_that_is_named_after_its_pool() -> None:
    pool = DaemonThreads("kitchen", 2)
    assert pool.submit(lambda: threading.current_thread().name).result(10) == "kitchen-0"
    pool.shutdown()


def test_arguments_results_and_exceptions_are_transferred() -> None:
    pool = DaemonThreads("kitchen", 2)
    assert pool.submit(divmod, 7, 2).result(10) == (3, 1)
    assert pool.submit(dict, a=1).result(10) == {"a": 1}
    assert isinstance(pool.submit(divmod, 1, 0).exception(10), ZeroDivisionError)
    assert isinstance(pool.submit(sys.exit, 3).exception(10), SystemExit)
    pool.shutdown()


def test_threads_are_started_when_needed_and_used_again() -> None:
    pool = DaemonThreads("kitchen", 3)
    for _ in range(20):
        pool.submit(int).result(10)
        wait_until_idle(pool)
    assert threads_of("kitchen") == 1
    together = threading.Barrier(4)
    running = [pool.submit(together.wait, 10) for _ in range(3)]
    late: Future[int] = pool.submit(int)
    together.wait(10)
    assert [future.result(10) for future in running] != [0, 0, 0]
    assert late.result(10) == 0
    assert threads_of("kitchen") == 3
    pool.shutdown()
    assert threads_of("kitchen") == 0


def threads_of(name: str) -> int:
    return sum(thread.name.startswith(f"{name}-") for thread in threading.enumerate())


def wait_until_idle(pool: DaemonThreads) -> None:
    """Wait until the thread that has delivered a result waits for the next function."""
    until = time.monotonic() + 10
    while not pool.has_idle_thread() and time.monotonic() < until:
        time.sleep(0)


def test_no_more_functions_run_at_once_than_there_are_workers() -> None:
    pool = DaemonThreads("kitchen", 2)
    lock = threading.Lock()
    running = most = 0

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.001)
        with lock:
            running -= 1

    for future in [pool.submit(work) for _ in range(50)]:
        future.result(10)
    assert most == 2
    pool.shutdown()


def test_without_further_threads_existing_ones_run_the_remaining_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = DaemonThreads("kitchen", 2)
    refused = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pool.submit(refused.set)
    go, begun = threading.Event(), threading.Event()
    first = pool.submit(lambda: (begun.set(), go.wait(10)))
    begun.wait(10)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        second = pool.submit(int)
    go.set()
    assert (first.result(10), second.result(10)) == ((None, True), 0)
    pool.shutdown()
    assert not refused.is_set()


def test_a_queued_function_cancelled_before_it_starts_never_runs() -> None:
    pool = DaemonThreads("kitchen", 1)
    go, ran = threading.Event(), threading.Event()
    first = pool.submit(go.wait, 10)
    second = pool.submit(ran.set)
    assert second.cancel()
    go.set()
    first.result(10)
    pool.shutdown()
    assert not ran.is_set()


def test_hanging_functions_do_not_exhaust_the_pool() -> None:
    pool = DaemonThreads("kitchen", 2)
    go = threading.Event()
    begun = [threading.Event() for _ in range(4)]

    def hang(number: int) -> None:
        begun[number].set()
        go.wait(60)

    hanging = [pool.submit(hang, number) for number in range(2)]
    waiting = pool.submit(int)
    for event in begun[:2]:
        event.wait(10)
    assert not waiting.done()
    pool.abandon(hanging[0])
    # Room for queued functions and for new ones.
    assert waiting.result(10) == 0
    assert pool.submit(int).result(10) == 0
    pool.abandon(hanging[1])
    hanging += [pool.submit(hang, number) for number in (2, 3)]
    for event in begun[2:]:
        event.wait(10)
    late = pool.submit(int)
    go.set()
    assert late.result(10) == 0
    assert [future.result(10) for future in hanging] == [None] * 4
    # Threads that return are surplus and end.
    until = time.monotonic() + 10
    while threads_of("kitchen") > 2 and time.monotonic() < until:
        time.sleep(0)
    assert threads_of("kitchen") == 2
    assert pool.submit(int).result(10) == 0
    pool.shutdown()
    assert threads_of("kitchen") == 0


def test_the_number_of_threads_with_hanging_functions_is_bounded() -> None:
    pool = DaemonThreads("kitchen", 1)
    go = threading.Event()
    for _ in range(20):
        begun = threading.Event()
        future = pool.submit(lambda begun=begun: (begun.set(), go.wait(10)))
        begun.wait(0.02)
        pool.abandon(future)
    assert threads_of("kitchen") == 8
    go.set()
    pool.shutdown()


def test_only_running_functions_can_be_abandoned() -> None:
    pool = DaemonThreads("kitchen", 1)
    go, begun = threading.Event(), threading.Event()
    running = pool.submit(lambda: (begun.set(), go.wait(10)))
    begun.wait(10)
    in_line = pool.submit(int)
    pool.abandon(in_line)
    assert not in_line.done()
    go.set()
    in_line.result(10)
    pool.abandon(running)
    assert threads_of("kitchen") == 1
    pool.shutdown()


def test_a_shut_down_pool_finishes_its_functions_and_accepts_no_more() -> None:
    pool = DaemonThreads("kitchen", 1)
    go = threading.Event()
    futures = [pool.submit(go.wait, 10), pool.submit(int)]
    pool.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(int)
    go.set()
    pool.shutdown()
    assert [future.result(0) for future in futures] == [True, 0]


def test_queued_functions_can_be_cancelled_at_shutdown() -> None:
    pool = DaemonThreads("kitchen", 1)
    go, begun = threading.Event(), threading.Event()
    first, second = pool.submit(lambda: (begun.set(), go.wait(10))), pool.submit(int)
    begun.wait(10)
    pool.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(CancelledError):
        second.result(0)
    go.set()
    assert first.result(10) == (None, True)
    pool.shutdown()


def run_program(program: str) -> tuple[str, float]:
    """Return what a program prints, and its duration in seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout, time.monotonic() - began


def test_a_hanging_function_does_not_prevent_exit() -> None:
    output, took = run_program(
        "import time\n"
        "from toolweave.executor import _threads as threads\n"
        "threads.GRACE = 0.05\n"
        "threads.TOOLS.get().submit(time.sleep, 3600)\n"
        "print('done')"
    )
    assert output == "done\n"
    assert took < 30


def test_a_function_that_is_about_to_end_is_waited_for_at_exit() -> None:
    output, _ = run_program(
        "import threading, time\n"
        "from toolweave.executor import _threads as threads\n"
        "begun = threading.Event()\n"
        "threads.TOOLS.get().submit(lambda: (begun.set(), time.sleep(0.05), print('ended')))\n"
        "begun.wait()"
    )
    assert output == "ended\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_has_its_own_threads_and_exits_at_once() -> None:
    output, took = run_program(
        "import os, threading, warnings\n"
        "from toolweave.executor import _threads as threads\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "stuck = threading.Event()\n"
        "threads.GRACE = 20.0\n"
        "threads.TOOLS.get().submit(stuck.wait)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    print(threads.TOOLS.get().submit(int).result(10), flush=True)\n"
        "    raise SystemExit\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "stuck.set()"
    )
    assert output == "0\n"
    assert took < 15


def test_the_shared_pools_are_created_once() -> None:
    pools = {id(threads.TOOLS.get()) for _ in range(3)}
    assert len(pools) == 1
    assert threads.TOOLS.get() is not threads.APPROVERS.get()
