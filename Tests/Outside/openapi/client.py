# SPDX-License-Identifier: MIT
"""Uses the client that openapi-python-client has generated (package signal_client) against a server.

Each function below is a test; the last line of output says how many passed. The client encodes every "/" of a path.
"""

import datetime
import sys

from signal_client import Client
from signal_client.api.events import get_events
from signal_client.api.properties import (
    delete_property, get_property, head_property, list_properties, patch_property, put_property, transact)
from signal_client.api.server import explain, get_async_api, get_message_schema, get_open_api, get_ready
from signal_client.api.signals import send_signal
from signal_client.api.timers import delete_timer, get_timer, list_timers, put_timer
from signal_client.models import (
    ExplainBody, Operation, OperationOp, Problem, TimerAfter, TimerAt, TimerEvery, TransactBody)

# A status that the document does not name is an exception.
client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)


def put(path, value, **options):
    answer = put_property.sync_detailed(path, client=client, body=value, **options)
    assert answer.parsed is None, answer
    return answer


def get(path, **options):
    return get_property.sync_detailed(path, client=client, **options)


def refused(answer, status, code):
    assert isinstance(answer.parsed, Problem), answer
    assert (answer.status_code, answer.parsed.status, answer.parsed.code) == (status, status, code), answer.parsed
    return answer.parsed


def test_paths_of_several_segments():
    for path, value in [
        ("kitchen/temperature", 21.5), ("a/b/c/d", {"x": [1, None, "é"]}), ("über/ß 1", "text"), ("100%/a?b#c&d", True),
    ]:
        assert put(path, value).status_code == 201
        assert put(path, [value]).status_code == 204
        answer = get(path)
        assert answer.status_code == 200 and answer.parsed == [value], answer
        assert head_property.sync_detailed(path, client=client).status_code == 200
    assert get("kitchen/temperature", pointer="/0").parsed == 21.5
    for path in ["x//y", "/x", "x/"]:
        refused(get(path), 400, "bad_path")


def test_conditions():
    put("door/lock", "closed", if_none_match="*")
    problem = refused(
        put_property.sync_detailed("door/lock", client=client, body="open", if_none_match="*"), 412,
        "precondition_failed")
    assert problem.current["value"] == "closed" and not problem.temporary
    tag = get("door/lock").headers["etag"]
    assert get("door/lock", if_none_match=tag).status_code == 304
    put("door/lock", "open", if_match=tag)
    refused(
        put_property.sync_detailed("door/lock", client=client, body="closed", if_match=tag), 412, "precondition_failed")
    put("door/lock", "closed", if_="value == 'open'", ttl="60s", always=True)
    assert "signal-expires" in get("door/lock").headers
    problem = refused(
        put_property.sync_detailed("door/lock", client=client, body=1, if_="value =="), 400, "bad_filter")
    assert problem.position == 8


def test_errors_are_typed():
    refused(get("no/such/property"), 404, "not_found")
    refused(delete_property.sync_detailed("no/such/property", client=client), 404, "not_found")
    refused(get("kitchen/temperature", pointer="/x"), 404, "pointer_not_found")
    refused(get("kitchen/temperature", wait="1.5s"), 400, "bad_duration")
    refused(list_properties.sync_detailed(client=client, where="valeu > 1"), 400, "bad_filter")


def test_patches():
    put("kitchen/light", {"on": True, "level": 80})
    assert patch_property.sync_detailed("kitchen/light", client=client, body={"level": 20}).status_code == 204
    assert get("kitchen/light").parsed == {"on": True, "level": 20}


def test_deletion():
    put("gone/soon", 1)
    assert delete_property.sync_detailed("gone/soon", client=client).status_code == 204
    refused(get("gone/soon"), 404, "not_found")


def test_lists_in_pages():
    for number in range(5):
        put(f"list/{number}", number)
    found, after = [], {}
    while True:
        page = list_properties.sync(client=client, match=["list/*", "none/**"], limit=2, where="value > 0", **after)
        found += [(item.path, item.value) for item in page.properties]
        assert all(isinstance(item.time, datetime.datetime) for item in page.properties)
        if not page.next_:
            break
        after = {"after": page.next_}
    assert found == [(f"list/{number}", number) for number in range(1, 5)], found


