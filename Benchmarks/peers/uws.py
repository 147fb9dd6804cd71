# SPDX-License-Identifier: MIT
"""µWebSockets, through its binding for Python: every WebSocket subscribes to one topic, every PUT is published to it.
Only a WebSocket at /none subscribes to a topic of which nothing is heard.

The fan-out is µWebSockets' own, in C++; the handler of a PUT is Python, called once per update. So this is a fair peer
where one update goes to many subscribers, and none for the rate of requests.

    python3 uws.py PORT [PEM]

A file with a certificate and its key makes it speak TLS.
"""

import sys

from socketify import App, AppOptions, CompressOptions, OpCode

TOPIC = "updates"
app = App(AppOptions(cert_file_name=sys.argv[2], key_file_name=sys.argv[2])) if len(sys.argv) > 2 else App()


def on_put(response, request):
    parts = []

    def on_data(response, chunk, is_last, *_):
        if chunk:
            parts.append(bytes(chunk))
        if is_last:
            app.publish(TOPIC, b"".join(parts), OpCode.TEXT)
            response.write_status(204).end_without_body()

    response.on_data(on_data)


for path, topic in (("/none", "none"), ("/*", TOPIC)):
    app.ws(path, {
        "open": lambda socket, topic=topic: socket.subscribe(topic),
        "message": lambda socket, message, opcode: None,
        "compression": CompressOptions.DISABLED,
        "max_backpressure": 64 << 20,
        "idle_timeout": 120,
    })
app.put("/*", on_put)
app.listen(int(sys.argv[1]), lambda config: print("listening", config.port, flush=True))
app.run()
