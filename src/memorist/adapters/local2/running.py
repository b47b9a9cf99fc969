"""Starting everything on one shared service."""

import asyncio

from memorist.adapters.local2.agents import FeedbackAgent, MemoryAgent
from memorist.adapters.local2.service import MemoryService
from memorist.adapters.local2.tools import DUAL_MODE_TOOLS, TOOLS
from memorist.bus import Bus

__all__ = ["run_local"]


async def run_local(service: MemoryService, bus: Bus, *, dual_mode: bool = False) -> list[str]:
    """Start the tools and the agents on a bus, and return their names. They stop when the bus closes.

    Close the bus before the service: closing a bus waits for the messages that have arrived.

    Args:
        service: the service that they share.
        bus: an open bus.
        dual_mode: start the two older tools with two modes instead of the four with one purpose each.

    Raises:
        BusError: the bus is closed.
        EmbedderError, MissingExtraError: the service's embedder cannot be used; see `MemoryService.check`.
    """
    await asyncio.to_thread(service.check)
    feedback = FeedbackAgent(service)
    agents: list[MemoryAgent | FeedbackAgent] = [MemoryAgent(service, feedback), feedback]
    tools = [kind(service) for kind in (DUAL_MODE_TOOLS if dual_mode else TOOLS)]
    for agent in agents:  # before the tools, whose schemas may cause answers
        await agent.start(bus)
    for tool in tools:
        await tool.start(bus)
    return [*(tool.name for tool in tools), *(type(agent).__name__ for agent in agents)]