def test_transactions():
    answer = transact.sync(client=client, body=TransactBody(operations=[
        Operation(op=OperationOp.SET, path="t/a", value=2), Operation(op=OperationOp.SET, path="t/b", value=3),
        Operation(op=OperationOp.DEFINE, path="t/product", formula='properties["t/a"] * properties["t/b"]'),
        Operation(op=OperationOp.DELETE, path="t/none"),
    ]))
    assert answer.changed == 3 and "." in answer.revision, answer
    assert get("t/product").parsed == 6
    computed = list_properties.sync(client=client, match=["t/product"]).properties[0].computed
    assert computed.formula.startswith("properties")
    problem = refused(transact.sync_detailed(client=client, body=TransactBody(operations=[
        Operation(op=OperationOp.SET, path="t/a", value=5),
        Operation(op=OperationOp.SET, path="t/b", value=5, if_none_match="*"),
    ])), 412, "precondition_failed")
    assert problem.operation == 1 and problem.current["value"] == 3
    assert get("t/a").parsed == 2


def test_waiting():
    before = get("t/a").headers["signal-revision"]
    assert get("t/a", since=before, wait="100ms").status_code == 304
    put("t/a", 7)
    assert get("t/a", since=before, wait="5s").parsed == 7
    assert get("t/a", until="value == 7", wait="5s").parsed == 7


def test_signals():
    assert send_signal.sync_detailed("doorbell/front", client=client, body={"floor": 3}).status_code == 204
    assert send_signal.sync_detailed("doorbell/front", client=client, remember=True).status_code == 204
    refused(send_signal.sync_detailed("doorbell//front", client=client, body=1), 400, "bad_path")


def test_timers():
    timer = put_timer.sync("tea/green", client=client, body=TimerAfter(after="180s", message={"cup": 1}))
    assert (timer.path, timer.after, timer.message) == ("tea/green", "3m", {"cup": 1}), timer
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    timer = put_timer.sync("tea/black", client=client, body=TimerAt(at=later))
    assert abs(timer.next_ - later) < datetime.timedelta(seconds=1), timer
    answer = put_timer.sync_detailed("tea/every/hour", client=client, body=TimerEvery(every="1h"))
    assert answer.status_code == 201
    assert [item.path for item in list_timers.sync(client=client, match=["tea/**"]).timers] == [
        "tea/black", "tea/every/hour", "tea/green"]
    assert get_timer.sync("tea/every/hour", client=client).every == "1h"
    assert delete_timer.sync_detailed("tea/every/hour", client=client).status_code == 204
    refused(get_timer.sync_detailed("tea/every/hour", client=client), 404, "no_such_timer")
    refused(
        put_timer.sync_detailed("tea/green", client=client, body=TimerEvery(every="1ms")), 400, "bad_duration")


def test_events_that_end():
    answer = get_events.sync_detailed(client=client, match=["kitchen/**"], take=2, fields="path,value", old_value=False)
    assert answer.status_code == 200 and answer.parsed.count('"type":"didSet"') == 2, answer
    refused(get_events.sync_detailed(client=client, match=["a"], max_rate=-1.0), 400, "bad_delivery")


def test_the_server():
    assert get_ready.sync(client=client).status == "ready"
    assert explain.sync(client=client, body=ExplainBody(where="value > 20.0")).valid is True
    assert explain.sync(client=client, body=ExplainBody(where="valeu")).valid is False
    assert get_open_api.sync_detailed(client=client).content.startswith(b"openapi: 3.1")
    assert get_async_api.sync_detailed(client=client).content.startswith(b"asyncapi: 3.0")
    assert "definitions" in get_message_schema.sync(client=client).additional_properties


tests = [(name, test) for name, test in list(globals().items()) if name.startswith("test_")]
failed = 0
for name, test in tests:
    try:
        test()
    except Exception as error:  # Whatever it is, the others are tried.
        failed += 1
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
print(f"openapi: {len(tests) - failed} of {len(tests)} tests of the generated client passed")
sys.exit(1 if failed else 0)
