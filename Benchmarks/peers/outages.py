# SPDX-License-Identifier: MIT
"""What clients feel when parts of a cluster end: the words of cluster.py that break something."""

import statistics

from servers import ask_nats

STREAM = "SIGNAL_faults"


def stream(cluster, name=STREAM):
    """What an engine that runs says of a stream."""
    port = next(port for port, engine in zip(cluster.engine_ports, cluster.engines) if engine.is_running)
    return ask_nats(port, f"$JS.API.STREAM.INFO.{name}")


WORDS = {}
