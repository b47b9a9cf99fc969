"""Files in the form of a host program: Chroma collections and lines of JSON. Nothing here touches our engine.

Mango, Promptise, LoCAL2 and "LLM agents from scratch" have such files, and so have their users. The adapters go on with
them as they are: the host's own program wrote them, and can open them again.

The classes on top are with their hosts, from whose base classes they derive: `mango.chroma`, `promptise.chroma`,
`local2.books` and `llm_agents.memory_stores.json`. They have the search of these files, and nothing of ours: no
ranking, time, trust or walls. The other class of the same adapter stores in a memory and has all of it.
"""
