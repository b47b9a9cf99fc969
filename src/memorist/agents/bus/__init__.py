"""A message bus between agents and tools: in this process, or over NATS."""

from memorist.agents.bus.base import Bus, Handler, Subscription
from memorist.agents.bus.envelope import Envelope
from memorist.agents.bus.local import LocalBus
from memorist.agents.bus.nats import NatsBus

__all__ = ["Bus", "Envelope", "Handler", "LocalBus", "NatsBus", "Subscription"]
