"""Google ADK's InMemoryMemoryService, which matches words (https://google.github.io/adk-docs/sessions/memory/)."""

import asyncio

from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.genai.types import Content, Part

PACKAGES = ("google-adk==2.13.0",)
EMBEDS = False
KEEPS = False
WHO = {"app_name": "arena", "user_id": "user"}


class Memory:
    def __init__(self, folder, embed=None):
        self.memory = self.open(folder)
        self.loop = asyncio.new_event_loop()

    def open(self, folder):
        return InMemoryMemoryService()

    def add(self, rows):
        for row in rows:
            said = Content(role="user", parts=[Part(text=row["text"])])
            events = [Event(id=row["id"], author=row["speaker"], content=said, custom_metadata={"row": row["id"]})]
            self.loop.run_until_complete(
                self.memory.add_events_to_memory(**WHO, session_id=row["session"], events=events)
            )
            self.rows = {**getattr(self, "rows", {}), row["text"]: row["id"]}

    def search(self, question, k, when):
        found = self.loop.run_until_complete(self.memory.search_memory(**WHO, query=question)).memories
        return [(self.rows["".join(part.text for part in each.content.parts)], 0.0) for each in found][:k]

    def close(self):
        self.loop.close()
