"""A message bus between agents and tools: in this process, or over NATS."""

from memorist.bus.base import Bus, Handler, Subscription
from memorist.bus.envelope import Envelope
from memorist.bus.local import LocalBus
from memorist.bus.nats import NatsBus

__all__ = ["Bus", "Envelope", "Handler", "LocalBus", "NatsBus", "Subscription"]
